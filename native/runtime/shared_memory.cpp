// native/runtime/shared_memory.cpp
#include "runtime/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "runtime/device.h"
#include "runtime/gil.h"
#include "runtime/guard/guard.h"
#include "runtime/memory_space.h"
#include "runtime/settings.h"
#include "runtime/virtual_memory.h"

namespace opwright::memory {
namespace {

constexpr std::chrono::seconds kLongestPause{60};

// Pages of this process that others may map, until the allocation is freed.
struct Export {
  size_t bytes;
  int descriptor;
};

// A range of another process.
struct Import {
  void* base;
  int uses;
};

// Locked after a device's memory.
struct Exports {
  std::mutex mutex;
  std::map<uintptr_t, Export> ranges;  // by the first page's device address
  std::atomic<size_t> count{0};
};

// Locked before a device's memory.
struct Imports {
  std::mutex mutex;
  std::map<std::string, Import> ranges;
};

Exports& exports() {
  static Exports* const instance = new Exports();
  return *instance;
}

Imports& imports() {
  static Imports* const instance = new Imports();
  return *instance;
}

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// While it exists, no stream of the device runs a task.
class Pause {
 public:
  explicit Pause(int device) {
    if (settings().sync) return;  // tasks run in their callers
    require(Stream::current() == nullptr, ACL_ERROR_RT_STREAM_CONTEXT, "memory cannot be exported by a stream's task");
    for (const auto& stream : streams_of(device)) {
      if (stream->sink() != nullptr) continue;  // a capture: it does not run anything
      ++wanted_;
      stream->submit(make_bookkeeping("aclrtIpcMemGetExportKey", [state = state_] {
        std::unique_lock<std::mutex> lock(state->mutex);
        ++state->paused;
        state->changed.notify_all();
        state->changed.wait(lock, [&] { return state->over; });
      }));
    }
    const GilRelease released;
    std::unique_lock<std::mutex> lock(state_->mutex);
    if (!state_->changed.wait_for(lock, kLongestPause, [&] { return state_->paused == wanted_; })) {
      state_->over = true;
      state_->changed.notify_all();
      fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the device's streams did not come to rest within ", kLongestPause.count(),
           " seconds");
    }
  }
  ~Pause() {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->over = true;
    state_->changed.notify_all();
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int paused = 0;
    bool over = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();  // tasks may outlive a pause that was given up
  int wanted_ = 0;
};

int make_file(size_t bytes) {
  const int descriptor = memfd_create("opwright-shared", MFD_CLOEXEC);
  require(descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(bytes)) == 0, ACL_ERROR_RT_MEMORY_ALLOCATION,
          "the host cannot provide ", bytes, " bytes of shared memory: ", std::strerror(errno));
  return descriptor;
}

// Puts the pages into a file, at the same place.
void move_to_file(uintptr_t first, size_t bytes, int descriptor) {
  char* const pages = static_cast<char*>(space().alias(first));
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = pwrite(descriptor, pages + done, bytes - done, static_cast<off_t>(done));
    require(count > 0, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot share ", bytes,
            " bytes: ", std::strerror(errno));
    done += static_cast<size_t>(count);
  }
  void* const mapped = mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
  require(mapped != MAP_FAILED, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot map ", bytes,
          " bytes: ", std::strerror(errno));
}

std::string key_of(int descriptor, size_t offset, size_t bytes) {
  return text("opwright-", getpid(), "-", descriptor, "-", offset, "-", bytes);
}

struct Named {
  int process;
  int descriptor;
  size_t offset;
  size_t bytes;
};

Named parse(const std::string& key) {
  Named named{};
  require(std::sscanf(key.c_str(), "opwright-%d-%d-%zu-%zu", &named.process, &named.descriptor, &named.offset,
                      &named.bytes) == 4,
          ACL_ERROR_RT_PARAM_INVALID, "'", key, "' is not a key that aclrtIpcMemGetExportKey gave");
  return named;
}

// A descriptor of another process, as one of this process.
int open_of(int process, int descriptor) {
  const std::string path = text("/proc/", process, "/fd/", descriptor);
  const int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
  require(opened >= 0, ACL_ERROR_RT_PARAM_INVALID, "the shared memory of process ", process, " is not there (",
          std::strerror(errno), "): a process that shares memory has to live, as the same user, ",
          "until the others have it");
  return opened;
}

size_t file_bytes(int descriptor) {
  struct stat found{};
  fstat(descriptor, &found);
  return static_cast<size_t>(found.st_size);
}

}  // namespace

std::string export_key(void* address, size_t size) {
  require(!guard::enabled(), ACL_ERROR_FEATURE_UNSUPPORTED, "guarded memory is not shared between processes");
  checked_alias(address, size, "parameter 'devPtr'");
  const uintptr_t begin = number(address);
  const uintptr_t first = begin / page_bytes() * page_bytes();
  const size_t pages = round_up(begin + size, page_bytes()) - first;
  DeviceMemory& state = space().owner(begin);
  {
    const std::shared_lock<std::shared_mutex> lock(state.mutex);
    require(state.allocations.count(begin) != 0, ACL_ERROR_RT_PARAM_INVALID, address,
            " is not the start of an allocation (aclrtMalloc): ", describe(address));
  }
  const Pause pause(device_of(address));
  const std::unique_lock<std::shared_mutex> lock(state.mutex);
  const std::lock_guard<std::mutex> exports_lock(exports().mutex);
  const auto before = entry_at(exports().ranges, first + pages - 1);
  if (before != exports().ranges.end() && first < before->first + before->second.bytes) {
    require(before->first == first && before->second.bytes == pages, ACL_ERROR_FEATURE_UNSUPPORTED, "the memory at ",
            address, " shares a page with other memory that is exported already");
    return key_of(before->second.descriptor, begin - first, size);
  }
  const int descriptor = make_file(round_up(pages, kGranularity));  // what an importer can map
  try {
    move_to_file(first, pages, descriptor);
  } catch (...) {
    close(descriptor);
    throw;
  }
  exports().ranges[first] = {pages, descriptor};
  exports().count.fetch_add(1);
  return key_of(descriptor, begin - first, size);
}

void* import_key(const std::string& key, int device) {
  const Named named = parse(key);
  const std::lock_guard<std::mutex> lock(imports().mutex);
  const auto known = imports().ranges.find(key);
  if (known != imports().ranges.end()) {
    ++known->second.uses;
    return static_cast<char*>(known->second.base) + named.offset;
  }
  const int descriptor = open_of(named.process, named.descriptor);
  const size_t bytes = file_bytes(descriptor);
  void* const block = adopt_physical(device, descriptor, bytes);
  void* const base = reserve(device, bytes, 0);
  map(base, bytes, 0, block);
  destroy_physical(block);  // the mapping holds it
  imports().ranges[key] = {base, 1};
  return static_cast<char*>(base) + named.offset;
}

void close_key(const std::string& key) {
  const Named named = parse(key);
  const std::lock_guard<std::mutex> lock(imports().mutex);
  const auto imported = imports().ranges.find(key);
  if (imported == imports().ranges.end()) {
    // The exporter's own: the pages stay where they are until the allocation is freed.
    require(named.process == getpid(), ACL_ERROR_RT_PARAM_INVALID, "'", key,
            "' was neither exported nor imported by this process, or is closed");
    return;
  }
  if (--imported->second.uses > 0) return;
  unmap(imported->second.base);
  unreserve(imported->second.base);
  imports().ranges.erase(imported);
}

uint64_t export_physical(void* handle) {
  return static_cast<uint64_t>(getpid()) << 32 | static_cast<uint64_t>(descriptor_of_physical(handle));
}

void* import_physical(uint64_t shared_handle, int device) {
  const int descriptor = open_of(static_cast<int>(shared_handle >> 32), static_cast<int>(shared_handle & 0xFFFFFFFF));
  return adopt_physical(device, descriptor, file_bytes(descriptor));
}

void end_sharing(uintptr_t begin, size_t bytes) {
  if (exports().count.load() == 0) return;
  const std::lock_guard<std::mutex> lock(exports().mutex);
  const auto it = exports().ranges.find(begin / page_bytes() * page_bytes());
  if (it == exports().ranges.end()) return;
  // Pages that neighbours have a part of stay in the file.
  const uintptr_t first = round_up(begin, page_bytes());
  const uintptr_t last = (begin + bytes) / page_bytes() * page_bytes();
  if (last > first) {
    void* const own = mmap(space().alias(first), last - first, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    require(own != MAP_FAILED, ACL_ERROR_INTERNAL_ERROR, "the host cannot end the sharing of ", bytes,
            " bytes: ", std::strerror(errno));
    madvise(own, last - first, MADV_HUGEPAGE);
  }
  close(it->second.descriptor);
  exports().ranges.erase(it);
  exports().count.fetch_sub(1);
}

}  // namespace opwright::memory

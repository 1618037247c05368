// native/runtime/memory/shared_memory.cpp
#include "runtime/memory/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "runtime/fault.h"
#include "runtime/memory/guard/guard.h"
#include "runtime/memory/memory_space.h"
#include "runtime/memory/shared_file.h"
#include "runtime/memory/virtual_memory.h"

namespace opwright::memory {
namespace {

// An allocation whose pages others may map, until it is freed.
struct Export {
  SharedFile file;
  bool closed = false;
};

// A range of another process.
struct Import {
  void* base;
  int uses;
};

// Locked after a device's memory.
struct Exports {
  std::mutex mutex;
  std::map<uintptr_t, Export> allocations;  // by begin
  std::atomic<size_t> count{0};

  Export* find(const FileName& name) {
    for (auto& entry : allocations) {
      if (entry.second.file.name() == name) return &entry.second;
    }
    return nullptr;
  }
};

// Locked before a device's memory.
struct Imports {
  std::mutex mutex;
  std::map<std::string, Import> ranges;
};

std::atomic<bool> has_moved{false};

Exports& exports() {
  static Exports* const instance = new Exports();
  return *instance;
}

Imports& imports() {
  static Imports* const instance = new Imports();
  return *instance;
}

// While it exists, writes to the pages wait.
class WriteLock {
 public:
  WriteLock(void* pages, size_t bytes) : pages_(pages), bytes_(bytes) {
    install_fault_handler();  // the program may have set another one
    has_moved.store(true);
    require(mprotect(pages_, bytes_, PROT_READ) == 0, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot protect ",
            bytes_, " bytes: ", std::strerror(errno));
  }
  ~WriteLock() { mprotect(pages_, bytes_, PROT_READ | PROT_WRITE); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  void* const pages_;
  const size_t bytes_;
};

struct Key {
  FileName file;
  size_t bytes;
};

std::string shown(const Key& key) { return text(key.file.shown(), "-", key.bytes); }

Key parse(const std::string& text) {
  Key key{};
  const bool read =
      std::sscanf(text.c_str(), "opwright-%d-%u-%zu", &key.file.process, &key.file.number, &key.bytes) == 3;
  require(read && shown(key) == text, ACL_ERROR_RT_PARAM_INVALID, "'", text,
          "' is not a key that aclrtIpcMemGetExportKey gave");
  return key;
}

// A process id has 22 bits.
uint64_t packed(const FileName& file) { return static_cast<uint64_t>(file.process) << 32 | file.number; }
FileName unpacked(uint64_t shared) { return {static_cast<int>(shared >> 32), static_cast<uint32_t>(shared)}; }

// Nothing if no allocation begins there.
std::optional<std::string> export_allocation(uintptr_t begin, size_t size) {
  DeviceMemory& state = space().owner(begin);
  const std::unique_lock<std::shared_mutex> lock(state.mutex);  // nobody frees it meanwhile
  const auto allocation = state.allocations.find(begin);
  if (allocation == state.allocations.end() || size > allocation->second.bytes) return std::nullopt;
  const std::lock_guard<std::mutex> exports_lock(exports().mutex);
  auto known = exports().allocations.find(begin);
  if (known == exports().allocations.end()) {
    SharedFile file(round_up(allocation->second.bytes, kGranularity));  // what an importer can map
    void* const pages = space().alias(begin);
    const WriteLock locked(pages, whole_pages(allocation->second.bytes));
    file.take_place_of(pages, whole_pages(allocation->second.bytes));
    known = exports().allocations.emplace(begin, Export{std::move(file)}).first;
    exports().count.fetch_add(1);
  }
  known->second.closed = false;
  return shown({known->second.file.name(), size});
}

}  // namespace

std::string export_key(void* address, size_t size) {
  require(!guard::enabled(), ACL_ERROR_FEATURE_UNSUPPORTED, "guarded memory is not shared between processes");
  checked_alias(address, size, "parameter 'devPtr'");
  if (const auto key = export_allocation(number(address), size)) return *key;
  fail(ACL_ERROR_RT_PARAM_INVALID, address, " is not the start of an allocation (aclrtMalloc): ", describe(address));
}

void* import_key(const std::string& text, int device) {
  const Key key = parse(text);
  const std::lock_guard<std::mutex> lock(imports().mutex);
  const auto known = imports().ranges.find(text);
  if (known != imports().ranges.end()) {
    ++known->second.uses;
    return known->second.base;
  }
  SharedFile file(key.file);
  const size_t bytes = file.bytes();
  require(key.bytes <= bytes, ACL_ERROR_RT_PARAM_INVALID, "'", text, "' says that it has ", key.bytes,
          " bytes, but there are ", bytes);
  void* const base = map_file(device, std::move(file));
  imports().ranges[text] = {base, 1};
  return base;
}

std::optional<int> device_of_import(const std::string& key) {
  const std::lock_guard<std::mutex> lock(imports().mutex);
  const auto imported = imports().ranges.find(key);
  if (imported == imports().ranges.end()) return std::nullopt;
  return device_of(imported->second.base);
}

void close_key(const std::string& key) {
  const FileName file = parse(key).file;
  const std::lock_guard<std::mutex> lock(imports().mutex);
  const auto imported = imports().ranges.find(key);
  if (imported == imports().ranges.end()) {
    // The exporter's own: the pages stay where they are until the allocation is freed.
    const std::lock_guard<std::mutex> exports_lock(exports().mutex);
    Export* const own = exports().find(file);
    require(own != nullptr && !own->closed, ACL_ERROR_RT_PARAM_INVALID, "'", key,
            "' was neither exported nor imported by this process, or is closed");
    own->closed = true;
    return;
  }
  if (--imported->second.uses > 0) return;
  unmap_file(imported->second.base);
  imports().ranges.erase(imported);
}

void require_exported(const std::string& key) {
  const FileName file = parse(key).file;
  const std::lock_guard<std::mutex> lock(exports().mutex);
  require(exports().find(file) != nullptr, ACL_ERROR_RT_PARAM_INVALID, "'", key,
          "' was not exported by this process (aclrtIpcMemGetExportKey), or its memory is freed");
}

uint64_t export_physical(void* handle) { return packed(file_of_physical(handle)); }

void* import_physical(uint64_t shared) { return adopt_physical(SharedFile(unpacked(shared))); }

void require_exported(uint64_t shared) {
  const FileName file = unpacked(shared);
  require(file.process == getpid() && has_physical(file), ACL_ERROR_RT_PARAM_INVALID, "handle ", shared,
          " was not exported by this process (aclrtMemExportToShareableHandle), or its block is freed");
}

void end_sharing(uintptr_t begin, size_t bytes) {
  if (exports().count.load() == 0) return;
  const std::lock_guard<std::mutex> lock(exports().mutex);
  const auto shared = exports().allocations.find(begin);
  if (shared == exports().allocations.end()) return;
  const size_t pages = whole_pages(bytes);
  void* const own = mmap(space().alias(begin), pages, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  require(own != MAP_FAILED, ACL_ERROR_INTERNAL_ERROR, "the host cannot end the sharing of ", bytes,
          " bytes: ", std::strerror(errno));
  madvise(own, pages, MADV_HUGEPAGE);
  exports().allocations.erase(shared);
  exports().count.fetch_sub(1);
}

bool is_moving(const void* address) noexcept { return has_moved.load() && space().is_heap_alias(number(address)); }

}  // namespace opwright::memory

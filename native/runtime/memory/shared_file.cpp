// native/runtime/memory/shared_file.cpp
#include "runtime/memory/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>

#include "runtime/error.h"

namespace opwright::memory {
namespace {

// Begins anywhere, so that a process which gets the id of one that has ended gives out other names.
FileName next_name() {
  static std::atomic<uint32_t> numbers{std::random_device{}()};
  return {getpid(), numbers.fetch_add(1)};
}

bool leads_to(const std::string& link, const FileName& name) {
  std::error_code error;
  return std::filesystem::read_symlink(link, error) == text("/memfd:", name.shown(), " (deleted)");
}

std::string link_of(const Fd& fd) { return text("/proc/self/fd/", fd.number()); }

// The file behind an entry of /proc/<pid>/fd, if it is the one of that name. Others are not opened, which may have
// effects; and an entry may lead elsewhere from one moment to the next.
Fd open_if_named(const std::string& entry, const FileName& name) {
  if (!leads_to(entry, name)) return Fd();
  const Fd found(open(entry.c_str(), O_PATH | O_CLOEXEC));
  if (!found.open() || !leads_to(link_of(found), name)) return Fd();
  return Fd(open(link_of(found).c_str(), O_RDWR | O_CLOEXEC));
}

Fd open_named(const FileName& name) {
  std::error_code error;
  std::filesystem::directory_iterator entry(text("/proc/", name.process, "/fd"), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (Fd fd = open_if_named(entry->path(), name); fd.open()) return fd;
  }
  fail(ACL_ERROR_RT_PARAM_INVALID, "the shared memory of process ", name.process, " is not there (",
       error ? error.message() : "it has freed or closed it",
       "): a process that shares memory has to live, as the same user, until the others have it");
}

size_t bytes_of(const Fd& fd) {
  struct stat found{};
  require(fstat(fd.number(), &found) == 0, ACL_ERROR_INTERNAL_ERROR,
          "the size of shared memory is not known: ", std::strerror(errno));
  return static_cast<size_t>(found.st_size);
}

}  // namespace

std::string FileName::shown() const { return text("opwright-", process, "-", number); }

SharedFile::SharedFile(size_t bytes)
    : name_(next_name()), fd_(memfd_create(name_.shown().c_str(), MFD_CLOEXEC)), bytes_(bytes) {
  require(fd_.open() && ftruncate(fd_.number(), static_cast<off_t>(bytes)) == 0, ACL_ERROR_RT_MEMORY_ALLOCATION,
          "the host cannot provide ", bytes, " bytes of memory in a file: ", std::strerror(errno));
}

SharedFile::SharedFile(const FileName& name) : name_(name), fd_(open_named(name)), bytes_(bytes_of(fd_)) {}

size_t SharedFile::written_bytes() const {
  constexpr size_t kBlock = 512;  // of st_blocks, whatever the file system has
  struct stat found{};
  return fstat(descriptor(), &found) == 0 ? static_cast<size_t>(found.st_blocks) * kBlock : 0;
}

void* SharedFile::map() const {
  void* const view = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor(), 0);
  require(view != MAP_FAILED, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot map ", bytes_,
          " bytes: ", std::strerror(errno));
  return view;
}

void SharedFile::take_place_of(void* pages, size_t bytes) const {
  for (size_t done = 0; done < bytes;) {
    const char* const from = static_cast<const char*>(pages) + done;
    const ssize_t count = pwrite(descriptor(), from, bytes - done, static_cast<off_t>(done));
    require(count > 0, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot share ", bytes,
            " bytes: ", std::strerror(errno));
    done += static_cast<size_t>(count);
  }
  void* const mapped = mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor(), 0);
  require(mapped != MAP_FAILED, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot map ", bytes,
          " bytes: ", std::strerror(errno));
}

}  // namespace opwright::memory

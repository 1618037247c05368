// native/portable/glibc_stat.cpp
// stat, lstat, fstat and fstatat. Older releases of glibc export only the functions that these call.
// Linked into each library that needs it, hidden (stubs.py).
#include <sys/stat.h>

namespace {

// Of struct stat, where the kernel has one: it had an older one on x86-64.
#if defined(__x86_64__)
constexpr int kVersion = 1;
#else
constexpr int kVersion = 0;
#endif

}  // namespace

extern "C" {

// Every release exports these, and no header declares them.
int __xstat(int version, const char* path, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);
int __fxstat(int version, int file, struct stat* status);
int __fxstatat(int version, int folder, const char* path, struct stat* status, int flags);

int stat(const char* path, struct stat* status) noexcept { return __xstat(kVersion, path, status); }
int lstat(const char* path, struct stat* status) noexcept { return __lxstat(kVersion, path, status); }
int fstat(int file, struct stat* status) noexcept { return __fxstat(kVersion, file, status); }
int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  return __fxstatat(kVersion, folder, path, status, flags);
}

}  // extern "C"

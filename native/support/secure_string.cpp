// native/support/secure_string.cpp
// libc_sec: string functions that know the size of their destination. On an error the destination becomes the empty
// string where it can be written at all, so a caller that ignores the result never reads past it.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "securec/securec.h"

namespace {

// Sizes above are taken for negative numbers that were converted.
constexpr size_t kLargestSize = 0x7FFFFFFF;
// Added to an error number when the destination was emptied.
constexpr errno_t kDestinationEmptied = 128;
constexpr errno_t kOverlap = 54;

bool writable(const char* destination, size_t size) {
  return destination != nullptr && size > 0 && size <= kLargestSize;
}

errno_t empty(char* destination, errno_t error) {
  destination[0] = '\0';
  return error | kDestinationEmptied;
}

bool overlap(const char* a, const char* b, size_t size) {
  const auto first = reinterpret_cast<uintptr_t>(a);
  const auto second = reinterpret_cast<uintptr_t>(b);
  return first < second + size && second < first + size;
}

}  // namespace

errno_t strcpy_s(char* strDest, size_t destMax, const char* strSrc) {
  if (destMax == 0 || destMax > kLargestSize) return ERANGE;
  if (strDest == nullptr) return EINVAL;
  if (strSrc == nullptr) return empty(strDest, EINVAL);
  if (strSrc == strDest) return 0;
  const size_t length = strnlen(strSrc, destMax);
  if (length == destMax) return empty(strDest, ERANGE);
  if (overlap(strDest, strSrc, length + 1)) return empty(strDest, kOverlap);
  std::memcpy(strDest, strSrc, length + 1);
  return 0;
}

// Writes at most `count` characters. A longer text is cut at `count` if that fits the destination, and dropped
// otherwise; both return -1.
int vsnprintf_s(char* strDest, size_t destMax, size_t count, const char* format, va_list args) {
  constexpr size_t kNoLimit = SIZE_MAX;
  if (!writable(strDest, destMax)) return -1;
  if (format == nullptr || (count >= kLargestSize && count != kNoLimit)) {
    strDest[0] = '\0';
    return -1;
  }
  const bool may_cut = count < destMax;
  const size_t room = may_cut ? count + 1 : destMax;
  const int length = std::vsnprintf(strDest, room, format, args);
  if (length >= 0 && static_cast<size_t>(length) < room) return length;
  if (length < 0 || !may_cut) strDest[0] = '\0';
  return -1;
}

int snprintf_s(char* strDest, size_t destMax, size_t count, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const int length = vsnprintf_s(strDest, destMax, count, format, args);
  va_end(args);
  return length;
}

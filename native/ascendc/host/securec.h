// securec.h
// The bounded copies of libc_sec that host code uses, as inline functions.
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

using errno_t = int;
#ifndef EOK
#define EOK 0
#endif

inline errno_t memcpy_s(void* to, size_t room, const void* from, size_t count) {
  if (to == nullptr || from == nullptr) return EINVAL;
  if (count > room) return ERANGE;
  std::memcpy(to, from, count);
  return EOK;
}
inline errno_t memmove_s(void* to, size_t room, const void* from, size_t count) {
  if (to == nullptr || from == nullptr) return EINVAL;
  if (count > room) return ERANGE;
  std::memmove(to, from, count);
  return EOK;
}
inline errno_t memset_s(void* to, size_t room, int value, size_t count) {
  if (to == nullptr) return EINVAL;
  if (count > room) return ERANGE;
  std::memset(to, value, count);
  return EOK;
}
// At most `count` characters of the text, and the 0 behind them.
inline errno_t strncpy_s(char* to, size_t room, const char* from, size_t count) {
  if (to == nullptr || from == nullptr) return EINVAL;
  const size_t length = strnlen(from, count);
  if (length >= room) return ERANGE;
  std::memcpy(to, from, length);
  to[length] = '\0';
  return EOK;
}
inline errno_t strcpy_s(char* to, size_t room, const char* from) {
  return from == nullptr ? EINVAL : memcpy_s(to, room, from, std::strlen(from) + 1);
}
// The length, or -1 if it does not fit.
__attribute__((format(printf, 3, 4))) inline int sprintf_s(char* to, size_t room, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int length = std::vsnprintf(to, room, format, values);
  va_end(values);
  return length >= 0 && static_cast<size_t>(length) < room ? length : -1;
}

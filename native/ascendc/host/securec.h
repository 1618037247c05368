// securec.h
// The bounded copies and prints of libc_sec, as inline functions of C and C++. They need no library.
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int errno_t;

#ifndef EOK
#define EOK 0
#endif
// An error that has emptied the destination.
#ifndef EINVAL_AND_RESET
#define EINVAL_AND_RESET (EINVAL | 128)
#endif
#ifndef ERANGE_AND_RESET
#define ERANGE_AND_RESET (ERANGE | 128)
#endif
#ifndef EOVERLAP_AND_RESET
#define EOVERLAP_AND_RESET (54 | 128)
#endif
// A larger size is taken for a negative number that was converted.
#ifndef SECUREC_MEM_MAX_LEN
#define SECUREC_MEM_MAX_LEN 0x7fffffffUL
#endif
#ifndef SECUREC_STRING_MAX_LEN
#define SECUREC_STRING_MAX_LEN 0x7fffffffUL
#endif

// strnlen, which strict C does not have.
static inline size_t opwright_text_length(const char* text, size_t limit) {
  size_t length = 0;
  while (length < limit && text[length] != '\0') ++length;
  return length;
}

static inline int opwright_ranges_overlap(const void* to, const void* from, size_t count) {
  const uintptr_t first = (uintptr_t)to, second = (uintptr_t)from;
  return first != second && first < second + count && second < first + count;
}

// EOK, or why `count` bytes cannot go from one place to the other; a destination that is too small is filled with 0.
static inline errno_t opwright_check_copy(void* to, size_t room, const void* from, size_t count) {
  if (room == 0 || room > SECUREC_MEM_MAX_LEN) return ERANGE;
  if (to == NULL) return EINVAL;
  if (from == NULL || count > room) {
    memset(to, 0, room);
    return from == NULL ? EINVAL_AND_RESET : ERANGE_AND_RESET;
  }
  return EOK;
}

static inline errno_t opwright_empty_text(char* to, errno_t error) {
  to[0] = '\0';
  return error;
}

static inline errno_t memcpy_s(void* to, size_t room, const void* from, size_t count) {
  const errno_t error = opwright_check_copy(to, room, from, count);
  if (error != EOK) return error;
  if (opwright_ranges_overlap(to, from, count)) {
    memset(to, 0, room);
    return EOVERLAP_AND_RESET;
  }
  memmove(to, from, count);
  return EOK;
}

static inline errno_t memmove_s(void* to, size_t room, const void* from, size_t count) {
  const errno_t error = opwright_check_copy(to, room, from, count);
  if (error == EOK) memmove(to, from, count);
  return error;
}

static inline errno_t memset_s(void* to, size_t room, int value, size_t count) {
  if (room == 0 || room > SECUREC_MEM_MAX_LEN) return ERANGE;
  if (to == NULL) return EINVAL;
  memset(to, value, count > room ? room : count);
  return count > room ? ERANGE_AND_RESET : EOK;
}

// Appends at most `count` characters of a text, and the 0 behind them, at place `end` of the destination.
static inline errno_t opwright_put_text(char* to, size_t end, size_t room, const char* from, size_t count) {
  const size_t length = opwright_text_length(from, count);
  if (length >= room - end) return opwright_empty_text(to, ERANGE_AND_RESET);
  if (opwright_ranges_overlap(to, from, end + length + 1)) return opwright_empty_text(to, EOVERLAP_AND_RESET);
  memmove(to + end, from, length);
  to[end + length] = '\0';
  return EOK;
}

static inline errno_t strncpy_s(char* to, size_t room, const char* from, size_t count) {
  if (room == 0 || room > SECUREC_STRING_MAX_LEN) return ERANGE;
  if (to == NULL) return EINVAL;
  if (from == NULL) return opwright_empty_text(to, EINVAL_AND_RESET);
  if (count > SECUREC_STRING_MAX_LEN) return opwright_empty_text(to, ERANGE_AND_RESET);
  return opwright_put_text(to, 0, room, from, count);
}

static inline errno_t strcpy_s(char* to, size_t room, const char* from) {
  return strncpy_s(to, room, from, room > SECUREC_STRING_MAX_LEN ? 0 : room);
}

static inline errno_t strncat_s(char* to, size_t room, const char* from, size_t count) {
  if (room == 0 || room > SECUREC_STRING_MAX_LEN) return ERANGE;
  if (to == NULL) return EINVAL;
  const size_t end = opwright_text_length(to, room);
  if (from == NULL || end == room) return opwright_empty_text(to, EINVAL_AND_RESET);
  if (count > SECUREC_STRING_MAX_LEN) return opwright_empty_text(to, ERANGE_AND_RESET);
  return opwright_put_text(to, end, room, from, count);
}

static inline errno_t strcat_s(char* to, size_t room, const char* from) {
  return strncat_s(to, room, from, room > SECUREC_STRING_MAX_LEN ? 0 : room);
}

// At most `count` characters; a longer text is cut there if that fits the destination, which is emptied otherwise. Both
// return -1.
__attribute__((format(printf, 4, 0))) static inline int vsnprintf_s(char* to, size_t room, size_t count,
                                                                    const char* format, va_list values) {
  if (to == NULL || room == 0 || room > SECUREC_STRING_MAX_LEN) return -1;
  to[0] = '\0';
  if (format == NULL || (count >= SECUREC_STRING_MAX_LEN && count != SIZE_MAX)) return -1;
  const size_t limit = count < room ? count + 1 : room;
  const int length = vsnprintf(to, limit, format, values);
  if (length >= 0 && (size_t)length < limit) return length;
  if (length < 0 || count >= room) to[0] = '\0';
  return -1;
}

__attribute__((format(printf, 4, 5))) static inline int snprintf_s(char* to, size_t room, size_t count,
                                                                   const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int length = vsnprintf_s(to, room, count, format, values);
  va_end(values);
  return length;
}

__attribute__((format(printf, 3, 0))) static inline int vsprintf_s(char* to, size_t room, const char* format,
                                                                   va_list values) {
  return vsnprintf_s(to, room, room, format, values);
}

// The length, or -1 if it does not fit.
__attribute__((format(printf, 3, 4))) static inline int sprintf_s(char* to, size_t room, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int length = vsnprintf_s(to, room, room, format, values);
  va_end(values);
  return length;
}

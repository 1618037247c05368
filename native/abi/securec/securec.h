// native/abi/securec/securec.h
// The bounded string functions of libc_sec that TorchAir links to.
#pragma once

#include <stdarg.h>
#include <stddef.h>

typedef int errno_t;

#pragma GCC visibility push(default)
extern "C" {

errno_t strcpy_s(char* strDest, size_t destMax, const char* strSrc);
int snprintf_s(char* strDest, size_t destMax, size_t count, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
int vsnprintf_s(char* strDest, size_t destMax, size_t count, const char* format, va_list args)
    __attribute__((format(printf, 4, 0)));

}  // extern "C"
#pragma GCC visibility pop

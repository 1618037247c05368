// native/abi/acl/opwright_language.h
// Differences between C and C++ for headers that programs in both languages include.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
#define OPWRIGHT_BEGIN_C extern "C" {
#define OPWRIGHT_END_C }
// In C++ the underlying type is fixed, because callers may pass any number; C before C23 has no syntax for that.
#define OPWRIGHT_ENUM_INT : int
#define OPWRIGHT_ENUM_UINT32 : uint32_t
#else
#define OPWRIGHT_BEGIN_C
#define OPWRIGHT_END_C
#define OPWRIGHT_ENUM_INT
#define OPWRIGHT_ENUM_UINT32
#endif

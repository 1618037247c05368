// native/abi/acl/language.h
// For headers that programs in C include, too.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
#define OPWRIGHT_BEGIN_C extern "C" {
#define OPWRIGHT_END_C }
// The underlying type of an enumeration is fixed because callers may pass any number. C has int.
#define OPWRIGHT_OF_INT : int
#define OPWRIGHT_OF_UINT32 : uint32_t
#else
#define OPWRIGHT_BEGIN_C
#define OPWRIGHT_END_C
#define OPWRIGHT_OF_INT
#define OPWRIGHT_OF_UINT32
#endif

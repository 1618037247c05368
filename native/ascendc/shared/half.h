// native/ascendc/shared/half.h
// The type that C++ has for 16-bit floating point, whose arithmetic is that of float.
#pragma once

// AArch64's own type, which some of its compilers have and not the other one.
#ifdef __ARM_FP16_FORMAT_IEEE
using half = __fp16;
#else
using half = _Float16;
#endif

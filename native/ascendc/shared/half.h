// native/ascendc/shared/half.h
// The 16-bit floating-point type of the C++ compiler; its arithmetic is that of float.
#pragma once

// GCC before 13 has no _Float16 in C++ for AArch64, but has __fp16.
#ifdef __ARM_FP16_FORMAT_IEEE
using half = __fp16;
#else
using half = _Float16;
#endif

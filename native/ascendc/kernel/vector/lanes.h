// native/ascendc/kernel/vector/lanes.h
// How a vector instruction walks over memory: operands in blocks of 32 bytes, repeats, and the lanes that a mask
// leaves. The walk and the arithmetic are compiled once, in libascendc_runtime; kernels hold only the calls.
#pragma once

#include <cstdint>

#include "core/local_tensor.h"
#include "core/machine.h"
#include "vector/params.h"

namespace AscendC::machine::vector {

inline constexpr uint32_t kBlockBytes = 32;
inline constexpr uint32_t kRepeatBytes = 256;

// One operand. Strides count blocks of 32 bytes, as the parameters of the instructions do.
struct Operand {
  const char* name;
  void* base;
  uint32_t bits;  // of an element
  uint32_t block_stride = DEFAULT_BLK_STRIDE;
  uint32_t repeat_stride = DEFAULT_REPEAT_STRIDE;
  MemorySpan buffer = {};
};

template <class T>
OPWRIGHT_INLINE Operand operand(const char* name, const LocalTensor<T>& tensor, uint32_t block_stride = 1,
                                uint32_t repeat_stride = 8) {
  return {name, tensor.data(), kBitsOf<PrimT<T>>, block_stride, repeat_stride, tensor.buffer()};
}

// Which lanes an instruction computes.
struct Lanes {
  enum class Mask : uint8_t {
    kAll,       // the first `low` elements, contiguous
    kFirst,     // the first `low` lanes of each repeat
    kBits,      // a bit per lane of each repeat
    kRegister,  // as SetVectorMask set them
  };
  Mask mask;
  uint32_t repeats = 1;
  uint64_t low = 0;
  uint64_t high = 0;

  static constexpr Lanes all(uint64_t count) { return {Mask::kAll, 1, count}; }
  static constexpr Lanes given(bool set_mask, uint64_t first, uint32_t repeats) {
    return {set_mask ? Mask::kFirst : Mask::kRegister, repeats, first};
  }
  // `bits` has a second word only for types of at most 16 bits.
  static Lanes given(bool set_mask, const uint64_t* bits, uint32_t repeats, bool two_words) {
    if (!set_mask) return {Mask::kRegister, repeats};
    return {Mask::kBits, repeats, bits[0], two_words ? bits[1] : 0};
  }
};

// Arguments of an operation beside its operands.
struct Arguments {
  uint64_t scalar = 0;     // the bits of the scalar operand
  int32_t mode = 0;        // RoundMode, CMPMODE, whether a shift rounds
  float scale = 1.0f;      // of the DEQSCALE register
  bool saturates = false;  // half: inf becomes the largest number, NaN 0
  bool wraps = false;      // conversion to integers keeps the low bits of what does not fit
};

template <class T>
OPWRIGHT_INLINE Arguments scalar_argument(T value, int32_t mode = 0) {
  Arguments arguments;
  arguments.scalar = bits_of(value);
  arguments.mode = mode;
  return arguments;
}

// Computes `count` lanes that lie one behind the other. Sources may be the destination.
using Compute = void (*)(uint32_t count, void* dst, const void* const* sources, const Arguments& arguments);

// Runs an operation over the lanes. Sources are read, then `dst` is written; where the operation also reads its
// destination, that is the last source.
OPWRIGHT_RUNTIME void run(Instruction& instruction, const char* api, Compute compute, const Operand& dst,
                          const Operand* sources, uint32_t source_count, const Lanes& lanes, Arguments arguments);

// How many lanes a repeat has, by the widest element.
constexpr uint32_t lanes_per_repeat(uint32_t widest_bits) { return kRepeatBytes * 8 / widest_bits; }

}  // namespace AscendC::machine::vector

// native/ascendc/kernel/cube/fill.h
// Fill (InitConstValue): one value all over parts of L1, L0A or L0B.
#pragma once

#include "cube/fractal.h"
#include "cube/params.h"

namespace AscendC {

template <typename T, typename U = PrimT<T>,
          typename std::enable_if<std::is_same<PrimT<T>, U>::value, bool>::type = true>
OPWRIGHT_INLINE void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& initConstValueParams) {
  using namespace machine;
  static_assert(sizeof(U) == 2 || sizeof(U) == 4, "Fill: elements of 16 or 32 bits");
  const Memory memory = memory_of(dst.position());
  const bool l1 = memory == Memory::kL1;
  if (!l1 && memory != Memory::kL0A && memory != Memory::kL0B) {
    refuse("Fill", "dst is at TPosition::", name_of(dst.position()), "; allowed: A1, B1, A2, B2");
  }
  const uint32_t unit = l1 ? 32 : kFractal;
  const uint32_t bytes = initConstValueParams.blockNum * unit;
  const uint32_t stride = bytes + initConstValueParams.dstGap * unit;
  const uint32_t repeats = initConstValueParams.repeatTimes;
  if (repeats == 0 || bytes == 0) return;
  check_local("Fill", "dst", dst.data(), uint64_t{stride} * (repeats - 1) + bytes);
  Instruction instruction(l1 ? Pipe::kMte2 : Pipe::kMte1, "Fill");
  instruction.aligned("dst", dst.data(), unit);
  instruction.writes("dst", {dst.data(), bytes, 1, 0, repeats, stride});
  for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
    U* to = dst.data() + size_t{repeat} * stride / sizeof(U);
    for (uint32_t i = 0; i < bytes / sizeof(U); ++i) to[i] = initConstValueParams.initValue;
  }
}

template <typename T, typename U = PrimT<T>,
          typename std::enable_if<std::is_same<PrimT<T>, U>::value, bool>::type = true>
OPWRIGHT_INLINE void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<U>& initConstValueParams) {
  Fill<T, U>(dst, initConstValueParams);
}

}  // namespace AscendC

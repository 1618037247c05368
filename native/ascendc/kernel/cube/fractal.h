// native/ascendc/kernel/cube/fractal.h
// Fractals: the tiles of 512 bytes (1024 of the results) that the cube unit's memories consist of.
#pragma once

#include <cstring>
#include <vector>

#include "core/local_tensor.h"
#include "core/machine.h"
#include "cube/multiply.h"

namespace AscendC::machine {

inline constexpr uint32_t kFractal = 512;        // bytes
inline constexpr uint32_t kFractalRows = 16;     // of A; columns of B
inline constexpr uint32_t kResultFractal = 256;  // elements of a fractal of L0C

constexpr uint32_t ceil_div(uint32_t number, uint32_t unit) { return (number + unit - 1) / unit; }
constexpr uint32_t round_up(uint32_t number, uint32_t unit) { return ceil_div(number, unit) * unit; }

// Elements of a fractal's row: 32 bytes.
template <class T>
inline constexpr uint32_t kC0 = 32 * 8 / kBitsOf<T>;

// The type in which products of T are summed.
template <class T>
struct AccumulatorOf {
  using Type = float;
};
template <>
struct AccumulatorOf<int8_t> {
  using Type = int32_t;
};
template <>
struct AccumulatorOf<uint8_t> {
  using Type = int32_t;
};
template <>
struct AccumulatorOf<int4b_t> {
  using Type = int32_t;
};
template <>
struct AccumulatorOf<int32_t> {
  using Type = int32_t;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::Type;

template <class T>
OPWRIGHT_INLINE Accumulator<T> widen(T value) {
  return static_cast<Accumulator<T>>(value);
}

// Element `index` of memory that holds T.
template <class T>
OPWRIGHT_INLINE Accumulator<T> widened(const T* data, size_t index) {
  if constexpr (std::is_same_v<T, int4b_t>) {
    return read_nibble(data, index);
  } else {
    return widen(data[index]);
  }
}

// Memory of this thread that a computation may use until the next one asks for the same slot.
template <class T, int Slot>
OPWRIGHT_INLINE T* scratch(size_t count) {
  thread_local std::vector<T> memory;
  if (memory.size() < count) memory.resize(count);
  return memory.data();
}

inline const char* name_of(TPosition position) {
  constexpr const char* kNames[] = {"GM",  "A1",    "A2",     "B1",      "B2",  "C1",   "C2",        "CO1",
                                    "CO2", "VECIN", "VECOUT", "VECCALC", "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL"};
  const auto index = static_cast<size_t>(position);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "MAX";
}

// Refuses a tensor in another memory than the operand's.
template <class T>
OPWRIGHT_INLINE void demand(const char* api, const char* operand, const LocalTensor<T>& tensor, Memory memory,
                            const char* allowed) {
  if (memory_of(tensor.position()) != memory) {
    refuse(api, operand, " is at TPosition::", name_of(tensor.position()), "; allowed: ", allowed);
  }
}

// An operand in a memory of this core: named to the checks, and never beyond the memory's end.
template <class T>
OPWRIGHT_INLINE Region local_region(const char* api, const char* operand, const LocalTensor<T>& tensor,
                                    size_t elements) {
  const auto bytes = static_cast<uint32_t>(bytes_of<PrimT<T>>(elements));
  check_local(api, operand, tensor.data(), bytes);
  return Region{tensor.data(), bytes, 1, 0, 1, 0, tensor.buffer()};
}

}  // namespace AscendC::machine

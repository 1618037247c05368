// native/ascendc/kernel/cube/mmad.h
// Mmad: the product of fractals in L0A and L0B, summed in L0C; and the modes that change it.
#pragma once

#include "cube/fractal.h"
#include "cube/hf32.h"
#include "cube/params.h"
#include "cube/use.h"

namespace AscendC {
namespace machine {

// Bits of CTRL.
inline constexpr uint64_t kHf32 = uint64_t{1} << 46;
inline constexpr uint64_t kHf32TowardsZero = uint64_t{1} << 47;

OPWRIGHT_INLINE void set_control(uint64_t bit, bool on) {
  uint64_t& control = core().registers.control;
  control = on ? control | bit : control & ~bit;
}

template <class T>
struct MmadTypes {
  static constexpr bool kFloating =
      std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> || std::is_same_v<T, float>;
  static constexpr bool kInteger = std::is_same_v<T, int8_t> || std::is_same_v<T, int4b_t>;
  static constexpr bool kKnown = kFloating || kInteger;
};

// A of L0A as rows of k numbers. A single row is not cut into fractals (GEMV).
template <class T>
void unpack_left(const T* data, uint32_t m, uint32_t k, uint32_t k_fractals, Accumulator<T>* rows) {
  constexpr uint32_t c0 = kC0<T>;
  for (uint32_t row = 0; row < m; ++row) {
    for (uint32_t fractal = 0; fractal * c0 < k; ++fractal) {
      const size_t from =
          m == 1 ? size_t{fractal} * c0
                 : (size_t{row / kFractalRows} * k_fractals + fractal) * kFractalRows * c0 + row % kFractalRows * c0;
      const uint32_t count = k - fractal * c0 < c0 ? k - fractal * c0 : c0;
      Accumulator<T>* to = rows + size_t{row} * k + fractal * c0;
      for (uint32_t i = 0; i < count; ++i) to[i] = widened(data, from + i);
    }
  }
}

// B of L0B as panels: the rows of its fractals are columns of B.
template <class T>
void unpack_right(const T* data, uint32_t n, uint32_t k, Accumulator<T>* panels) {
  constexpr uint32_t c0 = kC0<T>;
  const uint32_t n_fractals = ceil_div(n, kFractalRows);
  for (uint32_t fractal = 0; fractal < n_fractals; ++fractal) {
    for (uint32_t step = 0; step < k; ++step) {
      const size_t from = (size_t{step / c0} * n_fractals + fractal) * kFractalRows * c0 + step % c0;
      Accumulator<T>* to = panels + (size_t{fractal} * k + step) * kPanel;
      for (uint32_t column = 0; column < kPanel; ++column) to[column] = widened(data, from + size_t{column} * c0);
    }
  }
}

template <class T>
OPWRIGHT_INLINE void round_operands(T* numbers, size_t count) {
  if constexpr (std::is_same_v<T, float>) {
    const bool ties_to_zero = (core().registers.control & kHf32TowardsZero) != 0;
    for (size_t i = 0; i < count; ++i) numbers[i] = round_to_hf32(numbers[i], ties_to_zero);
  }
}

enum class InitialResult { kZero, kKeep, kBias };

// The matrix that a product without a bias operand is added to.
OPWRIGHT_INLINE InitialResult initial_result(const MmadParams& params) {
  if (params.isBias) return InitialResult::kKeep;
  if (params.cmatrixInitVal) return InitialResult::kZero;
  return params.cmatrixSource ? InitialResult::kBias : InitialResult::kKeep;
}

// L0C: columns of fractals of 16 x 16.
template <class Acc>
OPWRIGHT_INLINE Acc* result_at(Acc* data, uint32_t m_rounded, uint32_t row, uint32_t column) {
  return data + size_t{column / 16} * m_rounded * 16 + size_t{row} * 16 + column % 16;
}

// `unpack_panels(n, k, panels)` writes B as panels.
template <class T, class UnpackPanels>
void multiply_fractals(const T* left, const Accumulator<T>* bias, Accumulator<T>* dst, const MmadParams& params,
                       InitialResult initial, const UnpackPanels& unpack_panels) {
  using Acc = Accumulator<T>;
  const uint32_t m = params.m;
  const uint32_t n = params.n;
  const uint32_t k = params.k;
  const bool whole_sixteens = std::is_same_v<T, float> && params.kDirectionAlign;
  const uint32_t k_fractals = whole_sixteens ? ceil_div(k, 16) * 2 : ceil_div(k, kC0<T>);
  Acc* rows = scratch<Acc, 0>(size_t{m} * k);
  Acc* panels = scratch<Acc, 1>(panels_size(k, n));
  Acc* sums = scratch<Acc, 2>(size_t{m} * n);
  unpack_left(left, m, k, k_fractals, rows);
  unpack_panels(n, k, panels);
  if (std::is_same_v<T, float> && (core().registers.control & kHf32) != 0) {
    round_operands(rows, size_t{m} * k);
    round_operands(panels, panels_size(k, n));
  }
  const uint32_t m_rounded = round_up(m, kFractalRows);
  for (uint32_t row = 0; row < m; ++row) {
    for (uint32_t column = 0; column < n; ++column) {
      sums[size_t{row} * n + column] = initial == InitialResult::kZero   ? Acc{}
                                       : initial == InitialResult::kBias ? bias[column]
                                                                         : *result_at(dst, m_rounded, row, column);
    }
  }
  multiply(rows, k, panels, sums, n, m, n, k);
  for (uint32_t row = 0; row < m; ++row) {
    for (uint32_t column = 0; column < n; ++column) {
      *result_at(dst, m_rounded, row, column) = sums[size_t{row} * n + column];
    }
  }
}

template <class T>
void multiply_fractals(const T* left, const T* right, const Accumulator<T>* bias, Accumulator<T>* dst,
                       const MmadParams& params, InitialResult initial) {
  multiply_fractals(left, bias, dst, params, initial,
                    [right](uint32_t n, uint32_t k, Accumulator<T>* panels) { unpack_right(right, n, k, panels); });
}

// The elements that a matrix of L0A, L0B or L0C covers.
template <class T>
OPWRIGHT_INLINE size_t left_elements(const MmadParams& p) {
  return p.m == 1 ? p.k : size_t{round_up(p.m, 16)} * round_up(p.k, kC0<T>);
}
template <class T>
OPWRIGHT_INLINE size_t right_elements(const MmadParams& p) {
  return size_t{round_up(p.n, 16)} * round_up(p.k, kC0<T>);
}

template <class D, class A, class B>
OPWRIGHT_INLINE void check_mmad(const LocalTensor<D>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter,
                                const MmadParams& params) {
  using T = PrimT<A>;
  static_assert(std::is_same_v<T, PrimT<B>>, "Mmad: the left and the right matrix have one type on Atlas A2");
  static_assert(MmadTypes<T>::kKnown,
                "Mmad: half, bfloat16_t, float, int8_t or int4b_t; see docs/ascend_c_instructions.md");
  static_assert(std::is_same_v<PrimT<D>, Accumulator<T>>,
                "Mmad: the result of half, bfloat16_t and float is float, that of int8_t and int4b_t int32_t");
  demand("Mmad", "dst", dst, Memory::kL0C, "CO1");
  demand("Mmad", "fm", fm, Memory::kL0A, "A2");
  demand("Mmad", "filter", filter, Memory::kL0B, "B2");
  constexpr uint32_t kMost = 4095;
  if (params.m > kMost || params.n > kMost || params.k > kMost) {
    refuse("Mmad", "m, n, k are ", params.m, ", ", params.n, ", ", params.k, "; allowed: 0 to ", kMost);
  }
  if (params.unitFlag != 0 && params.unitFlag != 2 && params.unitFlag != 3) {
    refuse("Mmad", "unitFlag is ", int{params.unitFlag}, "; allowed: 0, 2, 3");
  }
}

// The instruction without a bias operand, checked before. The right matrix has `stored` elements in L0B, and
// `multiply(bias, initial)` computes the product.
template <class D, class A, class B, class Multiply>
OPWRIGHT_INLINE void run_mmad(const char* name, const LocalTensor<D>& dst, const LocalTensor<A>& fm,
                              const LocalTensor<B>& filter, size_t stored, const MmadParams& params,
                              const Multiply& multiply) {
  using E = PrimT<A>;
  if (params.m == 0 || params.n == 0 || params.k == 0) return;
  const InitialResult initial = initial_result(params);
  const auto* bias = reinterpret_cast<const Accumulator<E>*>(local_address(Memory::kBias, 0));
  const size_t results = size_t{round_up(params.m, 16)} * round_up(params.n, 16);
  const Region read_left = local_region(name, "fm", fm, left_elements<E>(params));
  const Region read_right = local_region(name, "filter", filter, stored);
  const Region written = local_region(name, "dst", dst, results);
  Instruction instruction(Pipe::kMatrix, name);
  instruction.aligned("dst", dst.data(), 1024);
  instruction.aligned("fm", fm.data(), kFractal);
  instruction.aligned("filter", filter.data(), kFractal);
  instruction.reads("fm", read_left);
  instruction.reads("filter", read_right);
  if (initial == InitialResult::kBias) {
    instruction.reads("bias", {bias, static_cast<uint32_t>(params.n * sizeof(*bias))});
  }
  if (initial == InitialResult::kKeep) instruction.reads("dst", written);
  instruction.writes("dst", written);
  multiply(bias, initial);
}

}  // namespace machine

template <typename T, typename U, typename S>
OPWRIGHT_INLINE void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter,
                          const MmadParams& mmadParams) {
  using namespace machine;
  check_mmad(dst, fm, filter, mmadParams);
  run_mmad("Mmad", dst, fm, filter, right_elements<PrimT<U>>(mmadParams), mmadParams,
           [&](const auto* bias, InitialResult initial) {
             multiply_fractals(fm.data(), filter.data(), bias, dst.data(), mmadParams, initial);
           });
}

template <typename T, typename U, typename S, typename V>
OPWRIGHT_INLINE void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter,
                          const LocalTensor<V>& bias, const MmadParams& mmadParams) {
  using namespace machine;
  using E = PrimT<U>;
  static_assert(std::is_same_v<PrimT<V>, Accumulator<E>>, "Mmad: the bias has the type of the result");
  check_mmad(dst, fm, filter, mmadParams);
  if (mmadParams.cmatrixInitVal) {
    refuse("Mmad", "a bias with cmatrixInitVal = true, which starts from zero; set cmatrixInitVal = false");
  }
  if (mmadParams.m == 0 || mmadParams.n == 0 || mmadParams.k == 0) return;
  const bool keep = memory_of(bias.position()) == Memory::kL0C;  // the initial matrix lies in L0C, where dst is
  if (!keep) demand("Mmad", "bias", bias, Memory::kBias, "C2, CO1");
  const size_t results = size_t{round_up(mmadParams.m, 16)} * round_up(mmadParams.n, 16);
  const Region read_left = local_region("Mmad", "fm", fm, left_elements<E>(mmadParams));
  const Region read_right = local_region("Mmad", "filter", filter, right_elements<E>(mmadParams));
  const Region read_bias = local_region("Mmad", "bias", bias, keep ? results : mmadParams.n);
  const Region written = local_region("Mmad", "dst", dst, results);
  Instruction instruction(Pipe::kMatrix, "Mmad");
  instruction.aligned("dst", dst.data(), 1024);
  instruction.aligned("fm", fm.data(), kFractal);
  instruction.aligned("filter", filter.data(), kFractal);
  instruction.aligned("bias", bias.data(), 64);
  instruction.reads("fm", read_left);
  instruction.reads("filter", read_right);
  instruction.reads("bias", read_bias);
  instruction.writes("dst", written);
  multiply_fractals(fm.data(), filter.data(), bias.data(), dst.data(), mmadParams,
                    keep ? InitialResult::kKeep : InitialResult::kBias);
}

OPWRIGHT_INLINE void SetHF32Mode(HF32Mode mode) { machine::set_control(machine::kHf32, mode == HF32Mode::ENABLE); }
OPWRIGHT_INLINE void SetHF32Mode(bool on) { machine::set_control(machine::kHf32, on); }
OPWRIGHT_INLINE void SetHF32TransMode(HF32TransMode mode) {
  machine::set_control(machine::kHf32TowardsZero, mode == HF32TransMode::NEAREST_ZERO);
}
OPWRIGHT_INLINE void SetHF32TransMode(bool towards_zero) {
  machine::set_control(machine::kHf32TowardsZero, towards_zero);
}
// Which direction is computed first changes no result.
OPWRIGHT_INLINE void SetMMColumnMajor() {}
OPWRIGHT_INLINE void SetMMRowMajor() {}
OPWRIGHT_INLINE void SetMMLayoutTransform(bool) {}

}  // namespace AscendC

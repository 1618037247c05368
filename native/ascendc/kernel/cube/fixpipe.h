// native/ascendc/kernel/cube/fixpipe.h
// Fixpipe: results from L0C to global memory or L1, on the way turned to rows, quantised, and cut below zero.
#pragma once

#include "core/global_tensor.h"
#include "cube/store.h"

namespace AscendC {
namespace machine {

// One move out of L0C. `words` are one quantisation word, or one for each column.
struct Outward {
  uint32_t n, m;
  uint32_t src_stride;  // elements between columns of fractals
  uint32_t dst_stride;  // ND: elements of a row; NZ: elements between columns of fractals
  uint32_t matrices;
  uint32_t src_matrix_stride, dst_matrix_stride;  // elements
  const uint64_t* words;
  const char* words_name;  // the operand that they are, one for each column; null for one word
  bool relu;
  bool split;  // NZ of float in columns of 8
};

template <class D>
constexpr uint32_t fractal_columns(bool split) {
  return sizeof(D) == 1 ? 32 : split ? 8 : 16;
}

template <class D, class S>
void move_rows(const Outward& move, const S* src, D* dst, Update how) {
  for (uint32_t matrix = 0; matrix < move.matrices; ++matrix) {
    const S* from = src + size_t{matrix} * move.src_matrix_stride;
    D* to = dst + size_t{matrix} * move.dst_matrix_stride;
    for (uint32_t row = 0; row < move.m; ++row) {
      for (uint32_t column = 0; column < move.n; ++column) {
        const S value = from[size_t{column / 16} * move.src_stride + size_t{row} * 16 + column % 16];
        const QuantWord word{move.words[move.words_name != nullptr ? column : 0]};
        update(to + size_t{row} * move.dst_stride + column, converted<D>(value, word, move.relu), how);
      }
    }
  }
}

template <class D, class S>
void move_fractal_columns(const Outward& move, const S* src, D* dst, Update how) {
  const uint32_t width = fractal_columns<D>(move.split);
  for (uint32_t column = 0; column < move.n; ++column) {
    // The last 16 of an odd number of 16 columns of 8-bit results stay 16 wide.
    const uint32_t block = column / width;
    const uint32_t wide = move.n - block * width < width ? round_up(move.n - block * width, 16) : width;
    const uint32_t used = wide < width ? wide : width;
    const QuantWord word{move.words[move.words_name != nullptr ? column : 0]};
    for (uint32_t row = 0; row < move.m; ++row) {
      const S value = src[size_t{column / 16} * move.src_stride + size_t{row} * 16 + column % 16];
      D* to = dst + size_t{block} * move.dst_stride + size_t{row} * used + column % width;
      update(to, converted<D>(value, word, move.relu), how);
    }
  }
}

template <class D, class S>
Outward outward(const char* api, CO2Layout layout, const FixpipeParamsV220& p, const uint64_t* words,
                const char* words_name = "cbufWorkspace") {
  demand_mode<D, S>(api, p.quantPre);
  if (layout == CO2Layout::COLUMN_MAJOR) refuse(api, "CO2Layout::COLUMN_MAJOR; allowed: NZ, ROW_MAJOR");
  if (per_channel(p.quantPre) != (words != nullptr)) {
    refuse(api,
           words == nullptr ? "quantPre takes a word for each channel, and there is no "
                            : "quantPre takes one word, and there is ",
           words_name);
  }
  const bool rows = layout == CO2Layout::ROW_MAJOR;
  if (p.isChannelSplit && (rows || !std::is_same_v<D, float>)) {
    refuse(api, "isChannelSplit; allowed only for float in NZ");
  }
  if (p.dstStride == 0) refuse(api, "dstStride is 0; allowed: 1 and more");
  return {p.nSize,
          p.mSize,
          p.srcStride * 16u,
          rows ? p.dstStride : static_cast<uint32_t>(p.dstStride * 32u / sizeof(D)),
          rows ? p.ndNum : 1u,
          p.srcNdStride * kResultFractal,
          p.dstNdStride,
          words != nullptr ? words : &p.deqScalar,
          words != nullptr ? words_name : nullptr,
          p.reluEn,
          p.isChannelSplit};
}

// The area of the move, as far as it reaches.
template <class D>
Region written_region(const Outward& move, bool rows, const D* dst) {
  if (rows) {
    return {dst,           static_cast<uint32_t>(move.n * sizeof(D)),
            move.m,        int64_t{move.dst_stride} * int64_t{sizeof(D)},
            move.matrices, int64_t{move.dst_matrix_stride} * int64_t{sizeof(D)}};
  }
  const uint32_t width = fractal_columns<D>(move.split);
  return {dst, static_cast<uint32_t>(move.m * width * sizeof(D)), ceil_div(move.n, width),
          int64_t{move.dst_stride} * int64_t{sizeof(D)}};
}
inline uint64_t reach_of(const Region& region) {
  return static_cast<uint64_t>(region.block_stride * (int64_t{region.blocks} - 1) +
                               region.repeat_stride * (int64_t{region.repeats} - 1)) +
         region.bytes;
}

template <class D, class S>
OPWRIGHT_INLINE void move_out(const char* api, const Outward& move, bool rows, D* dst, bool global,
                              const LocalTensor<S>& src) {
  demand(api, "src", src, Memory::kL0C, "CO1");
  if (move.n == 0 || move.m == 0 || move.matrices == 0) return;
  const Region written = written_region(move, rows, dst);
  const Region read{src.data(),           static_cast<uint32_t>(move.m * 16 * sizeof(S)),
                    ceil_div(move.n, 16), int64_t{move.src_stride} * int64_t{sizeof(S)},
                    move.matrices,        int64_t{move.src_matrix_stride} * int64_t{sizeof(S)}};
  check_local(api, "src", src.data(), reach_of(read));
  if (global) {
    check_global(api, "dst", dst, reach_of(written));
  } else {
    check_local(api, "dst", dst, reach_of(written));
  }
  Instruction instruction(Pipe::kFix, api);
  instruction.aligned("src", src.data(), 64);
  if (!rows) instruction.aligned("dst", dst, 32);
  instruction.reads("src", read);
  if (move.words_name != nullptr) {
    instruction.reads(move.words_name, {move.words, static_cast<uint32_t>(move.n * sizeof(uint64_t))});
  }
  instruction.writes("dst", written);
  const Update how = global ? atomic_update() : Update::kSet;
  if (rows) {
    move_rows<D, S>(move, src.data(), dst, how);
  } else {
    move_fractal_columns<D, S>(move, src.data(), dst, how);
  }
}

template <class S>
OPWRIGHT_INLINE const uint64_t* quantisation_words(const char* api, const LocalTensor<S>& workspace, uint32_t n) {
  static_assert(std::is_same_v<PrimT<S>, uint64_t>, "Fixpipe: cbufWorkspace is a tensor of uint64_t");
  demand(api, "cbufWorkspace", workspace, Memory::kL1, "C1, A1, B1");
  check_local(api, "cbufWorkspace", workspace.data(), n * sizeof(uint64_t));
  return workspace.data();
}

}  // namespace machine

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
OPWRIGHT_INLINE void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                             const FixpipeParamsV220& intriParams) {
  const auto move = machine::outward<PrimT<T>, PrimT<U>>("Fixpipe", config.format, intriParams, nullptr);
  machine::move_out("Fixpipe", move, config.format == CO2Layout::ROW_MAJOR, dst.data(), true, src);
}

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR, typename S = uint64_t>
OPWRIGHT_INLINE void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace,
                             const FixpipeParamsV220& intriParams) {
  const uint64_t* words = machine::quantisation_words("Fixpipe", cbufWorkspace, intriParams.nSize);
  const auto move = machine::outward<PrimT<T>, PrimT<U>>("Fixpipe", config.format, intriParams, words);
  machine::move_out("Fixpipe", move, config.format == CO2Layout::ROW_MAJOR, dst.data(), true, src);
}

template <typename T, typename U, const FixpipeConfig& config = CFG_NZ>
OPWRIGHT_INLINE void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                             const FixpipeParamsV220& intriParams) {
  machine::demand("Fixpipe", "dst", dst, machine::Memory::kL1, "A1, B1, C1");
  const auto move = machine::outward<PrimT<T>, PrimT<U>>("Fixpipe", config.format, intriParams, nullptr);
  machine::move_out("Fixpipe", move, config.format == CO2Layout::ROW_MAJOR, dst.data(), false, src);
}

template <typename T, typename U, const FixpipeConfig& config = CFG_NZ, typename S = uint64_t>
OPWRIGHT_INLINE void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace,
                             const FixpipeParamsV220& intriParams) {
  machine::demand("Fixpipe", "dst", dst, machine::Memory::kL1, "A1, B1, C1");
  const uint64_t* words = machine::quantisation_words("Fixpipe", cbufWorkspace, intriParams.nSize);
  const auto move = machine::outward<PrimT<T>, PrimT<U>>("Fixpipe", config.format, intriParams, words);
  machine::move_out("Fixpipe", move, config.format == CO2Layout::ROW_MAJOR, dst.data(), false, src);
}

}  // namespace AscendC

// native/ascendc/kernel/copy/move.h
// The core of all copies: runs of bytes that are moved from one place to another. In libascendc_runtime.
#pragma once

#include <type_traits>

#include "copy/params.h"
#include "core/global_tensor.h"
#include "core/local_tensor.h"

namespace AscendC::machine::copy {

// One side of a copy: where its first run starts, and how far the next one is.
struct Side {
  const char* name;
  void* base;
  int64_t stride;  // bytes, from start to start
  bool global;
  MemorySpan buffer = {};  // that a local tensor was got from
};

template <class T>
OPWRIGHT_INLINE Side side(const char* name, const LocalTensor<T>& tensor, int64_t stride = 0) {
  return {name, tensor.data(), stride, false, tensor.buffer()};
}
template <class T>
OPWRIGHT_INLINE Side side(const char* name, const GlobalTensor<T>& tensor, int64_t stride = 0) {
  return {name, tensor.data(), stride, true, {}};
}

// Moves `runs` times `bytes` bytes. Into global memory the atomic operation that is set applies.
OPWRIGHT_RUNTIME void move(Pipe pipe, const char* api, const Side& dst, const Side& src, uint32_t runs, uint32_t bytes);

// The first count * sizeof(T) bytes, of which whole blocks of 32 bytes are moved.
OPWRIGHT_RUNTIME void move_blocks(Pipe pipe, const char* api, const Side& dst, const Side& src, uint64_t bytes);

// How DataCopyPad makes each run a whole number of blocks.
struct Padding {
  uint32_t element_bytes;
  uint32_t left = 0;  // elements
  uint32_t right = 0;
  bool given = false;  // `value` is to be filled in
  uint64_t value = 0;
};
OPWRIGHT_RUNTIME void move_padded(Pipe pipe, const char* api, const Side& dst, const Side& src, uint32_t runs,
                                  uint32_t bytes, Padding padding);

// Rows of matrices become parts of 32 bytes, and back.
OPWRIGHT_RUNTIME void rows_to_parts(Pipe pipe, const Side& dst, const Side& src, uint32_t element_bytes,
                                    const Nd2NzParams& shape);
OPWRIGHT_RUNTIME void parts_to_rows(Pipe pipe, const Side& dst, const Side& src, uint32_t element_bytes,
                                    const Nz2NdParamsFull& shape);

OPWRIGHT_RUNTIME void move_slices(Pipe pipe, const Side& dst, const Side& src, uint32_t element_bytes,
                                  const SliceInfo* dst_slices, const SliceInfo* src_slices, uint32_t dims);

// L1 to the bias table, half to float on the way.
OPWRIGHT_RUNTIME void widen_bias(const Side& dst, const Side& src, uint32_t runs, uint32_t count);

// The pipe of a copy between memories of the core.
constexpr Pipe pipe_between(TPosition dst, TPosition src) {
  const Memory from = memory_of(src);
  const Memory to = memory_of(dst);
  if (from == Memory::kUnified) return to == Memory::kUnified ? Pipe::kVector : Pipe::kMte3;
  if (to == Memory::kFixpipe) return Pipe::kFix;
  return Pipe::kMte1;
}

}  // namespace AscendC::machine::copy

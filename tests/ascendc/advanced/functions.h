// Moves tensors between global memory and the unified buffer, for kernels of these tests.
#pragma once

#include "kernel_operator.h"

// The tensors of a test's kernel: one behind the other in the unified buffer.
class Bench {
 public:
  __aicore__ inline Bench() { pipe_.InitBuffer(buffer_, kBytes); }

  template <class T>
  __aicore__ inline AscendC::LocalTensor<T> space(uint32_t count) {
    AscendC::LocalTensor<T> result = buffer_.Get<uint8_t>()[used_].template ReinterpretCast<T>();
    result.SetSize(count);
    used_ += (count * sizeof(T) + 31) / 32 * 32;
    return result;
  }
  template <class T>
  __aicore__ inline AscendC::LocalTensor<T> load(GM_ADDR from, uint32_t count) {
    const AscendC::LocalTensor<T> result = space<T>(count);
    AscendC::GlobalTensor<T> global;
    global.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(from));
    for (uint32_t i = 0; i < count; ++i) result.SetValue(i, global.GetValue(i));
    AscendC::PipeBarrier<PIPE_ALL>();
    return result;
  }
  template <class T>
  __aicore__ inline void store(GM_ADDR to, const AscendC::LocalTensor<T>& from, uint32_t count) {
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::GlobalTensor<T> global;
    global.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(to));
    for (uint32_t i = 0; i < count; ++i) global.SetValue(i, from.GetValue(i));
  }

 private:
  static constexpr uint32_t kBytes = 180 * 1024;
  AscendC::TPipe pipe_;
  AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
  uint32_t used_ = 0;
};

// Tiling structures come as words.
template <class Tiling>
__aicore__ inline Tiling tiling_at(GM_ADDR address) {
  Tiling tiling;
  const __gm__ uint32_t* words = reinterpret_cast<__gm__ uint32_t*>(address);
  for (size_t i = 0; i < sizeof(tiling) / sizeof(uint32_t); ++i) reinterpret_cast<uint32_t*>(&tiling)[i] = words[i];
  return tiling;
}

// tests/ascendc/corpus/corpus.h
// Shared by the kernels of the corpus.
#pragma once

#include "kernel_operator.h"

namespace corpus {

using namespace AscendC;

// Queues before and behind the vector unit, for tiles of `count` floats.
struct Tile {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  GlobalTensor<float> source;
  GlobalTensor<float> target;
  uint32_t count;

  __aicore__ inline Tile(GM_ADDR x, GM_ADDR y, uint32_t n) : Tile(x, y, n, n) {}
  __aicore__ inline Tile(GM_ADDR x, GM_ADDR y, uint32_t n, uint32_t tile) : count(tile) {
    source.SetGlobalBuffer((__gm__ float*)x, n);
    target.SetGlobalBuffer((__gm__ float*)y, n);
    pipe.InitBuffer(in, 2, count * sizeof(float));
    pipe.InitBuffer(out, 2, count * sizeof(float));
  }
  __aicore__ inline LocalTensor<float> load(uint32_t from = 0) {
    LocalTensor<float> a = in.AllocTensor<float>();
    DataCopy(a, source[from], count);
    in.EnQue(a);
    return a;
  }
  __aicore__ inline void compute(uint32_t to = 0) {
    LocalTensor<float> a = in.DeQue<float>();
    LocalTensor<float> b = out.AllocTensor<float>();
    Adds(b, a, 1.0f, count);
    in.FreeTensor(a);
    store(b, to);
  }
  __aicore__ inline void store(LocalTensor<float> b, uint32_t to = 0) {
    out.EnQue(b);
    b = out.DeQue<float>();
    DataCopy(target[to], b, count);
    out.FreeTensor(b);
  }
};

// Two tensors at fixed addresses, for kernels that set their flags themselves.
struct Raw {
  LocalMemAllocator<Hardware::UB> allocator;
  LocalTensor<float> a;
  LocalTensor<float> b;
  GlobalTensor<float> source;
  GlobalTensor<float> target;
  uint32_t count;

  __aicore__ inline Raw(GM_ADDR x, GM_ADDR y, uint32_t n) : count(n) {
    a = allocator.Alloc<float>(n);
    b = allocator.Alloc<float>(n);
    source.SetGlobalBuffer((__gm__ float*)x, n);
    target.SetGlobalBuffer((__gm__ float*)y, n);
  }
  __aicore__ inline void fill_and_store() {
    Duplicate(b, 3.0f, count);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(target, b, count);
  }
};

// Each block has a part of `each` floats in y.
struct Share {
  Raw raw;
  uint32_t each;

  __aicore__ inline Share(GM_ADDR x, GM_ADDR y, uint32_t n)
      : raw(x, y, n), each(n / static_cast<uint32_t>(GetBlockNum())) {}
  __aicore__ inline void store(uint32_t from, uint32_t count, float value) {
    Duplicate(raw.b, value, count);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(raw.target[from], raw.b, count);
    PipeBarrier<PIPE_ALL>();
  }
  __aicore__ inline void store_own() { store(GetBlockIdx() * each, each, static_cast<float>(GetBlockIdx() + 1)); }
  __aicore__ inline void store_zeros() { store(0, each * GetBlockNum(), 0.0f); }
  __aicore__ inline void load_neighbours() { DataCopy(raw.a, raw.target, each * GetBlockNum()); }
  __aicore__ inline void add_everywhere() {
    SetAtomicAdd<float>();
    store(0, each * GetBlockNum(), 1.0f);
    SetAtomicNone();
  }
};

}  // namespace corpus

// tests/ascendc/copy/copies.cpp
// Copies between global memory and the unified buffer in each form, and atomic updates.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kBytes = 16384;

// Brings something into local memory by `in`, and takes all of it out to `result`.
template <class T, class In>
__aicore__ inline void bring_in(GM_ADDR source, GM_ADDR result, In in) {
  TPipe pipe;
  TBuf<TPosition::VECIN> buffer;
  pipe.InitBuffer(buffer, kBytes);
  GlobalTensor<T> from;
  GlobalTensor<T> to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(source));
  to.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(result));
  const LocalTensor<T> local = buffer.Get<T>();
  DataCopy(local, to, kBytes / sizeof(T));  // what lay there before
  PipeBarrier<PIPE_MTE2>();
  in(local, from);
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  DataCopy(to, local, kBytes / sizeof(T));
}

// Brings all of `source` in, and takes it out by `out`.
template <class T, class Out>
__aicore__ inline void take_out(GM_ADDR source, GM_ADDR result, Out out) {
  TPipe pipe;
  TBuf<TPosition::VECOUT> buffer;
  pipe.InitBuffer(buffer, kBytes);
  GlobalTensor<T> from;
  GlobalTensor<T> to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(source));
  to.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(result));
  const LocalTensor<T> local = buffer.Get<T>();
  DataCopy(local, from, kBytes / sizeof(T));
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  out(to, local);
}

extern "C" __global__ __aicore__ void strided_in(GM_ADDR source, GM_ADDR result, int32_t count, int32_t length,
                                                 int32_t src_gap, int32_t dst_gap) {
  bring_in<half>(source, result, [&](auto& local, auto& global) {
    DataCopy(local, global, DataCopyParams(count, length, src_gap, dst_gap));
  });
}
extern "C" __global__ __aicore__ void strided_out(GM_ADDR source, GM_ADDR result, int32_t count, int32_t length,
                                                  int32_t src_gap, int32_t dst_gap) {
  take_out<half>(source, result, [&](auto& global, auto& local) {
    DataCopy(global, local, DataCopyParams(count, length, src_gap, dst_gap));
  });
}
extern "C" __global__ __aicore__ void contiguous_in(GM_ADDR source, GM_ADDR result, int32_t count) {
  bring_in<half>(source, result,
                 [&](auto& local, auto& global) { DataCopy(local, global, static_cast<uint32_t>(count)); });
}

struct Padded {
  int32_t count;
  int32_t bytes;
  int32_t src_gap;
  int32_t dst_gap;
  int32_t pads;
  int32_t left;
  int32_t right;
  int32_t value;
  int32_t in_register;
};
extern "C" __global__ __aicore__ void padded_in(GM_ADDR source, GM_ADDR result, Padded c) {
  bring_in<int16_t>(source, result, [&](auto& local, auto& global) {
    if (c.in_register != 0) SetPadValue(static_cast<int16_t>(c.value));
    const DataCopyExtParams copy(c.count, c.bytes, c.src_gap, c.dst_gap, 0);
    const DataCopyPadExtParams<int16_t> pad(c.pads != 0, c.left, c.right, static_cast<int16_t>(c.value));
    DataCopyPad(local, global, copy, pad);
  });
}
extern "C" __global__ __aicore__ void padded_out(GM_ADDR source, GM_ADDR result, Padded c) {
  take_out<int16_t>(source, result, [&](auto& global, auto& local) {
    DataCopyPad(global, local, DataCopyExtParams(c.count, c.bytes, c.src_gap, c.dst_gap, 0));
  });
}

extern "C" __global__ __aicore__ void rows_to_parts(GM_ADDR source, GM_ADDR result, Nd2NzParams params) {
  bring_in<half>(source, result, [&](auto& local, auto& global) { DataCopy(local, global, params); });
}
extern "C" __global__ __aicore__ void parts_to_rows(GM_ADDR source, GM_ADDR result, Nz2NdParamsFull params) {
  take_out<float>(source, result, [&](auto& global, auto& local) { DataCopy(global, local, params); });
}

extern "C" __global__ __aicore__ void slices(GM_ADDR source, GM_ADDR result) {
  bring_in<float>(source, result, [&](auto& local, auto& global) {
    const SliceInfo from[] = {{16, 70, 7, 3, 87}, {0, 2, 1, 1, 3}};
    const SliceInfo to[] = {{0, 47, 0, 3, 48}, {0, 1, 0, 1, 2}};
    DataCopy(local, global, to, from, 2);
  });
}

template <class T>
__aicore__ inline void update(GM_ADDR source, GM_ADDR result, int32_t operation, int32_t count) {
  take_out<T>(source, result, [&](auto& global, auto& local) {
    if (operation == 0) SetAtomicAdd<T>();
    if (operation == 1) SetAtomicMax<T>();
    if (operation == 2) SetAtomicMin<T>();
    DataCopyPad(global, local, DataCopyExtParams(1, count * sizeof(T), 0, 0, 0));
    DisableDmaAtomic();
  });
}
// All blocks update the same `count` elements.
extern "C" __global__ __aicore__ void atomic(GM_ADDR source, GM_ADDR result, int32_t type, int32_t operation,
                                             int32_t count) {
  switch (type) {
    case 0:
      return update<half>(source, result, operation, count);
    case 1:
      return update<float>(source, result, operation, count);
    case 2:
      return update<int8_t>(source, result, operation, count);
    case 3:
      return update<int16_t>(source, result, operation, count);
    case 4:
      return update<int32_t>(source, result, operation, count);
    default:
      return update<bfloat16_t>(source, result, operation, count);
  }
}

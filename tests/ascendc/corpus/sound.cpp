// tests/ascendc/corpus/sound.cpp
// Corrected kernels of faulty.cpp: the checks must not blame them. Some more do what looks suspicious
// and is right.
#include "corpus.h"

using namespace corpus;

// ---- queues

extern "C" __global__ __aicore__ void no_dequeue(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  tile.compute();
}

// The handle is freed and then taken for the next tensor.
extern "C" __global__ __aicore__ void use_after_free(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  LocalTensor<float> a = tile.in.DeQue<float>();
  tile.in.FreeTensor(a);
  a = tile.in.AllocTensor<float>();
  DataCopy(a, tile.source, tile.count);
  tile.in.EnQue(a);
  tile.compute();
}

// Both buffers are freed, in the other order.
extern "C" __global__ __aicore__ void freed_twice(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n, n / 2);
  tile.load(0);
  LocalTensor<float> a = tile.in.DeQue<float>();
  tile.load(n / 2);
  LocalTensor<float> c = tile.in.DeQue<float>();
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Add(b, a, c, tile.count);
  tile.in.FreeTensor(c);
  tile.in.FreeTensor(a);
  tile.store(b);
}

extern "C" __global__ __aicore__ void enqueue_foreign(GM_ADDR x, GM_ADDR y, uint32_t n) {
  // A bound queue takes a tensor from the copy in to the copy out.
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> through;
  pipe.InitBuffer(through, 1, n * sizeof(float));
  GlobalTensor<float> source, target;
  source.SetGlobalBuffer((__gm__ float*)x, n);
  target.SetGlobalBuffer((__gm__ float*)y, n);
  LocalTensor<float> a = through.AllocTensor<float>();
  DataCopy(a, source, n);
  through.EnQue(a);
  a = through.DeQue<float>();
  DataCopy(target, a, n);
  through.FreeTensor(a);
}

// A queue of depth 0 works in place.
extern "C" __global__ __aicore__ void enqueue_without_alloc(GM_ADDR x, GM_ADDR y, uint32_t n) {
  TPipe pipe;
  TQue<TPosition::VECIN, 0> in;
  pipe.InitBuffer(in, 1, n * sizeof(float));
  GlobalTensor<float> source, target;
  source.SetGlobalBuffer((__gm__ float*)x, n);
  target.SetGlobalBuffer((__gm__ float*)y, n);
  LocalTensor<float> a;
  in.AllocTensor(a);
  DataCopy(a, source, n);
  in.EnQue(a);
  in.DeQue(a);
  Adds(a, a, 1.0f, n);
  const auto event = static_cast<event_t>(pipe.FetchEventID(HardEvent::V_MTE3));
  SetFlag<HardEvent::V_MTE3>(event);
  WaitFlag<HardEvent::V_MTE3>(event);
  DataCopy(target, a, n);
  in.FreeTensor(a);
}

extern "C" __global__ __aicore__ void dequeue_empty(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  if (tile.in.HasTensorInQue()) tile.compute();
  tile.load();
  if (tile.in.HasTensorInQue()) tile.compute();
}

extern "C" __global__ __aicore__ void more_tensors_than_buffers(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n, n / 4);
  for (uint32_t i = 0; i < 4; ++i) {
    tile.load(i * tile.count);
    tile.compute(i * tile.count);
  }
}

// Double buffering: the next tile is loaded before this one is computed.
extern "C" __global__ __aicore__ void never_freed(GM_ADDR x, GM_ADDR y, uint32_t n) {
  TPipe pipe;
  TQue<TPosition::VECIN, 2> in;
  TQue<TPosition::VECOUT, 2> out;
  const uint32_t count = n / 4;
  pipe.InitBuffer(in, 2, count * sizeof(float));
  pipe.InitBuffer(out, 2, count * sizeof(float));
  GlobalTensor<float> source, target;
  source.SetGlobalBuffer((__gm__ float*)x, n);
  target.SetGlobalBuffer((__gm__ float*)y, n);
  const auto load = [&](uint32_t tile) {
    LocalTensor<float> a = in.AllocTensor<float>();
    DataCopy(a, source[tile * count], count);
    in.EnQue(a);
  };
  load(0);
  for (uint32_t tile = 0; tile < 4; ++tile) {
    if (tile + 1 < 4) load(tile + 1);
    LocalTensor<float> a = in.DeQue<float>();
    LocalTensor<float> b = out.AllocTensor<float>();
    Adds(b, a, 1.0f, count);
    out.EnQue(b);
    in.FreeTensor(a);
    b = out.DeQue<float>();
    DataCopy(target[tile * count], b, count);
    out.FreeTensor(b);
  }
}

extern "C" __global__ __aicore__ void queue_too_deep(GM_ADDR x, GM_ADDR y, uint32_t n) {
  TPipe pipe;
  TQue<TPosition::VECIN, 2> in;
  pipe.InitBuffer(in, 2, n * sizeof(float));
  GlobalTensor<float> source;
  source.SetGlobalBuffer((__gm__ float*)x, n);
  LocalTensor<float> a = in.AllocTensor<float>();
  LocalTensor<float> b = in.AllocTensor<float>();
  DataCopy(a, source, n);
  DataCopy(b, source, n);
  in.EnQue(a);
  in.EnQue(b);
  a = in.DeQue<float>();
  b = in.DeQue<float>();
  Add(a, a, b, n);
  in.FreeTensor(a);
  in.FreeTensor(b);
  (void)y;
}

// ---- order of pipes

extern "C" __global__ __aicore__ void no_flag_before_compute(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  DataCopy(raw.a, raw.source, n);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Adds(raw.b, raw.a, 1.0f, n);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(raw.target, raw.b, n);
}

extern "C" __global__ __aicore__ void no_flag_before_store(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  DataCopy(raw.a, raw.source, n);
  PipeBarrier<PIPE_ALL>();
  Adds(raw.b, raw.a, 1.0f, n);
  PipeBarrier<PIPE_ALL>();
  DataCopy(raw.target, raw.b, n);
}

// The flag of the first round is set before the loop, and the last one is waited for behind it.
extern "C" __global__ __aicore__ void no_flag_before_reload(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
  for (int i = 0; i < 2; ++i) {
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
    DataCopy(raw.a, raw.source, n);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Adds(raw.b, raw.a, 1.0f, n);
    PipeBarrier<PIPE_V>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
  }
  WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(raw.target, raw.b, n);
}

extern "C" __global__ __aicore__ void load_into_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  TBuf<TPosition::VECCALC> buffer;
  tile.pipe.InitBuffer(buffer, tile.count * sizeof(float));
  LocalTensor<float> a = buffer.Get<float>();
  DataCopy(a, tile.source, tile.count);
  const TEventID event = tile.pipe.AllocEventID<HardEvent::MTE2_V>();
  SetFlag<HardEvent::MTE2_V>(event);
  WaitFlag<HardEvent::MTE2_V>(event);
  tile.pipe.ReleaseEventID<HardEvent::MTE2_V>(event);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Adds(b, a, 1.0f, tile.count);
  tile.store(b);
}

// Order goes on over a third pipe.
extern "C" __global__ __aicore__ void wrong_event(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  DataCopy(raw.a, raw.source, n);
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  SetFlag<HardEvent::MTE3_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE3_V>(EVENT_ID0);
  Adds(raw.b, raw.a, 1.0f, n);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(raw.target, raw.b, n);
}

extern "C" __global__ __aicore__ void reload_own_result(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.fill_and_store();
  SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
  WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
  DataCopy(raw.a, raw.target, n);
}

// ---- events

extern "C" __global__ __aicore__ void wait_without_set(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.fill_and_store();
  SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
  WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

// The same id between other pipes is another event.
extern "C" __global__ __aicore__ void set_twice(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.fill_and_store();
  SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
  SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID1);
  WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
  WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID1);
}

extern "C" __global__ __aicore__ void left_over(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.fill_and_store();
  TQueSync<PIPE_MTE3, PIPE_V> sync;
  sync.SetFlag(EVENT_ID1);
  sync.WaitFlag(EVENT_ID1);
}

extern "C" __global__ __aicore__ void id_of_a_queue(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  const auto event = static_cast<event_t>(tile.pipe.FetchEventID(HardEvent::MTE2_V));
  SetFlag<HardEvent::MTE2_V>(event);
  WaitFlag<HardEvent::MTE2_V>(event);
  tile.compute();
}

extern "C" __global__ __aicore__ void queue_gets_set_id(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  const TEventID id = tile.pipe.AllocEventID<HardEvent::MTE2_V>();
  SetFlag<HardEvent::MTE2_V>(id);
  tile.load();
  WaitFlag<HardEvent::MTE2_V>(id);
  tile.pipe.ReleaseEventID<HardEvent::MTE2_V>(id);
  tile.compute();
}

extern "C" __global__ __aicore__ void id_out_of_range(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.fill_and_store();
  SetFlag<HardEvent::MTE3_V>(EVENT_ID7);
  WaitFlag<HardEvent::MTE3_V>(EVENT_ID7);
}

extern "C" __global__ __aicore__ void ids_run_out(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  for (int i = 0; i < 20; ++i) {
    const TEventID event = tile.pipe.AllocEventID<HardEvent::MTE3_V>();
    tile.pipe.ReleaseEventID<HardEvent::MTE3_V>(event);
  }
}

// ---- memory

extern "C" __global__ __aicore__ void too_much_memory(GM_ADDR x, GM_ADDR y, uint32_t n) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 192 * 1024);
  pipe.Reset();
  TBuf<TPosition::VECCALC> again;
  pipe.InitBuffer(again, 192 * 1024);
  (void)x, (void)y, (void)n;
}

extern "C" __global__ __aicore__ void load_behind_tensor(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n, 8);
  tile.load(n - 8);
  tile.compute(n - 8);
}

extern "C" __global__ __aicore__ void store_behind_tensor(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n, 8);
  for (uint32_t i = 0; i < n; i += 8) {
    tile.load(i);
    tile.compute(i);
  }
}

extern "C" __global__ __aicore__ void compute_behind_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, tile.count - 8);
  Duplicate(b[tile.count - 8], 2.0f, 8);
  tile.store(b);
}

// Repeats that leave the second half of each block, and the buffer is full.
extern "C" __global__ __aicore__ void repeats_behind_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, 64, static_cast<uint8_t>(n / 64), 1, 8);
  tile.store(b);
}

extern "C" __global__ __aicore__ void element_behind_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, n);
  b.SetValue(n - 1, 2.0f);
  tile.store(b);
}

// Tensors that are cut out of one buffer, and seen as other types.
extern "C" __global__ __aicore__ void part_behind_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, n);
  Duplicate(b[n / 2].ReinterpretCast<int32_t>()[n / 2 - 8], 2, 8);
  Duplicate(b[n], 2.0f, 0);
  tile.store(b);
}

// A tiling may leave a buffer out.
extern "C" __global__ __aicore__ void buffer_of_nothing(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  TBuf<TPosition::VECCALC> buffer;
  tile.pipe.InitBuffer(buffer, 0);
  const LocalTensor<float> nothing = buffer.Get<float>();
  if (nothing.GetSize() != 0) Duplicate(nothing, 0.0f, 8);
  tile.load();
  tile.compute();
}

// A pool is given to other queues after Reset, in other pieces.
extern "C" __global__ __aicore__ void load_behind_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  TPipe pipe;
  TBufPool<TPosition::VECCALC> pool;
  pipe.InitBufPool(pool, 4 * n * sizeof(float));
  GlobalTensor<float> source;
  source.SetGlobalBuffer((__gm__ float*)x, n);
  for (const uint32_t count : {n / 2, n}) {
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pool.InitBuffer(in, 2, count * sizeof(float));
    pool.InitBuffer(out, 1, count * sizeof(float));
    LocalTensor<float> a = in.AllocTensor<float>();
    DataCopy(a, source, count);
    in.EnQue(a);
    a = in.DeQue<float>();
    LocalTensor<float> b = out.AllocTensor<float>();
    Adds(b, a, 1.0f, count);
    in.FreeTensor(a);
    out.FreeTensor(b);
    pool.Reset();
  }
  (void)y;
}

extern "C" __global__ __aicore__ void buffer_part_too_large(GM_ADDR x, GM_ADDR y, uint32_t n) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  Duplicate(buffer.GetWithOffset<float>(8, 32), 1.0f, 8);
  (void)x, (void)y, (void)n;
}

extern "C" __global__ __aicore__ void unaligned_operand(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  LocalTensor<float> a = tile.in.DeQue<float>();
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 0.0f, tile.count);
  Adds(b, a[8], 1.0f, tile.count - 8);
  tile.in.FreeTensor(a);
  tile.store(b);
}

extern "C" __global__ __aicore__ void element_out_of_range(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  for (uint32_t i = 0; i < n; ++i) tile.target.SetValue(i, tile.source.GetValue(n - 1 - i));
}

extern "C" __global__ __aicore__ void unwritten_operand(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  TBuf<TPosition::VECCALC> buffer;
  tile.pipe.InitBuffer(buffer, tile.count * sizeof(float));
  Duplicate(buffer.Get<float>(), 2.0f, tile.count);
  tile.load();
  LocalTensor<float> a = tile.in.DeQue<float>();
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Add(b, a, buffer.Get<float>(), tile.count);
  tile.in.FreeTensor(a);
  tile.store(b);
}

// The values computed behind the end of the data are never stored.
extern "C" __global__ __aicore__ void unwritten_tail(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> a = tile.in.AllocTensor<float>();
  DataCopy(a, tile.source, n - 8);
  tile.in.EnQue(a);
  a = tile.in.DeQue<float>();
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Adds(b, a, 1.0f, n);
  tile.in.FreeTensor(a);
  tile.out.EnQue(b);
  b = tile.out.DeQue<float>();
  DataCopy(tile.target, b, n - 8);
  tile.out.FreeTensor(b);
}

// Scalar code is ordered with the pipes by the compiler.
extern "C" __global__ __aicore__ void unwritten_element(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  LocalTensor<float> a = tile.in.DeQue<float>();
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, tile.count);
  b.SetValue(0, a.GetValue(0) + b.GetValue(1));
  tile.in.FreeTensor(a);
  tile.store(b);
}

// ---- cores

extern "C" __global__ __aicore__ void same_result_of_two(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Share share(x, y, n);
  share.store_own();
}

extern "C" __global__ __aicore__ void read_without_sync(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Share share(x, y, n);
  share.store_own();
  SyncAll();
  share.load_neighbours();
}

extern "C" __global__ __aicore__ void initialised_by_one(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Share share(x, y, n);
  if (GetBlockIdx() == 0) share.store_zeros();
  SyncAll();
  share.add_everywhere();
}

// Blocks wait for each other in a chain.
extern "C" __global__ __aicore__ void sync_of_some(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Share share(x, y, n);
  GlobalTensor<int32_t> workspace;
  workspace.SetGlobalBuffer((__gm__ int32_t*)x);
  LocalTensor<int32_t> local = share.raw.a.ReinterpretCast<int32_t>();
  InitDetermineComputeWorkspace(workspace, local);
  WaitPreBlock(workspace, local);
  share.store_zeros();
  NotifyNextBlock(workspace, local);
}

// A line for each core; elements that go past the cache, and elements of an ordered line.
extern "C" __global__ __aicore__ void neighbours_in_a_line(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.target.SetValue(GetBlockIdx() * 16, 1.0f);
  WriteGmByPassDCache((__gm__ float*)y + n / 2 + GetBlockIdx(), 2.0f);
  raw.target.SetValue(GetBlockIdx() * 16 + 1, 3.0f);
  SyncAll();
  if (GetBlockIdx() == 1) raw.target.SetValue(2, 4.0f);
}

extern "C" __global__ __aicore__ void null_pointer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  if (x == nullptr) *reinterpret_cast<float*>(y) = static_cast<float>(n);
}

extern "C" __global__ __aicore__ void divided_by_zero(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  if (GetBlockIdx() == 0) tile.target.SetValue(0, 1.0f / 0.0f);
}

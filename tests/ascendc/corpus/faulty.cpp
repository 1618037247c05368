// tests/ascendc/corpus/faulty.cpp
// Kernels with one fault each, which the checks must find. The line of the fault has a comment "fault: ID"; beside
// each stands, in sound.cpp, a kernel of the same name that does it right.
#include "corpus.h"

using namespace corpus;

// ---- queues

// The tensor goes into the queue, and the vector unit uses it without having taken it out.
extern "C" __global__ __aicore__ void no_dequeue(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> a = tile.load();
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Adds(b, a, 1.0f, tile.count);  // fault: OPW-X009
  tile.store(b);
}

extern "C" __global__ __aicore__ void use_after_free(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  LocalTensor<float> a = tile.in.DeQue<float>();
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  tile.in.FreeTensor(a);
  Adds(b, a, 1.0f, tile.count);  // fault: OPW-X008
  tile.store(b);
}

extern "C" __global__ __aicore__ void freed_twice(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  LocalTensor<float> a = tile.in.DeQue<float>();
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Adds(b, a, 1.0f, tile.count);
  tile.in.FreeTensor(a);
  tile.in.FreeTensor(a);  // fault: OPW-X001
  tile.store(b);
}

// The two queues of a kernel are taken for each other.
extern "C" __global__ __aicore__ void enqueue_foreign(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  LocalTensor<float> a = tile.in.DeQue<float>();
  tile.out.EnQue(a);  // fault: OPW-X001
}

extern "C" __global__ __aicore__ void enqueue_without_alloc(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  TBuf<TPosition::VECCALC> buffer;
  tile.pipe.InitBuffer(buffer, tile.count * sizeof(float));
  LocalTensor<float> a = buffer.Get<float>();
  DataCopy(a, tile.source, tile.count);
  tile.in.EnQue(a);  // fault: OPW-X001
}

extern "C" __global__ __aicore__ void dequeue_empty(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> a = tile.in.DeQue<float>();  // fault: OPW-X001
  tile.in.FreeTensor(a);
}

extern "C" __global__ __aicore__ void more_tensors_than_buffers(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  tile.load();
  tile.load();  // fault-inside: OPW-X001
}

extern "C" __global__ __aicore__ void never_freed(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  for (int i = 0; i < 4; ++i) {
    LocalTensor<float> a = tile.in.AllocTensor<float>();  // fault: OPW-X001
    DataCopy(a, tile.source, tile.count);
    tile.in.EnQue(a);
    a = tile.in.DeQue<float>();
    LocalTensor<float> b = tile.out.AllocTensor<float>();
    Adds(b, a, 1.0f, tile.count);
    tile.store(b);
  }
}

extern "C" __global__ __aicore__ void queue_too_deep(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> a = tile.in.AllocTensor<float>();
  LocalTensor<float> b = tile.in.AllocTensor<float>();
  tile.in.EnQue(a);
  tile.in.EnQue(b);  // fault: OPW-X001
}

// ---- order of pipes

extern "C" __global__ __aicore__ void no_flag_before_compute(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  DataCopy(raw.a, raw.source, n);
  Adds(raw.b, raw.a, 1.0f, n);  // fault: OPW-X010
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(raw.target, raw.b, n);
}

extern "C" __global__ __aicore__ void no_flag_before_store(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  DataCopy(raw.a, raw.source, n);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Adds(raw.b, raw.a, 1.0f, n);
  DataCopy(raw.target, raw.b, n);  // fault: OPW-X010
}

// The second load overwrites what the vector unit may still read.
extern "C" __global__ __aicore__ void no_flag_before_reload(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  for (int i = 0; i < 2; ++i) {
    DataCopy(raw.a, raw.source, n);  // fault: OPW-X010
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Adds(raw.b, raw.a, 1.0f, n);
    PipeBarrier<PIPE_V>();
  }
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(raw.target, raw.b, n);
}

// A buffer of a TBuf is filled by a copy: nothing orders that with the vector unit.
extern "C" __global__ __aicore__ void load_into_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  TBuf<TPosition::VECCALC> buffer;
  tile.pipe.InitBuffer(buffer, tile.count * sizeof(float));
  LocalTensor<float> a = buffer.Get<float>();
  DataCopy(a, tile.source, tile.count);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Adds(b, a, 1.0f, tile.count);  // fault: OPW-X010
  tile.store(b);
}

extern "C" __global__ __aicore__ void wrong_event(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  DataCopy(raw.a, raw.source, n);
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  Adds(raw.b, raw.a, 1.0f, n);  // fault: OPW-X010
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(raw.target, raw.b, n);
}

// One pipe stores values that another one loads again.
extern "C" __global__ __aicore__ void reload_own_result(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  Duplicate(raw.b, 3.0f, n);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(raw.target, raw.b, n);
  DataCopy(raw.a, raw.target, n);  // fault: OPW-X011
}

// ---- events

extern "C" __global__ __aicore__ void wait_without_set(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.fill_and_store();
  WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);  // fault: OPW-X017
}

extern "C" __global__ __aicore__ void set_twice(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.fill_and_store();
  SetFlag<HardEvent::MTE3_V>(EVENT_ID1);
  SetFlag<HardEvent::MTE3_V>(EVENT_ID1);  // fault: OPW-X016
  WaitFlag<HardEvent::MTE3_V>(EVENT_ID1);
}

extern "C" __global__ __aicore__ void left_over(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.fill_and_store();
  SetFlag<HardEvent::MTE3_V>(EVENT_ID1);  // fault: OPW-X018
}

extern "C" __global__ __aicore__ void id_of_a_queue(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);  // fault: OPW-X016
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  tile.compute();
}

extern "C" __global__ __aicore__ void queue_gets_set_id(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  tile.load();  // fault-inside: OPW-X016
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  tile.compute();
}

extern "C" __global__ __aicore__ void id_out_of_range(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.fill_and_store();
  SetFlag<HardEvent::MTE3_V>(8);  // fault: OPW-X015
}

extern "C" __global__ __aicore__ void ids_run_out(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  for (int i = 0; i < 9; ++i) {
    tile.pipe.AllocEventID<HardEvent::MTE3_V>();  // fault: OPW-X001
  }
}

// ---- memory

extern "C" __global__ __aicore__ void too_much_memory(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  TBuf<TPosition::VECCALC> buffer;
  tile.pipe.InitBuffer(buffer, 200 * 1024);  // fault: OPW-X001
}

extern "C" __global__ __aicore__ void load_behind_tensor(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> a = tile.in.AllocTensor<float>();
  DataCopy(a, tile.source[n], 8);  // fault: OPW-X005
}

extern "C" __global__ __aicore__ void store_behind_tensor(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, tile.count);
  tile.out.EnQue(b);
  b = tile.out.DeQue<float>();
  DataCopy(tile.target[n - 8], b, 16);  // fault: OPW-X005
}

// One buffer is overrun into the next.
extern "C" __global__ __aicore__ void compute_behind_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, tile.count + 8);  // fault: OPW-X006
  tile.store(b);
}

// The last repeat lies wholly in the next buffer.
extern "C" __global__ __aicore__ void repeats_behind_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, 64, static_cast<uint8_t>(n / 64 + 1), 1, 8);  // fault: OPW-X006
  tile.store(b);
}

extern "C" __global__ __aicore__ void element_behind_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, n);
  b.SetValue(n, 2.0f);  // fault: OPW-X006
  tile.store(b);
}

extern "C" __global__ __aicore__ void part_behind_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, n);
  Duplicate(b[n], 2.0f, 8);  // fault: OPW-X006
  tile.store(b);
}

extern "C" __global__ __aicore__ void buffer_of_nothing(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  TBuf<TPosition::VECCALC> buffer;
  tile.pipe.InitBuffer(buffer, 0);
  Duplicate(buffer.Get<float>(), 0.0f, 8);  // fault: OPW-X006
}

extern "C" __global__ __aicore__ void load_behind_buffer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n, n / 2);
  LocalTensor<float> a = tile.in.AllocTensor<float>();
  DataCopy(a, tile.source, n);  // fault: OPW-X006
  tile.in.EnQue(a);
  tile.compute();
}

extern "C" __global__ __aicore__ void buffer_part_too_large(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  TBuf<TPosition::VECCALC> buffer;
  tile.pipe.InitBuffer(buffer, 64);
  LocalTensor<float> a = buffer.GetWithOffset<float>(16, 32);  // fault: OPW-X001
  (void)a;
}

extern "C" __global__ __aicore__ void unaligned_operand(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.load();
  LocalTensor<float> a = tile.in.DeQue<float>();
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 0.0f, tile.count);
  Adds(b, a[1], 1.0f, tile.count - 8);  // fault: OPW-X007
  tile.in.FreeTensor(a);
  tile.store(b);
}

extern "C" __global__ __aicore__ void element_out_of_range(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  tile.target.SetValue(n + 1000, 1.0f);  // fault: OPW-X005
}

extern "C" __global__ __aicore__ void unwritten_operand(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  TBuf<TPosition::VECCALC> buffer;
  tile.pipe.InitBuffer(buffer, tile.count * sizeof(float));
  tile.load();
  LocalTensor<float> a = tile.in.DeQue<float>();
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Add(b, a, buffer.Get<float>(), tile.count);
  tile.in.FreeTensor(a);
  tile.out.EnQue(b);
  b = tile.out.DeQue<float>();
  DataCopy(tile.target, b, tile.count);  // fault: OPW-X012
  tile.out.FreeTensor(b);
}

extern "C" __global__ __aicore__ void unwritten_tail(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  Duplicate(b, 1.0f, tile.count - 8);
  tile.out.EnQue(b);
  b = tile.out.DeQue<float>();
  DataCopy(tile.target, b, tile.count);  // fault: OPW-X012
  tile.out.FreeTensor(b);
}

extern "C" __global__ __aicore__ void unwritten_element(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  LocalTensor<float> b = tile.out.AllocTensor<float>();
  const float first = b.GetValue(0);  // fault: OPW-X012
  Duplicate(b, first > 0 ? 1.0f : 2.0f, tile.count);
  tile.store(b);
}

// ---- cores

extern "C" __global__ __aicore__ void same_result_of_two(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  Duplicate(raw.b, static_cast<float>(GetBlockIdx()), n);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(raw.target, raw.b, n);  // fault: OPW-X014
}

extern "C" __global__ __aicore__ void read_without_sync(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Share share(x, y, n);
  share.store_own();
  share.load_neighbours();  // fault-inside: OPW-X014
}

extern "C" __global__ __aicore__ void initialised_by_one(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Share share(x, y, n);
  if (GetBlockIdx() == 0) share.store_zeros();
  share.add_everywhere();  // fault-inside: OPW-X014
}

extern "C" __global__ __aicore__ void sync_of_some(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Share share(x, y, n);
  share.store_own();
  if (GetBlockIdx() != 0) SyncAll();  // fault: OPW-X004
}

// The values that a core writes are its own, but not the rest of the cache line that it writes back.
extern "C" __global__ __aicore__ void neighbours_in_a_line(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Raw raw(x, y, n);
  raw.target.SetValue(GetBlockIdx(), 1.0f);  // fault: OPW-X014
}

extern "C" __global__ __aicore__ void null_pointer(GM_ADDR x, GM_ADDR y, uint32_t n) {
  volatile float* nowhere = x == y ? reinterpret_cast<float*>(x) : nullptr;
  if (n > 0) *nowhere = 1.0f;  // fault: OPW-X002
}

extern "C" __global__ __aicore__ void divided_by_zero(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tile tile(x, y, n);
  volatile uint32_t tiles = 0;
  tile.target.SetValue(0, static_cast<float>(n / tiles));  // fault: OPW-X002
}

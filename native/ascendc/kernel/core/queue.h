// native/ascendc/kernel/core/queue.h
// Queues of local buffers between the pipes of a core: TQueBind, TQue, TSCM; and TBuf, a buffer without a queue.
// A kernel runs in program order, so a queue never waits: what is not there is a fault of the kernel.
#pragma once

#include "core/local_tensor.h"

namespace AscendC {

struct TQueConfig {
  bool nd2nz = false;
  bool nz2nd = false;
  bool scmBlockGroup = false;
  uint32_t bufferLen = 0;
  uint32_t bufferNumber = 0;
  uint32_t consumerSize = 0;
  TPosition consumer[8] = {};
  bool enableStaticEvtId = false;
  bool enableLoopQueue = false;
};

namespace machine {

// One buffer of a queue.
struct QueueBuffer {
  uint8_t* data = nullptr;
  uint32_t bytes = 0;
  BufferState state = BufferState::kFree;
  const void* queue = nullptr;
  TTagType tag = 0;
};

inline constexpr uint32_t kMostBuffers = 64;  // of one queue

// The pipe that fills, and the one that drains a buffer on its way between two positions (Atlas A2).
constexpr Pipe producer_of(TPosition source, TPosition destination) {
  switch (source) {
    case TPosition::VECIN:
    case TPosition::VECCALC:
      return destination == TPosition::VECOUT || destination == TPosition::GM ? Pipe::kMte2 : Pipe::kVector;
    case TPosition::VECOUT:
      return Pipe::kVector;
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
      return destination == TPosition::GM ? Pipe::kMte2 : Pipe::kMte1;
    case TPosition::A2:
    case TPosition::B2:
    case TPosition::C2:
      return Pipe::kMte1;
    case TPosition::CO1:
      return Pipe::kMatrix;
    case TPosition::CO2:
      return Pipe::kFix;
    default:
      return destination == TPosition::A2 || destination == TPosition::B2 || destination == TPosition::C2 ? Pipe::kMte1
                                                                                                          : Pipe::kMte2;
  }
}
constexpr Pipe consumer_of(TPosition source, TPosition destination) {
  switch (destination) {
    case TPosition::VECIN:
    case TPosition::VECCALC:
      return Pipe::kVector;
    case TPosition::VECOUT:
      return source == TPosition::VECCALC ? Pipe::kVector : Pipe::kMte3;
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
    case TPosition::TSCM:
      return source == TPosition::GM ? Pipe::kMte1 : Pipe::kMte3;
    case TPosition::A2:
    case TPosition::B2:
    case TPosition::C2:
      return Pipe::kMatrix;
    case TPosition::CO1:
    case TPosition::CO2:
      return Pipe::kFix;
    default:
      return source == TPosition::CO1 || source == TPosition::CO2 ? Pipe::kFix : Pipe::kMte3;
  }
}

// The part of all queues that is independent of their parameters.
class Queue {
 public:
  OPWRIGHT_INLINE void give_buffer(uint8_t* data, uint32_t bytes) {
    if (count_ == kMostBuffers) refuse("InitBuffer", "more than ", kMostBuffers, " buffers in one queue");
    buffers_[count_] = QueueBuffer{data, bytes, BufferState::kFree, this};
    if (core().checks) note_buffer(data, bytes, BufferState::kFree, Pipe::kScalar);
    ++count_;
  }
  OPWRIGHT_INLINE void clear_buffers() { count_ = next_ = first_ = queued_ = 0; }

  OPWRIGHT_INLINE QueueBuffer* allocate(Pipe producer) {
    if (count_ == 0) refuse("AllocTensor", "the queue has no buffers; call TPipe::InitBuffer for it first");
    for (uint32_t i = 0; i < count_; ++i) {
      QueueBuffer* const buffer = &buffers_[(next_ + i) % count_];
      if (buffer->state != BufferState::kFree) continue;
      next_ = static_cast<uint32_t>(buffer - buffers_ + 1) % count_;
      set_state(buffer, BufferState::kAllocated, producer);
      if (core().checks) await_order(free_key(buffer), producer);
      return buffer;
    }
    refuse("AllocTensor", "all ", count_, " buffer(s) of the queue are in use; FreeTensor gives one back");
  }

  OPWRIGHT_INLINE void enqueue(QueueBuffer* buffer, Pipe producer, Pipe consumer, uint32_t depth) {
    own("EnQue", buffer);
    if (buffer->state == BufferState::kFree) refuse("EnQue", "the tensor was freed, or never got with AllocTensor");
    if (buffer->state == BufferState::kQueued) refuse("EnQue", "the tensor is in the queue already");
    if (core().checks && depth > 0 && queued_ >= depth) {
      refuse("EnQue", "the queue holds ", queued_, " tensor(s), and its depth is ", depth);
    }
    waiting_[(first_ + queued_++) % kMostBuffers] = buffer;
    set_state(buffer, BufferState::kQueued, producer);
    if (core().checks) signal_order(buffer, producer, consumer);
  }

  OPWRIGHT_INLINE QueueBuffer* dequeue(Pipe consumer) {
    if (queued_ == 0) refuse("DeQue", "the queue is empty: no EnQue came before");
    QueueBuffer* const buffer = waiting_[first_];
    first_ = (first_ + 1) % kMostBuffers;
    --queued_;
    set_state(buffer, BufferState::kTaken, consumer);
    if (core().checks) await_order(buffer, consumer);
    return buffer;
  }

  OPWRIGHT_INLINE void free(QueueBuffer* buffer, Pipe producer, Pipe consumer) {
    own("FreeTensor", buffer);
    if (buffer->state == BufferState::kFree) refuse("FreeTensor", "the tensor was freed before");
    if (buffer->state == BufferState::kQueued) refuse("FreeTensor", "the tensor is in the queue; DeQue it first");
    set_state(buffer, BufferState::kFree, consumer);
    if (core().checks) signal_order(free_key(buffer), consumer, producer);
  }

  OPWRIGHT_INLINE void free_events() {
    if (!core().checks) return;
    for (uint32_t i = 0; i < count_; ++i) drop_order(free_key(&buffers_[i]));
  }

  OPWRIGHT_INLINE uint32_t queued() const { return queued_; }
  OPWRIGHT_INLINE uint32_t count() const { return count_; }
  OPWRIGHT_INLINE QueueBuffer* buffer(uint32_t index) { return &buffers_[index]; }
  OPWRIGHT_INLINE bool has_idle() const {
    for (uint32_t i = 0; i < count_; ++i) {
      if (buffers_[i].state == BufferState::kFree) return true;
    }
    return false;
  }

 private:
  // EnQue and FreeTensor order different pipes: two keys of one buffer.
  static OPWRIGHT_INLINE const void* free_key(const QueueBuffer* buffer) {
    return reinterpret_cast<const uint8_t*>(buffer) + 1;
  }
  OPWRIGHT_INLINE void own(const char* api, const QueueBuffer* buffer) const {
    if (buffer == nullptr) refuse(api, "the tensor comes from no queue; get it with AllocTensor");
    if (buffer->queue != this) refuse(api, "the tensor comes from another queue");
  }
  OPWRIGHT_INLINE void set_state(QueueBuffer* buffer, BufferState state, Pipe pipe) {
    buffer->state = state;
    if (core().checks) note_buffer(buffer->data, buffer->bytes, state, pipe);
  }

  QueueBuffer buffers_[kMostBuffers];
  QueueBuffer* waiting_[kMostBuffers] = {};
  uint32_t count_ = 0;
  uint32_t next_ = 0;
  uint32_t first_ = 0;
  uint32_t queued_ = 0;
};

}  // namespace machine

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
 public:
  static constexpr bool isTQue = true;
  static constexpr TPosition srcPosition = src;
  static constexpr TPosition dstPosition = dst;
  // Where the buffers lie: the end that is in a memory of the core.
  static constexpr TPosition bufferPosition = machine::memory_of(dst) == machine::Memory::kNone ? src : dst;
  static constexpr machine::Pipe kProducer = machine::producer_of(src, dst);
  static constexpr machine::Pipe kConsumer = machine::consumer_of(src, dst);

  OPWRIGHT_INLINE TQueBind() = default;
  TQueBind(const TQueBind&) = delete;
  TQueBind& operator=(const TQueBind&) = delete;

  template <class T>
  OPWRIGHT_INLINE LocalTensor<T> AllocTensor() {
    return tensor<T>(queue_.allocate(kProducer));
  }
  template <class T>
  OPWRIGHT_INLINE void AllocTensor(LocalTensor<T>& tensor) {
    tensor = AllocTensor<T>();
  }
  template <class T>
  OPWRIGHT_INLINE bool EnQue(const LocalTensor<T>& tensor) {
    return enqueue(tensor, kProducer, kConsumer);
  }
  template <TPosition from, TPosition to, class T>
  OPWRIGHT_INLINE bool EnQue(const LocalTensor<T>& tensor) {
    return enqueue(tensor, machine::producer_of(from, to), machine::consumer_of(from, to));
  }
  template <class T>
  OPWRIGHT_INLINE LocalTensor<T> DeQue() {
    return tensor<T>(queue_.dequeue(kConsumer));
  }
  template <class T>
  OPWRIGHT_INLINE void DeQue(LocalTensor<T>& tensor) {
    tensor = DeQue<T>();
  }
  template <TPosition from, TPosition to, class T>
  OPWRIGHT_INLINE LocalTensor<T> DeQue() {
    return tensor<T>(queue_.dequeue(machine::consumer_of(from, to)));
  }
  template <class T>
  OPWRIGHT_INLINE void FreeTensor(LocalTensor<T>& tensor) {
    queue_.free(tensor.handle(), kProducer, kConsumer);
  }
  template <class T>
  OPWRIGHT_INLINE void FreeTensor(LocalTensor<T>&& tensor) {
    queue_.free(tensor.handle(), kProducer, kConsumer);
  }
  OPWRIGHT_INLINE void FreeAllEvent() { queue_.free_events(); }
  OPWRIGHT_INLINE bool VacantInQue() const { return queue_.queued() < static_cast<uint32_t>(depth > 0 ? depth : 1); }
  OPWRIGHT_INLINE bool HasTensorInQue() const { return queue_.queued() > 0; }
  OPWRIGHT_INLINE int32_t GetTensorCountInQue() const { return static_cast<int32_t>(queue_.queued()); }
  OPWRIGHT_INLINE bool HasIdleBuffer() const { return queue_.has_idle(); }

  // For a buffer pool that a kernel writes itself.
  OPWRIGHT_INLINE void InitStartBufHandle(TBufHandle, uint8_t, uint32_t) { queue_.clear_buffers(); }
  template <class Pool>
  OPWRIGHT_INLINE void InitBufHandle(Pool*, uint32_t, TBufHandle, uint32_t address, uint32_t bytes) {
    queue_.give_buffer(machine::local_address(machine::memory_of(bufferPosition), address), bytes);
  }

  // For the headers of this folder.
  OPWRIGHT_INLINE machine::Queue& queue() { return queue_; }

 private:
  template <class T>
  static OPWRIGHT_INLINE LocalTensor<T> tensor(machine::QueueBuffer* buffer) {
    auto result = LocalTensor<T>::make(buffer->data, buffer->bytes * 8 / kBitsOf<PrimT<T>>, bufferPosition,
                                       {buffer->data, buffer->bytes}, buffer);
    result.SetUserTag(buffer->tag);
    return result;
  }
  template <class T>
  OPWRIGHT_INLINE bool enqueue(const LocalTensor<T>& tensor, machine::Pipe producer, machine::Pipe consumer) {
    queue_.enqueue(tensor.handle(), producer, consumer, static_cast<uint32_t>(depth));
    tensor.handle()->tag = tensor.GetUserTag();
    return true;
  }

  machine::Queue queue_;
};

namespace detail {
// A queue named by one position binds it to the one where its tensors come from, or go.
constexpr TPosition source_end(TPosition position) {
  switch (position) {
    case TPosition::VECIN:
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
      return TPosition::GM;
    case TPosition::A2:
      return TPosition::A1;
    case TPosition::B2:
      return TPosition::B1;
    case TPosition::C2:
      return TPosition::C1;
    default:
      return position;
  }
}
constexpr TPosition destination_end(TPosition position) {
  switch (position) {
    case TPosition::VECOUT:
    case TPosition::CO1:
    case TPosition::CO2:
      return TPosition::GM;
    default:
      return position;
  }
}
}  // namespace detail

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<detail::source_end(pos), detail::destination_end(pos), depth, mask> {};

template <TPosition pos, int32_t depth = 1, auto mask = 0>
using TSCM = TQueBind<pos, TPosition::TSCM, depth, mask>;

template <TPosition pos = TPosition::LCM>
class TBuf {
 public:
  static constexpr bool isTQue = false;
  OPWRIGHT_INLINE TBuf() = default;

  template <class T>
  OPWRIGHT_INLINE LocalTensor<T> Get() {
    return Get<T>(static_cast<uint32_t>(uint64_t{buffer_.bytes} * 8 / kBitsOf<PrimT<T>>));
  }
  template <class T>
  OPWRIGHT_INLINE LocalTensor<T> Get(uint32_t count) {
    return GetWithOffset<T>(count, 0);
  }
  // `size` counts elements, `offset` bytes.
  template <class T>
  OPWRIGHT_INLINE LocalTensor<T> GetWithOffset(uint32_t size, uint32_t offset) {
    if (buffer_.data == nullptr) machine::refuse("TBuf::Get", "the buffer has no memory; call TPipe::InitBuffer first");
    if (offset > buffer_.bytes || bytes_of<PrimT<T>>(size) > buffer_.bytes - offset) {
      machine::refuse("TBuf::Get", bytes_of<PrimT<T>>(size), " bytes at offset ", offset, " of a buffer of ",
                      buffer_.bytes, " bytes");
    }
    return LocalTensor<T>::make(buffer_.data + offset, size, pos, {buffer_.data, buffer_.bytes}, &buffer_);
  }

  // Tensors of a TBuf need no queue; these forms exist for code that treats both alike.
  template <class T>
  OPWRIGHT_INLINE LocalTensor<T> AllocTensor() {
    return Get<T>();
  }
  template <class T>
  OPWRIGHT_INLINE void FreeTensor(LocalTensor<T>&) {}
  template <class T>
  OPWRIGHT_INLINE bool EnQue(const LocalTensor<T>&) {
    return true;
  }
  template <class T>
  OPWRIGHT_INLINE LocalTensor<T> DeQue() {
    return Get<T>();
  }

  // For a buffer pool that a kernel writes itself.
  OPWRIGHT_INLINE void InitStartBufHandle(TBufHandle, uint8_t, uint32_t) {}
  template <class Pool>
  OPWRIGHT_INLINE void InitBufHandle(Pool*, uint32_t, TBufHandle, uint32_t address, uint32_t bytes) {
    give_buffer(machine::local_address(machine::memory_of(pos), address), bytes);
  }

  // For the headers of this folder.
  OPWRIGHT_INLINE void give_buffer(uint8_t* data, uint32_t bytes) {
    buffer_ = machine::QueueBuffer{data, bytes, machine::BufferState::kAllocated, this};
    if (machine::core().checks) {
      machine::note_buffer(data, bytes, machine::BufferState::kAllocated, machine::Pipe::kVector);
    }
  }
  OPWRIGHT_INLINE uint32_t GetBufLen() const { return buffer_.bytes; }

 private:
  machine::QueueBuffer buffer_;
};

}  // namespace AscendC

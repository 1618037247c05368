// native/ascendc/kernel/core/pipe.h
// TPipe: gives the local memory of a core to queues and buffers, and hands out event ids. TBufPool: a part of it.
#pragma once

#include <tuple>

#include "core/queue.h"

namespace AscendC {

namespace machine {

constexpr uint32_t kBlockBytes = 32;

constexpr uint64_t round_to_block(uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

OPWRIGHT_INLINE const char* name_of(Memory memory) {
  constexpr const char* kNames[] = {"unified buffer", "L1",    "L0A", "L0B", "L0C", "bias table",
                                    "fixpipe buffer", "global"};
  return kNames[static_cast<size_t>(memory)];
}

// Takes `bytes` of a memory of the core.
OPWRIGHT_INLINE uint8_t* take_local(const char* api, Memory memory, uint64_t bytes) {
  if (memory == Memory::kNone) refuse(api, "this position lies in no memory of the core");
  const auto index = static_cast<size_t>(memory);
  Core& self = core();
  const uint32_t capacity = self.memory[index].bytes;
  if (bytes > capacity - self.used[index]) {
    refuse(api, bytes, " bytes more than the ", self.used[index], " in use do not fit in the ", name_of(memory), " of ",
           capacity, " bytes");
  }
  uint8_t* const data = self.memory[index].base + self.used[index];
  self.used[index] += static_cast<uint32_t>(bytes);
  return data;
}

// Gives `count` buffers of `bytes` to a queue, or one to a TBuf; `take` finds the memory.
template <class Holder, class Take>
OPWRIGHT_INLINE bool fill_queue(Holder& holder, uint32_t count, uint32_t bytes, const Take& take) {
  const uint64_t rounded = round_to_block(bytes);
  if (count == 0 || bytes == 0) refuse("InitBuffer", count, " buffer(s) of ", bytes, " bytes: neither may be 0");
  uint8_t* const data = take(count * rounded);
  holder.queue().clear_buffers();
  for (uint32_t i = 0; i < count; ++i) holder.queue().give_buffer(data + i * rounded, static_cast<uint32_t>(rounded));
  return true;
}

// Lets a pool lie where another one lies.
template <class Pool, class Shared>
OPWRIGHT_INLINE bool share_pool(Pool& pool, uint32_t bytes, Shared& shared) {
  if (bytes > shared.pool_bytes()) {
    refuse("InitBufPool", bytes, " bytes in a shared pool of ", shared.pool_bytes());
  }
  pool.give_memory(shared.pool_data(), static_cast<uint32_t>(round_to_block(bytes)));
  return true;
}

}  // namespace machine

class TPipe {
 public:
  OPWRIGHT_INLINE TPipe() { Init(); }
  OPWRIGHT_INLINE ~TPipe() {
    if (!destroyed_) Destroy();
  }
  TPipe(const TPipe&) = delete;
  TPipe& operator=(const TPipe&) = delete;

  OPWRIGHT_INLINE void Init() {
    machine::core().pipe = this;
    destroyed_ = false;
    Reset();
  }
  OPWRIGHT_INLINE void Reset() {
    machine::Core& self = machine::core();
    if (self.checks) machine::barrier_order(machine::kAllPipes);
    for (size_t i = 0; i < machine::kMemories; ++i) {
      self.used[i] = 0;
      if (self.checks) machine::forget_buffers(static_cast<machine::Memory>(i));
    }
    for (auto& row : self.events) {
      for (uint8_t& taken : row) taken = 0;
    }
  }
  OPWRIGHT_INLINE void Destroy() {
    Reset();
    DestroyWithoutPipeAll();
  }
  OPWRIGHT_INLINE void DestroyWithoutPipeAll() {
    destroyed_ = true;
    if (machine::core().pipe == this) machine::core().pipe = nullptr;
  }

  template <class Que>
  OPWRIGHT_INLINE bool InitBuffer(Que& queue, uint8_t count, uint32_t bytes) {
    return machine::fill_queue(queue, count, bytes, [](uint64_t size) {
      return machine::take_local("InitBuffer", machine::memory_of(Que::bufferPosition), size);
    });
  }
  // One buffer per pair of its first byte and its size in bytes.
  template <class Que, class First, class Second, class... More>
  OPWRIGHT_INLINE bool InitBuffer(Que& queue, const std::tuple<First, Second>& address, const More&... more) {
    constexpr machine::Memory kMemory = machine::memory_of(Que::bufferPosition);
    queue.queue().clear_buffers();
    const auto give = [&](const auto& pair) {
      const auto begin = static_cast<uint32_t>(std::get<0>(pair));
      const auto bytes = static_cast<uint32_t>(std::get<1>(pair));
      const uint32_t capacity = machine::core().memory[static_cast<size_t>(kMemory)].bytes;
      if (begin > capacity || bytes > capacity - begin) {
        machine::refuse("InitBuffer", bytes, " bytes at ", begin, " do not fit in the ", machine::name_of(kMemory),
                        " of ", capacity, " bytes");
      }
      queue.queue().give_buffer(machine::local_address(kMemory, begin), bytes);
    };
    give(address);
    (give(more), ...);
    return true;
  }
  template <TPosition pos>
  OPWRIGHT_INLINE bool InitBuffer(TBuf<pos>& buffer, uint32_t bytes) {
    const uint64_t rounded = machine::round_to_block(bytes);
    uint8_t* const data = machine::take_local("InitBuffer", machine::memory_of(pos), rounded);
    buffer.give_buffer(data, static_cast<uint32_t>(rounded));
    return true;
  }

  template <class Pool>
  OPWRIGHT_INLINE bool InitBufPool(Pool& pool, uint32_t bytes) {
    const uint64_t rounded = machine::round_to_block(bytes);
    uint8_t* const data = machine::take_local("InitBufPool", machine::memory_of(Pool::poolPosition), rounded);
    pool.give_memory(data, static_cast<uint32_t>(rounded));
    return true;
  }
  template <class Pool, class Shared>
  OPWRIGHT_INLINE bool InitBufPool(Pool& pool, uint32_t bytes, Shared& shared) {
    return machine::share_pool(pool, bytes, shared);
  }

  template <HardEvent event>
  OPWRIGHT_INLINE TEventID AllocEventID() {
    uint8_t& taken = events(event);
    for (TEventID id = 0; id < kEventIds; ++id) {
      if ((taken >> id & 1) != 0) continue;
      taken = static_cast<uint8_t>(taken | 1 << id);
      return id;
    }
    machine::refuse("AllocEventID", "all ", int{kEventIds}, " event ids of these pipes are in use");
  }
  template <HardEvent event>
  OPWRIGHT_INLINE void ReleaseEventID(TEventID id) {
    uint8_t& taken = events(event);
    if (id < 0 || id >= kEventIds || (taken >> id & 1) == 0) {
      machine::refuse("ReleaseEventID", "event id ", int{id}, " was not got with AllocEventID");
    }
    taken = static_cast<uint8_t>(taken & ~(1 << id));
  }
  template <HardEvent event>
  OPWRIGHT_INLINE TEventID FetchEventID() {
    return FetchEventID(event);
  }
  // An id that is free now; it is not taken.
  OPWRIGHT_INLINE TEventID FetchEventID(HardEvent event) {
    for (TEventID id = 0; id < kEventIds; ++id) {
      if ((events(event) >> id & 1) == 0) return id;
    }
    machine::refuse("FetchEventID", "all ", int{kEventIds}, " event ids of these pipes are in use");
  }

  OPWRIGHT_INLINE uint8_t* GetBaseAddr(int8_t position) {
    return machine::local_address(machine::memory_of(static_cast<TPosition>(position)), 0);
  }

 private:
  static constexpr TEventID kEventIds = 8;  // per pair of pipes

  static OPWRIGHT_INLINE uint8_t& events(HardEvent event) {
    return machine::core()
        .events[static_cast<size_t>(machine::source_of(event))][static_cast<size_t>(machine::destination_of(event))];
  }

  bool destroyed_ = false;
};

// Takes local memory for a tensor that high-level calls work in: what the TPipe has not given out.
template <class T, TPosition pos>
OPWRIGHT_INLINE bool PopStackBuffer(LocalTensor<T>& tensor) {
  constexpr machine::Memory kMemory = machine::memory_of(pos);
  const auto index = static_cast<size_t>(kMemory);
  const uint32_t used = machine::core().used[index];
  const uint32_t free = machine::core().memory[index].bytes - used;
  tensor = LocalTensor<T>::make(machine::local_address(kMemory, used), free * 8 / kBitsOf<PrimT<T>>, pos);
  return free > 0;
}

OPWRIGHT_INLINE TPipe* GetTPipePtr() { return machine::core().pipe; }

inline constexpr uint32_t defaultBufIDSize = 4;

template <TPosition pos, uint32_t bufIDSize = defaultBufIDSize>
class TBufPool {
 public:
  static constexpr TPosition poolPosition = pos;
  OPWRIGHT_INLINE TBufPool() = default;

  template <class Que>
  OPWRIGHT_INLINE bool InitBuffer(Que& queue, uint8_t count, uint32_t bytes) {
    return machine::fill_queue(queue, count, bytes, [this](uint64_t size) { return take(size); });
  }
  template <TPosition position>
  OPWRIGHT_INLINE bool InitBuffer(TBuf<position>& buffer, uint32_t bytes) {
    const uint64_t rounded = machine::round_to_block(bytes);
    buffer.give_buffer(take(rounded), static_cast<uint32_t>(rounded));
    return true;
  }
  template <class Pool>
  OPWRIGHT_INLINE bool InitBufPool(Pool& pool, uint32_t bytes) {
    const uint64_t rounded = machine::round_to_block(bytes);
    pool.give_memory(take(rounded), static_cast<uint32_t>(rounded));
    return true;
  }
  template <class Pool, class Shared>
  OPWRIGHT_INLINE bool InitBufPool(Pool& pool, uint32_t bytes, Shared& shared) {
    return machine::share_pool(pool, bytes, shared);
  }
  OPWRIGHT_INLINE void Reset() {
    if (machine::core().checks) machine::barrier_order(machine::kAllPipes);
    used_ = 0;
  }

  // For the headers of this folder.
  OPWRIGHT_INLINE void give_memory(uint8_t* data, uint32_t bytes) {
    data_ = data;
    bytes_ = bytes;
    used_ = 0;
  }
  OPWRIGHT_INLINE uint8_t* pool_data() const { return data_; }
  OPWRIGHT_INLINE uint32_t pool_bytes() const { return bytes_; }

 private:
  OPWRIGHT_INLINE uint8_t* take(uint64_t bytes) {
    if (bytes > bytes_ - used_) {
      machine::refuse("InitBuffer", bytes, " bytes more than the ", used_, " in use do not fit in a pool of ", bytes_);
    }
    uint8_t* const data = data_ + used_;
    used_ += static_cast<uint32_t>(bytes);
    return data;
  }

  uint8_t* data_ = nullptr;
  uint32_t bytes_ = 0;
  uint32_t used_ = 0;
};

namespace machine {

// The state that EXTERN_IMPL_BUFPOOL keeps for a pool that a kernel writes itself. Addresses are bytes from the start
// of the memory of `position`.
template <TPosition position, uint32_t most>
class CustomPool {
 public:
  OPWRIGHT_INLINE void give_memory(uint8_t* data, uint32_t bytes) {
    data_ = data;
    bytes_ = bytes;
    reset();
  }
  OPWRIGHT_INLINE uint8_t* data() const { return data_; }
  OPWRIGHT_INLINE uint32_t bytes() const { return bytes_; }
  OPWRIGHT_INLINE void reset() {
    if (core().checks) barrier_order(kAllPipes);
    address_ = data_ == nullptr ? 0 : begin();
    used_ = 0;
  }
  OPWRIGHT_INLINE TBufHandle handle(uint32_t index) {
    if (index >= most) refuse("GetBufHandle", "buffer ", index, " of a pool of ", most, " buffers");
    return &buffers_[index];
  }
  OPWRIGHT_INLINE uint32_t address() const { return address_; }
  OPWRIGHT_INLINE void set_address(uint32_t address) {
    if (data_ == nullptr) refuse("SetCurAddr", "the pool has no memory; call TPipe::InitBufPool for it first");
    if (address < begin() || address - begin() > bytes_) {
      refuse("SetCurAddr", "address ", address, " outside of a pool of ", bytes_, " bytes at ", begin());
    }
    address_ = address;
  }
  OPWRIGHT_INLINE uint32_t used() const { return used_; }
  OPWRIGHT_INLINE void set_used(uint32_t used) {
    if (used > most) refuse("SetCurBufSize", used, " buffers in a pool of ", most);
    used_ = used;
  }

 private:
  OPWRIGHT_INLINE uint32_t begin() const {
    return static_cast<uint32_t>(data_ - core().memory[static_cast<size_t>(memory_of(position))].base);
  }

  uint8_t* data_ = nullptr;
  uint32_t bytes_ = 0;
  uint32_t address_ = 0;
  uint32_t used_ = 0;
  QueueBuffer buffers_[most];
};

}  // namespace machine
}  // namespace AscendC

// In a class: makes it a pool of at most `buffers` buffers, of which the class's own InitBuffer gives parts away.
#define EXTERN_IMPL_BUFPOOL(name, position, buffers)                                                         \
 public:                                                                                                     \
  static constexpr ::AscendC::TPosition poolPosition = position;                                             \
  OPWRIGHT_INLINE void Init() {}                                                                             \
  OPWRIGHT_INLINE void Reset() { tBufPoolImpl.reset(); }                                                     \
  OPWRIGHT_INLINE ::AscendC::TBufHandle GetBufHandle(uint8_t offset) { return tBufPoolImpl.handle(offset); } \
  OPWRIGHT_INLINE void SetCurAddr(uint32_t curAddr) { tBufPoolImpl.set_address(curAddr); }                   \
  OPWRIGHT_INLINE uint32_t GetCurAddr() { return tBufPoolImpl.address(); }                                   \
  OPWRIGHT_INLINE void SetCurBufSize(uint8_t curBufSize) { tBufPoolImpl.set_used(curBufSize); }              \
  OPWRIGHT_INLINE uint8_t GetCurBufSize() { return static_cast<uint8_t>(tBufPoolImpl.used()); }              \
  OPWRIGHT_INLINE void give_memory(uint8_t* data, uint32_t bytes) { tBufPoolImpl.give_memory(data, bytes); } \
  OPWRIGHT_INLINE uint8_t* pool_data() const { return tBufPoolImpl.data(); }                                 \
  OPWRIGHT_INLINE uint32_t pool_bytes() const { return tBufPoolImpl.bytes(); }                               \
                                                                                                             \
 protected:                                                                                                  \
  ::AscendC::machine::CustomPool<position, buffers> tBufPoolImpl

using AscendC::GetTPipePtr;

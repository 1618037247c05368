// native/ascendc/kernel/core/local_tensor.h
// LocalTensor: elements in a memory of the core. A handle: copies share the elements.
#pragma once

#include <string>

#include "core/machine.h"
#include "core/shape_info.h"

namespace AscendC {

namespace machine {
struct QueueBuffer;  // core/queue.h
}

using TTagType = int32_t;
using TBufHandle = machine::QueueBuffer*;

template <class T>
class LocalTensor {
 public:
  using PrimType = PrimT<T>;
  using Primitive = PrimType;

  OPWRIGHT_INLINE LocalTensor() = default;
  // `address` counts bytes from the start of the position's memory, `size` elements.
  OPWRIGHT_INLINE LocalTensor(TPosition position, uint32_t address, uint32_t size) : size_(size), position_(position) {
    const machine::Memory memory = machine::memory_of(position);
    if (memory == machine::Memory::kNone) machine::refuse("LocalTensor", "position GM or CO2 is no local memory");
    const uint32_t capacity = machine::core().memory[static_cast<size_t>(memory)].bytes;
    if (address > capacity || bytes_of<PrimType>(size) > capacity - address) {
      machine::refuse("LocalTensor", bytes_of<PrimType>(size), " bytes at ", address, " do not fit in ", capacity,
                      " bytes of that memory");
    }
    data_ = reinterpret_cast<PrimType*>(machine::local_address(memory, address));
  }
  OPWRIGHT_INLINE explicit LocalTensor(uint32_t address)
      : data_(reinterpret_cast<PrimType*>(machine::local_address(machine::Memory::kUnified, address))),
        position_(TPosition::VECCALC) {}

  OPWRIGHT_INLINE uint64_t GetPhyAddr() const { return GetPhyAddr(0); }
  OPWRIGHT_INLINE uint64_t GetPhyAddr(uint32_t offset) const {
    if (machine::core().checks) machine::note_raw_address(at(offset));
    return reinterpret_cast<uint64_t>(at(offset));
  }

  OPWRIGHT_INLINE PrimType GetValue(uint32_t index) const {
    scalar_access("GetValue", index, false);
    if constexpr (kIsNibble) {
      return PrimType(machine::read_nibble(data_, index));
    } else {
      return *at(index);
    }
  }
  OPWRIGHT_INLINE PrimType& operator()(uint32_t index) const {
    // It may be written through the reference.
    scalar_access("operator()", index, true);
    return *at(index);
  }
  template <class Value>
  OPWRIGHT_INLINE void SetValue(uint32_t index, Value value) const {
    scalar_access("SetValue", index, true);
    if constexpr (kIsNibble) {
      machine::write_nibble(data_, index, static_cast<int8_t>(value));
    } else {
      *at(index) = static_cast<PrimType>(value);
    }
  }

  OPWRIGHT_INLINE LocalTensor operator[](uint32_t offset) const {
    LocalTensor result = *this;
    result.data_ = at(offset);
    result.size_ = size_ > offset ? size_ - offset : 0;
    return result;
  }

  template <class Other>
  OPWRIGHT_INLINE LocalTensor<Other> ReinterpretCast() const {
    LocalTensor<Other> result;
    result.data_ = reinterpret_cast<PrimT<Other>*>(data_);
    result.size_ = static_cast<uint32_t>(static_cast<uint64_t>(size_) * kBitsOf<PrimType> / kBitsOf<PrimT<Other>>);
    result.position_ = position_;
    result.handle_ = handle_;
    result.buffer_ = buffer_;
    result.tag_ = tag_;
    return result;
  }
  template <class Other>
  OPWRIGHT_INLINE void SetAddrWithOffset(const LocalTensor<Other>& source, uint32_t offset) {
    *this = source.template ReinterpretCast<T>();
    data_ = reinterpret_cast<PrimType*>(source.data() + offset);
  }

  // `dst = a + b` and the like: the expressions are in vector/.
  template <class Expression, class = typename Expression::IsVectorExpression>
  OPWRIGHT_INLINE LocalTensor& operator=(const Expression& expression) {
    expression.assign(*this);
    return *this;
  }

  OPWRIGHT_INLINE int32_t GetPosition() const { return static_cast<int32_t>(position_); }
  OPWRIGHT_INLINE void SetSize(uint32_t size) { size_ = size; }
  OPWRIGHT_INLINE uint32_t GetSize() const { return size_; }
  OPWRIGHT_INLINE uint32_t GetLength() const { return static_cast<uint32_t>(bytes_of<PrimType>(size_)); }
  OPWRIGHT_INLINE void SetBufferLen(uint32_t bytes) { size_ = bytes * 8 / kBitsOf<PrimType>; }
  OPWRIGHT_INLINE void SetUserTag(TTagType tag) { tag_ = tag; }
  OPWRIGHT_INLINE TTagType GetUserTag() const { return tag_; }
  OPWRIGHT_INLINE void SetShapeInfo(const ShapeInfo& info) { shape_ = info; }
  OPWRIGHT_INLINE ShapeInfo GetShapeInfo() const { return shape_; }

  void Print() const { Print(size_); }
  void Print(uint32_t count) const;                    // core/debug.h
  int32_t ToFile(const std::string& file_name) const;  // core/debug.h

  // For the headers of this folder.
  OPWRIGHT_INLINE PrimType* data() const { return data_; }
  OPWRIGHT_INLINE TPosition position() const { return position_; }
  OPWRIGHT_INLINE uint32_t bytes() const { return static_cast<uint32_t>(bytes_of<PrimType>(size_)); }
  OPWRIGHT_INLINE TBufHandle handle() const { return handle_; }
  // The result of InitBuffer or an allocator, of which the tensor may be a part; empty for a tensor at a fixed address.
  OPWRIGHT_INLINE machine::MemorySpan buffer() const { return buffer_; }
  // `size` counts elements.
  static OPWRIGHT_INLINE LocalTensor make(void* data, uint32_t size, TPosition position,
                                          machine::MemorySpan buffer = {}, TBufHandle handle = nullptr) {
    LocalTensor result;
    result.data_ = static_cast<PrimType*>(data);
    result.size_ = size;
    result.position_ = position;
    result.buffer_ = buffer;
    result.handle_ = handle;
    return result;
  }

 private:
  template <class>
  friend class LocalTensor;
  static constexpr bool kIsNibble = std::is_same_v<PrimType, int4b_t>;

  OPWRIGHT_INLINE PrimType* at(uint32_t offset) const {
    return reinterpret_cast<PrimType*>(reinterpret_cast<uint8_t*>(data_) +
                                       (kIsNibble ? offset / 2 : uint64_t{offset} * sizeof(PrimType)));
  }
  OPWRIGHT_INLINE void scalar_access(const char* api, uint32_t index, bool write) const {
    if (__builtin_expect(!machine::core().checks, true)) return;
    machine::check_local(api, "element", at(index), sizeof(PrimType));
    machine::scalar_access(api, at(index), sizeof(PrimType), write, buffer_);
  }

  PrimType* data_ = nullptr;
  uint32_t size_ = 0;
  TPosition position_ = TPosition::VECCALC;
  TTagType tag_ = 0;
  TBufHandle handle_ = nullptr;
  machine::MemorySpan buffer_ = {};
  ShapeInfo shape_;
};

}  // namespace AscendC

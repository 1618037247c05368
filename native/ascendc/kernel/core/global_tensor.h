// native/ascendc/kernel/core/global_tensor.h
// GlobalTensor: elements in global memory.
#pragma once

#include "core/machine.h"
#include "core/shape_info.h"

namespace AscendC {

template <class T>
class GlobalTensor {
 public:
  using PrimType = PrimT<T>;
  using Primitive = PrimType;

  // Published kernels read it.
  PrimType* address_ = nullptr;

  OPWRIGHT_INLINE GlobalTensor() = default;

  OPWRIGHT_INLINE void SetGlobalBuffer(__gm__ PrimType* buffer, uint64_t size) {
    address_ = machine::host_address(buffer);
    size_ = size;
  }
  OPWRIGHT_INLINE void SetGlobalBuffer(__gm__ PrimType* buffer) { SetGlobalBuffer(buffer, 0); }

  OPWRIGHT_INLINE const __gm__ PrimType* GetPhyAddr() const { return address_; }
  OPWRIGHT_INLINE __gm__ PrimType* GetPhyAddr(uint64_t offset) const { return at(offset); }

  OPWRIGHT_INLINE PrimType GetValue(uint64_t offset) const {
    check_element("GetValue", offset, false);
    if constexpr (kIsNibble) {
      return PrimType(machine::read_nibble(address_, offset));
    } else {
      return *at(offset);
    }
  }
  OPWRIGHT_INLINE __gm__ PrimType& operator()(uint64_t offset) const {
    check_element("operator()", offset, false);
    return *at(offset);
  }
  OPWRIGHT_INLINE void SetValue(uint64_t offset, PrimType value) const {
    check_element("SetValue", offset, true);
    if constexpr (kIsNibble) {
      machine::write_nibble(address_, offset, static_cast<int8_t>(value));
    } else {
      *at(offset) = value;
    }
  }

  OPWRIGHT_INLINE uint64_t GetSize() const { return size_; }
  OPWRIGHT_INLINE GlobalTensor operator[](uint64_t offset) const {
    GlobalTensor result = *this;
    result.address_ = at(offset);
    result.size_ = size_ > offset ? size_ - offset : 0;
    return result;
  }
  template <class Other>
  OPWRIGHT_INLINE GlobalTensor<Other> ReinterpretCast() const {
    GlobalTensor<Other> result;
    result.address_ = reinterpret_cast<PrimT<Other>*>(address_);
    result.size_ = size_ * kBitsOf<PrimType> / kBitsOf<PrimT<Other>>;
    return result;
  }

  OPWRIGHT_INLINE void SetShapeInfo(const ShapeInfo& info) { shape_ = info; }
  OPWRIGHT_INLINE ShapeInfo GetShapeInfo() const { return shape_; }
  // Only speed depends on it.
  template <CacheRwMode mode = CacheRwMode::RW>
  OPWRIGHT_INLINE void SetL2CacheHint(CacheMode) {}

  // For the headers of this folder.
  OPWRIGHT_INLINE PrimType* data() const { return address_; }
  OPWRIGHT_INLINE TPosition position() const { return TPosition::GM; }

 private:
  template <class>
  friend class GlobalTensor;
  static constexpr bool kIsNibble = std::is_same_v<PrimType, int4b_t>;

  OPWRIGHT_INLINE PrimType* at(uint64_t offset) const {
    return reinterpret_cast<PrimType*>(reinterpret_cast<uint8_t*>(address_) +
                                       (kIsNibble ? offset / 2 : offset * sizeof(PrimType)));
  }
  OPWRIGHT_INLINE void check_element(const char* api, uint64_t offset, bool write) const {
    machine::check_global(api, "element", at(offset), sizeof(PrimType));
    machine::scalar_access(api, at(offset), sizeof(PrimType), write);
    if (__builtin_expect(write && machine::core().checks, false)) machine::note_cached_write(at(offset));
  }

  uint64_t size_ = 0;
  ShapeInfo shape_;
};

}  // namespace AscendC

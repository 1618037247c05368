// native/ascendc/kernel/core/list_tensor.h
// Lists of tensors as dynamic inputs and outputs pass them: in global memory stand the distance in bytes to the
// pointers; for each tensor its number of dimensions, its index and its sizes; then the pointers.
#pragma once

#include "core/global_tensor.h"

namespace AscendC {

template <class T>
class TensorDesc {
 public:
  OPWRIGHT_INLINE TensorDesc() = default;
  OPWRIGHT_INLINE void SetShapeAddr(uint64_t* address) { shape_ = address; }
  OPWRIGHT_INLINE uint64_t GetDim() { return dims_; }
  OPWRIGHT_INLINE uint64_t GetIndex() { return index_; }
  OPWRIGHT_INLINE uint64_t GetShape(uint32_t dim) { return shape_[dim]; }
  OPWRIGHT_INLINE T* GetDataPtr() { return data_; }
  OPWRIGHT_INLINE GlobalTensor<T> GetDataObj() {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(data_);
    return tensor;
  }

 private:
  friend class ListTensorDesc;
  uint64_t* shape_ = nullptr;
  uint64_t dims_ = 0;
  uint64_t index_ = 0;
  T* data_ = nullptr;
};

class ListTensorDesc {
 public:
  OPWRIGHT_INLINE ListTensorDesc() = default;
  OPWRIGHT_INLINE ListTensorDesc(__gm__ void* data, uint32_t length = ~0U, uint32_t shapeSize = ~0U) {
    Init(data, length, shapeSize);
  }
  OPWRIGHT_INLINE void Init(__gm__ void* data, uint32_t length = ~0U, uint32_t shapeSize = ~0U) {
    words_ = static_cast<const uint64_t*>(machine::host_address(data));
    machine::check_global("ListTensorDesc", "data", words_, sizeof(uint64_t));
    if (words_[0] > length) {
      machine::refuse("ListTensorDesc", "the pointers begin at byte ", words_[0], " of ", length);
    }
    if (shapeSize != ~0U && shapeSize != GetSize()) {
      machine::refuse("ListTensorDesc", shapeSize, " tensors are expected, the list has ", GetSize());
    }
  }

  template <class T>
  OPWRIGHT_INLINE void GetDesc(TensorDesc<T>& desc, uint32_t index) {
    const uint64_t* const entry = entry_of(index);
    desc.dims_ = dims_of(entry);
    desc.index_ = entry[0] >> 32;
    desc.data_ = GetDataPtr<T>(index);
    if (desc.shape_ == nullptr) machine::refuse("GetDesc", "call SetShapeAddr first: the sizes need a place");
    for (uint64_t i = 0; i < desc.dims_; ++i) desc.shape_[i] = entry[1 + i];
  }
  template <class T>
  OPWRIGHT_INLINE T* GetDataPtr(uint32_t index) {
    const uint64_t* const pointer = words_ + words_[0] / sizeof(uint64_t) + index;
    machine::check_global("GetDataPtr", "data", pointer, sizeof(uint64_t));
    return machine::host_address(reinterpret_cast<T*>(*pointer));
  }
  // The descriptions lie between the distance and the pointers.
  OPWRIGHT_INLINE uint32_t GetSize() {
    uint32_t count = 0;
    for (const uint64_t* entry = words_ + 1; entry < end(); entry += 1 + dims_of(entry)) ++count;
    return count;
  }

 private:
  static OPWRIGHT_INLINE uint64_t dims_of(const uint64_t* entry) { return entry[0] & 0xFFFFFFFFu; }
  OPWRIGHT_INLINE const uint64_t* end() const { return words_ + words_[0] / sizeof(uint64_t); }
  OPWRIGHT_INLINE const uint64_t* entry_of(uint32_t index) const {
    const uint64_t* entry = words_ + 1;
    for (uint32_t i = 0; i < index && entry < end(); ++i) entry += 1 + dims_of(entry);
    if (entry >= end()) machine::refuse("ListTensorDesc", "there is no tensor ", index);
    return entry;
  }

  const uint64_t* words_ = nullptr;
};

}  // namespace AscendC

// exe_graph/runtime/continuous_vector.h
// Values that stand behind their count in one piece of memory: attributes that are lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "graph/types.h"

namespace gert {

class ContinuousVector {
 public:
  ContinuousVector(const ContinuousVector&) = delete;
  ContinuousVector& operator=(const ContinuousVector&) = delete;

  // Memory that begins with a vector for `capacity` values of T.
  template <class T>
  static std::unique_ptr<uint8_t[]> Create(size_t capacity, size_t& total_size) {
    total_size = sizeof(ContinuousVector) + capacity * sizeof(T);
    auto memory = std::make_unique<uint8_t[]>(total_size);
    new (memory.get()) ContinuousVector(capacity);
    return memory;
  }
  template <class T>
  static std::unique_ptr<uint8_t[]> Create(size_t capacity) {
    size_t total_size = 0;
    return Create<T>(capacity, total_size);
  }

  void Init(size_t capacity) {
    capacity_ = capacity;
    size_ = 0;
  }
  size_t GetSize() const { return size_; }
  size_t GetCapacity() const { return capacity_; }
  ge::graphStatus SetSize(size_t size) {
    if (size > capacity_) return ge::GRAPH_FAILED;
    size_ = size;
    return ge::GRAPH_SUCCESS;
  }
  const void* GetData() const { return this + 1; }
  void* MutableData() { return this + 1; }

 protected:
  explicit ContinuousVector(size_t capacity) : capacity_(capacity) {}

 private:
  size_t capacity_;
  size_t size_ = 0;
};

template <class T>
class TypedContinuousVector : public ContinuousVector {
 public:
  const T* GetData() const { return static_cast<const T*>(ContinuousVector::GetData()); }
  T* MutableData() { return static_cast<T*>(ContinuousVector::MutableData()); }
};

// A list of lists: offsets in bytes from its start stand behind the count, then the lists.
class ContinuousVectorVector {
 public:
  size_t GetSize() const { return size_; }
  const ContinuousVector* Get(size_t index) const {
    if (index >= size_) return nullptr;
    const auto* const offsets = reinterpret_cast<const size_t*>(this + 1);
    return reinterpret_cast<const ContinuousVector*>(reinterpret_cast<const uint8_t*>(this) + offsets[index]);
  }
  void Init(size_t size) { size_ = size; }

 private:
  size_t size_;
};

}  // namespace gert

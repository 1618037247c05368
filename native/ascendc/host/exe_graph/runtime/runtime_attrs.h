// exe_graph/runtime/runtime_attrs.h
// The values of an operator's attributes, in the order of its definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exe_graph/runtime/continuous_vector.h"

namespace gert {

class Tensor;

class RuntimeAttrs {
 public:
  RuntimeAttrs(const RuntimeAttrs&) = delete;
  RuntimeAttrs& operator=(const RuntimeAttrs&) = delete;

  size_t GetAttrNum() const { return values_.size(); }
  // Null for an index that the operator does not have.
  template <class T>
  const T* GetAttrPointer(size_t index) const {
    return reinterpret_cast<const T*>(pointer(index));
  }
  const int64_t* GetInt(size_t index) const { return GetAttrPointer<int64_t>(index); }
  const float* GetFloat(size_t index) const { return GetAttrPointer<float>(index); }
  const bool* GetBool(size_t index) const { return GetAttrPointer<bool>(index); }
  const char* GetStr(size_t index) const { return GetAttrPointer<char>(index); }
  const Tensor* GetTensor(size_t index) const { return GetAttrPointer<Tensor>(index); }
  const TypedContinuousVector<int64_t>* GetListInt(size_t index) const {
    return GetAttrPointer<TypedContinuousVector<int64_t>>(index);
  }
  const TypedContinuousVector<float>* GetListFloat(size_t index) const {
    return GetAttrPointer<TypedContinuousVector<float>>(index);
  }
  const ContinuousVectorVector* GetListListInt(size_t index) const {
    return GetAttrPointer<ContinuousVectorVector>(index);
  }
  const ContinuousVectorVector* GetListListFloat(size_t index) const {
    return GetAttrPointer<ContinuousVectorVector>(index);
  }

  // For the package that calls the operator: the bytes of one value, as the readers above see them.
  RuntimeAttrs() = default;
  void add(const void* bytes, size_t count) {
    values_.emplace_back((count + sizeof(uint64_t) - 1) / sizeof(uint64_t) + 1);
    const auto* const from = static_cast<const uint8_t*>(bytes);
    auto* const to = reinterpret_cast<uint8_t*>(values_.back().data());
    for (size_t i = 0; i < count; ++i) to[i] = from[i];
  }

 private:
  const void* pointer(size_t index) const { return index < values_.size() ? values_[index].data() : nullptr; }

  std::vector<std::vector<uint64_t>> values_;  // words, so that each value is aligned
};

}  // namespace gert

// exe_graph/runtime/tensor.h
// A tensor with shape, format, dtype and data.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "exe_graph/runtime/storage_format.h"
#include "exe_graph/runtime/storage_shape.h"
#include "exe_graph/runtime/tensor_data.h"

namespace gert {

enum class TensorVersion { kTensorV1 = 0, kTensorV2 = 1 };

class Tensor {
 public:
  Tensor() = default;
  Tensor(const StorageShape& shape, const StorageFormat& format, ge::DataType type)
      : shape_(shape), format_(format), type_(type) {}
  Tensor(const StorageShape& shape, const StorageFormat& format, TensorPlacement placement, ge::DataType type,
         TensorAddress address)
      : Tensor(shape, format, placement, type, address, nullptr) {}
  Tensor(const StorageShape& shape, const StorageFormat& format, TensorPlacement placement, ge::DataType type,
         TensorAddress address, TensorAddrManager manager)
      : shape_(shape), format_(format), type_(type), data_(address, manager, 0, placement) {}

  int64_t GetShapeSize() const { return GetStorageShape().GetShapeSize(); }
  // Null where the data is not known to the host: only inputs on whose values infer or tiling depends have it.
  template <class T>
  const T* GetData() const {
    return static_cast<const T*>(GetAddr());
  }
  template <class T>
  auto GetData() -> T* {
    return static_cast<T*>(GetAddr());
  }
  const void* GetAddr() const { return data_.GetAddr(); }
  void* GetAddr() { return data_.GetAddr(); }
  size_t GetSize() const { return data_.GetSize(); }
  void SetSize(size_t size) { data_.SetSize(size); }
  void SetData(TensorData&& data) { data_ = std::move(data); }
  const TensorData& GetTensorData() const { return data_; }
  TensorData& MutableTensorData() { return data_; }

  ge::DataType GetDataType() const { return type_; }
  void SetDataType(ge::DataType type) { type_ = type; }
  const StorageShape& GetShape() const { return shape_; }
  StorageShape& GetShape() { return shape_; }
  const Shape& GetStorageShape() const { return shape_.GetStorageShape(); }
  Shape& MutableStorageShape() { return shape_.MutableStorageShape(); }
  const Shape& GetOriginShape() const { return shape_.GetOriginShape(); }
  Shape& MutableOriginShape() { return shape_.MutableOriginShape(); }
  const StorageFormat& GetFormat() const { return format_; }
  StorageFormat& MutableFormat() { return format_; }
  ge::Format GetStorageFormat() const { return format_.GetStorageFormat(); }
  void SetStorageFormat(ge::Format format) { format_.SetStorageFormat(format); }
  ge::Format GetOriginFormat() const { return format_.GetOriginFormat(); }
  void SetOriginFormat(ge::Format format) { format_.SetOriginFormat(format); }
  ExpandDimsType GetExpandDimsType() const { return format_.GetExpandDimsType(); }
  void SetExpandDimsType(const ExpandDimsType& expanded) { format_.SetExpandDimsType(expanded); }
  TensorPlacement GetPlacement() const { return data_.GetPlacement(); }
  void SetPlacement(TensorPlacement placement) { data_.SetPlacement(placement); }
  TensorVersion GetVersion() const { return TensorVersion::kTensorV1; }

 private:
  StorageShape shape_;
  StorageFormat format_;
  ge::DataType type_ = ge::DT_UNDEFINED;
  TensorData data_;
};

}  // namespace gert

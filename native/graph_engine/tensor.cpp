// native/graph_engine/tensor.cpp
// ge::Shape, ge::TensorDesc, ge::Tensor.
#include "ge/tensor.h"

#include <algorithm>
#include <utility>

#include "graph_engine/status.h"

using opwright::graph_engine::rejected;

namespace ge {

namespace {

constexpr int64_t kUnknownDim = -1;
constexpr int64_t kUnknownRank = -2;

using Dims = std::vector<int64_t>;

graphStatus set_dim(const char* function, Dims& dims, size_t index, int64_t value) {
  if (index >= dims.size()) {
    return rejected(function, "dimension ", index, " does not exist; there are ", dims.size());
  }
  dims[index] = value;
  return GRAPH_SUCCESS;
}

int64_t get_dim(const Dims& dims, size_t index) { return index < dims.size() ? dims[index] : 0; }

size_t rank_of(const Dims& dims) { return dims == Dims{kUnknownRank} ? 0 : dims.size(); }

}  // namespace

class ShapeImpl {
 public:
  Dims dims;
};

class TensorDescImpl {
 public:
  Dims dims;
  Dims origin_dims;
  Format format = FORMAT_ND;
  Format origin_format = FORMAT_ND;
  DataType type = DT_FLOAT;
  Placement placement = kPlacementHost;
};

class TensorImpl {
 public:
  TensorDescImpl desc;
  std::unique_ptr<uint8_t[], Tensor::DeleteFunc> data;
  size_t size = 0;
};

Shape::Shape() : impl_(std::make_shared<ShapeImpl>()) {}

Shape::Shape(const Dims& dims) : Shape() { impl_->dims = dims; }

size_t Shape::GetDimNum() const { return rank_of(impl_->dims); }

int64_t Shape::GetDim(size_t index) const { return get_dim(impl_->dims, index); }

graphStatus Shape::SetDim(size_t index, int64_t value) {
  return set_dim("ge::Shape::SetDim", impl_->dims, index, value);
}

Dims Shape::GetDims() const { return impl_->dims; }

int64_t Shape::GetShapeSize() const {
  const Dims& dims = impl_->dims;
  if (dims.empty()) return 0;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) return kUnknownDim;
  int64_t size = 1;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(size, dim, &size)) return 0;
  }
  return size;
}

TensorDesc::TensorDesc() : impl_(std::make_shared<TensorDescImpl>()) {}

TensorDesc::TensorDesc(Shape shape, Format format, DataType type) : TensorDesc() {
  impl_->dims = shape.GetDims();
  impl_->format = format;
  impl_->type = type;
}

TensorDesc::TensorDesc(const TensorDesc& other) : impl_(std::make_shared<TensorDescImpl>(*other.impl_)) {}

// The source stays usable: it gets the description that the target had.
TensorDesc::TensorDesc(TensorDesc&& other) : TensorDesc() { std::swap(impl_, other.impl_); }

TensorDesc& TensorDesc::operator=(const TensorDesc& other) {
  *impl_ = *other.impl_;
  return *this;
}

TensorDesc& TensorDesc::operator=(TensorDesc&& other) {
  std::swap(impl_, other.impl_);
  return *this;
}

Shape TensorDesc::GetShape() const { return Shape(impl_->dims); }
void TensorDesc::SetShape(const Shape& shape) { impl_->dims = shape.GetDims(); }
Shape TensorDesc::GetOriginShape() const { return Shape(impl_->origin_dims); }
void TensorDesc::SetOriginShape(const Shape& shape) { impl_->origin_dims = shape.GetDims(); }
Format TensorDesc::GetFormat() const { return impl_->format; }
void TensorDesc::SetFormat(Format format) { impl_->format = format; }
Format TensorDesc::GetOriginFormat() const { return impl_->origin_format; }
void TensorDesc::SetOriginFormat(Format format) { impl_->origin_format = format; }
DataType TensorDesc::GetDataType() const { return impl_->type; }
void TensorDesc::SetDataType(DataType type) { impl_->type = type; }
Placement TensorDesc::GetPlacement() const { return impl_->placement; }
void TensorDesc::SetPlacement(Placement placement) { impl_->placement = placement; }

Tensor::Tensor() : impl_(std::make_shared<TensorImpl>()) {}

Tensor::Tensor(const TensorDesc& desc) : Tensor() { impl_->desc = *desc.impl_; }

Tensor::Tensor(const TensorDesc& desc, const uint8_t* data, size_t size) : Tensor(desc) { SetData(data, size); }

TensorDesc Tensor::GetTensorDesc() const {
  TensorDesc desc;
  *desc.impl_ = impl_->desc;
  return desc;
}

graphStatus Tensor::SetTensorDesc(const TensorDesc& desc) {
  impl_->desc = *desc.impl_;
  return GRAPH_SUCCESS;
}

const uint8_t* Tensor::GetData() const { return impl_->data.get(); }
uint8_t* Tensor::GetData() { return impl_->data.get(); }
size_t Tensor::GetSize() const { return impl_->size; }

graphStatus Tensor::SetData(const uint8_t* data, size_t size) {
  if (data == nullptr && size != 0) return rejected("ge::Tensor::SetData", "'data' is null with size ", size);
  auto copy = std::make_unique<uint8_t[]>(size);
  std::copy_n(data, size, copy.get());
  return ResetData(copy.release(), size, std::default_delete<uint8_t[]>());
}

graphStatus Tensor::SetData(uint8_t* data, size_t size, const DeleteFunc& deleter) {
  return ResetData(data, size, deleter);
}

graphStatus Tensor::ResetData(uint8_t* data, size_t size, const DeleteFunc& deleter) {
  if (deleter == nullptr) return rejected("ge::Tensor::ResetData", "the deleter is empty; pass one that does nothing");
  impl_->data = {data, deleter};
  impl_->size = size;
  return GRAPH_SUCCESS;
}

std::unique_ptr<uint8_t[], Tensor::DeleteFunc> Tensor::ResetData() {
  impl_->size = 0;
  return std::move(impl_->data);
}

graphStatus Tensor::SetShapeDimNum(size_t count) {
  impl_->desc.dims.resize(count, kUnknownDim);
  return GRAPH_SUCCESS;
}

size_t Tensor::GetShapeDimNum() const { return rank_of(impl_->desc.dims); }

graphStatus Tensor::SetShapeDim(size_t index, int64_t value) {
  return set_dim("ge::Tensor::SetShapeDim", impl_->desc.dims, index, value);
}

int64_t Tensor::GetShapeDim(size_t index) const { return get_dim(impl_->desc.dims, index); }

graphStatus Tensor::SetOriginShapeDimNum(size_t count) {
  impl_->desc.origin_dims.resize(count, kUnknownDim);
  return GRAPH_SUCCESS;
}

size_t Tensor::GetOriginShapeDimNum() const { return rank_of(impl_->desc.origin_dims); }

graphStatus Tensor::SetOriginShapeDim(size_t index, int64_t value) {
  return set_dim("ge::Tensor::SetOriginShapeDim", impl_->desc.origin_dims, index, value);
}

int64_t Tensor::GetOriginShapeDim(size_t index) const { return get_dim(impl_->desc.origin_dims, index); }

graphStatus Tensor::SetFormat(const Format& format) {
  impl_->desc.format = format;
  return GRAPH_SUCCESS;
}

Format Tensor::GetFormat() const { return impl_->desc.format; }

graphStatus Tensor::SetOriginFormat(const Format& format) {
  impl_->desc.origin_format = format;
  return GRAPH_SUCCESS;
}

Format Tensor::GetOriginFormat() const { return impl_->desc.origin_format; }

graphStatus Tensor::SetDataType(const DataType& type) {
  impl_->desc.type = type;
  return GRAPH_SUCCESS;
}

DataType Tensor::GetDataType() const { return impl_->desc.type; }

graphStatus Tensor::SetPlacement(const Placement& placement) {
  impl_->desc.placement = placement;
  return GRAPH_SUCCESS;
}

Placement Tensor::GetPlacement() const { return impl_->desc.placement; }

}  // namespace ge

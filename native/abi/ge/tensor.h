// native/abi/ge/tensor.h
// Shapes, tensor descriptions and tensors of the graph engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ge/ascend_string.h"
#include "ge/types.h"

#pragma GCC visibility push(default)
namespace ge {

class ShapeImpl;
class TensorDescImpl;
class TensorImpl;

// Copies share one implementation, as in CANN.
class Shape {
 public:
  Shape();
  explicit Shape(const std::vector<int64_t>& dims);
  ~Shape() = default;

  size_t GetDimNum() const;            // 0 for unknown rank (dims = {-2})
  int64_t GetDim(size_t index) const;  // 0 out of range
  graphStatus SetDim(size_t index, int64_t value);
  std::vector<int64_t> GetDims() const;
  // Product of the dims; -1 if one is unknown, 0 for a scalar and on overflow.
  int64_t GetShapeSize() const;

 private:
  std::shared_ptr<ShapeImpl> impl_;
};

// Copies are independent.
class TensorDesc {
 public:
  TensorDesc();
  explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType type = DT_FLOAT);
  TensorDesc(const TensorDesc& other);
  TensorDesc(TensorDesc&& other);
  TensorDesc& operator=(const TensorDesc& other);
  TensorDesc& operator=(TensorDesc&& other);
  ~TensorDesc() = default;

  Shape GetShape() const;
  void SetShape(const Shape& shape);
  Shape GetOriginShape() const;
  void SetOriginShape(const Shape& shape);
  Format GetFormat() const;
  void SetFormat(Format format);
  Format GetOriginFormat() const;
  void SetOriginFormat(Format format);
  DataType GetDataType() const;
  void SetDataType(DataType type);
  Placement GetPlacement() const;
  void SetPlacement(Placement placement);

 private:
  friend class Tensor;
  std::shared_ptr<TensorDescImpl> impl_;
};

// A description and memory. Copies share both, as in CANN.
class Tensor {
 public:
  using DeleteFunc = std::function<void(uint8_t*)>;

  Tensor();
  explicit Tensor(const TensorDesc& desc);
  Tensor(const TensorDesc& desc, const uint8_t* data, size_t size);
  ~Tensor() = default;

  TensorDesc GetTensorDesc() const;
  graphStatus SetTensorDesc(const TensorDesc& desc);

  const uint8_t* GetData() const;
  uint8_t* GetData();
  size_t GetSize() const;
  // Copies the bytes.
  graphStatus SetData(const uint8_t* data, size_t size);
  // Takes memory over; the deleter runs when the last tensor that uses it goes.
  graphStatus SetData(uint8_t* data, size_t size, const DeleteFunc& deleter);
  graphStatus ResetData(uint8_t* data, size_t size, const DeleteFunc& deleter);
  // Gives the memory up to the caller.
  std::unique_ptr<uint8_t[], DeleteFunc> ResetData();

  graphStatus SetShapeDimNum(size_t count);
  size_t GetShapeDimNum() const;
  graphStatus SetShapeDim(size_t index, int64_t value);
  int64_t GetShapeDim(size_t index) const;
  graphStatus SetOriginShapeDimNum(size_t count);
  size_t GetOriginShapeDimNum() const;
  graphStatus SetOriginShapeDim(size_t index, int64_t value);
  int64_t GetOriginShapeDim(size_t index) const;
  graphStatus SetFormat(const Format& format);
  Format GetFormat() const;
  graphStatus SetOriginFormat(const Format& format);
  Format GetOriginFormat() const;
  graphStatus SetDataType(const DataType& type);
  DataType GetDataType() const;
  graphStatus SetPlacement(const Placement& placement);
  Placement GetPlacement() const;

 private:
  std::shared_ptr<TensorImpl> impl_;
};

static_assert(sizeof(Shape) == 16 && sizeof(TensorDesc) == 16 && sizeof(Tensor) == 16);

}  // namespace ge
#pragma GCC visibility pop

// network/Network.h: a network is built layer by layer; each layer infers shapes and types when it is added.
#ifndef ASCENDIE_NETWORK_NETWORK_H
#define ASCENDIE_NETWORK_NETWORK_H

#include <cstddef>
#include <memory>
#include <vector>

#include "common/Common.h"
#include "common/Dims.h"
#include "common/NoCopy.h"
#include "network/Attributes.h"
#include "network/Tensor.h"
#include "network/layers/Layers.h"

namespace AscendIE {

struct NetworkImpl;

class ASCENDIE_API Network : NoCopy {
 public:
  Network();
  ~Network();

  /// A dimension of -1 is known at run time only.
  Tensor* AddInput(const char* name, DataType type, const Dims& dims) noexcept;
  /// Several shapes: one profile with a range, or gears, as many for each input: all inputs fit the same one. Layers
  /// are inferred with samples of the shapes, as many for each input; without samples, with those that the profiles
  /// name.
  Tensor* AddInput(const char* name, DataType type, const std::vector<DimsRange>& profiles,
                   const std::vector<Dims>& samples) noexcept;
  /// Names of inputs and outputs differ; one tensor may be both, or several outputs.
  void SetAsOutput(Tensor* tensor) noexcept;
  size_t GetInputNum() const noexcept;
  size_t GetOutputNum() const noexcept;
  Tensor* GetInput(size_t index) const noexcept;
  Tensor* GetOutput(size_t index) const noexcept;

  /// Errors of calls, of layers in their order, and of the last BuildModel. An error names the layer's kind, and its
  /// name if SetName gave one.
  size_t GetErrorsNum() const noexcept;
  const char* GetErrorByIndex(size_t index) const noexcept;

  ConstantLayer* AddConstant(const Dims& dims, const WeightsBuf& values) noexcept;
  ActivationLayer* AddActivation(Tensor* input, ActivationKind kind) noexcept;
  CastLayer* AddCast(Tensor* input, DataType type) noexcept;
  ClipLayer* AddClip(Tensor* input, float low, float high) noexcept;
  ConcatenationLayer* AddConcatenation(Tensor* const* inputs, int32_t count) noexcept;
  ConvolutionLayer* AddConvolution(Tensor* input, int32_t outMaps, const Dims& kernel, const WeightsBuf& weights,
                                   const WeightsBuf& bias) noexcept;
  CumsumLayer* AddCumsum(Tensor* input, int64_t axis) noexcept;
  ElementWiseLayer* AddElementWise(Tensor* a, Tensor* b, ElementWiseOperation operation) noexcept;
  FillLayer* AddFill(const Dims& dims, FillOperation operation = FillOperation::LINSPACE) noexcept;
  GatherLayer* AddGather(Tensor* data, Tensor* indices, int64_t axis,
                         GatherOperation mode = GatherOperation::DEFAULT) noexcept;
  MatrixMultiplyLayer* AddMatrixMultiply(Tensor* a, MatrixOperation aOperation, Tensor* b,
                                         MatrixOperation bOperation) noexcept;
  /// Normalizes over the axes whose bits are set: (x - mean) / sqrt(variance + epsilon) * scale + bias. Without scale
  /// or bias: null.
  NormalizationLayer* AddNormalization(Tensor* input, Tensor* scale, Tensor* bias, uint32_t axes) noexcept;
  PoolingLayer* AddPooling(Tensor* input, PoolingKind kind, const Dims& window, const Dims& out = Dims()) noexcept;
  QuantizeLayer* AddQuantize(Tensor* input, double scale) noexcept;
  ReduceLayer* AddReduce(Tensor* input, ReduceOperation operation, const std::vector<int64_t>& axes,
                         bool keepDims) noexcept;
  /// x * scale + shift; empty values leave their part out.
  ScaleLayer* AddScaleNd(Tensor* input, ScaleMode mode, const WeightsBuf& shift, const WeightsBuf& scale,
                         int32_t channelAxis) noexcept;
  ScatterLayer* AddScatter(Tensor* data, Tensor* indices, Tensor* updates, ScatterMode mode) noexcept;
  SelectLayer* AddSelect(Tensor* condition, Tensor* a, Tensor* b) noexcept;
  ShapeLayer* AddShape(Tensor* input) noexcept;
  ShuffleLayer* AddShuffle(Tensor* input) noexcept;
  SliceLayer* AddSlice(Tensor* input, const Dims& start, const Dims& size, const Dims& stride) noexcept;
  SoftMaxLayer* AddSoftMax(Tensor* input) noexcept;
  /// The bit of one axis is set.
  TopKLayer* AddTopK(Tensor* input, TopKOperation operation, int64_t k, int64_t axes) noexcept;
  UnaryLayer* AddUnary(Tensor* input, UnaryOperation operation) noexcept;

  /// Any operation of the engine, by its name in the tables of src/operations: converters whose operator the vendor's
  /// API has no layer for are a row there and this call.
  OperationLayer* AddOperation(const char* operation, const std::vector<Tensor*>& inputs,
                               Attributes attributes = {}) noexcept;

  // The names of CANN 7.0.0.
  ConstantLayer* AddConstantLayer(const Dims& dims, const WeightsBuf& values) noexcept {
    return AddConstant(dims, values);
  }
  ActivationLayer* AddActivationLayer(Tensor* input, ActivationKind kind) noexcept {
    return AddActivation(input, kind);
  }
  ClipLayer* AddClipLayer(Tensor* input, float low, float high) noexcept { return AddClip(input, low, high); }
  ConvolutionLayer* AddConvolutionLayer(Tensor* input, int32_t outMaps, const Dims& kernel, const WeightsBuf& weights,
                                        const WeightsBuf& bias) noexcept {
    return AddConvolution(input, outMaps, kernel, weights, bias);
  }
  ElementWiseLayer* AddElementWiseLayer(Tensor* a, Tensor* b, ElementWiseOperation operation) noexcept {
    return AddElementWise(a, b, operation);
  }
  MatrixMultiplyLayer* AddMatrixMultiplyLayer(Tensor* a, MatrixOperation aOperation, Tensor* b,
                                              MatrixOperation bOperation) noexcept {
    return AddMatrixMultiply(a, aOperation, b, bOperation);
  }
  PoolingLayer* AddPoolingLayer(Tensor* input, PoolingKind kind, const Dims& window,
                                const Dims& out = Dims()) noexcept {
    return AddPooling(input, kind, window, out);
  }
  ReduceLayer* AddReduceLayer(Tensor* input, ReduceOperation operation, const std::vector<int64_t>& axes,
                              bool keepDims) noexcept {
    return AddReduce(input, operation, axes, keepDims);
  }
  ShapeLayer* AddShapeLayer(Tensor* input) noexcept { return AddShape(input); }
  ShuffleLayer* AddShuffleLayer(Tensor* input) noexcept { return AddShuffle(input); }

 private:
  friend struct NetworkImpl;
  std::shared_ptr<NetworkImpl> impl_;
};

}  // namespace AscendIE
#endif

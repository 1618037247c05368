// network/Network.h: a network is built layer by layer; each layer infers shapes and types when it is added.
#ifndef ASCENDIE_NETWORK_NETWORK_H
#define ASCENDIE_NETWORK_NETWORK_H

#include <cstddef>
#include <memory>
#include <vector>

#include "common/Common.h"
#include "common/Dims.h"
#include "common/NoCopy.h"
#include "network/Tensor.h"
#include "network/layers/Layers.h"

namespace AscendIE {

struct NetworkImpl;

class ASCENDIE_API Network : NoCopy {
 public:
  Network();
  ~Network();

  Tensor* AddInput(const char* name, DataType type, const Dims& dims) noexcept;
  void SetAsOutput(Tensor* tensor) noexcept;
  size_t GetInputNum() const noexcept;
  size_t GetOutputNum() const noexcept;
  Tensor* GetInput(size_t index) const noexcept;
  Tensor* GetOutput(size_t index) const noexcept;

  /// Errors of layers and calls, in the order of the layers.
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
  GatherLayer* AddGather(Tensor* data, Tensor* indices, int64_t axis) noexcept;
  MatrixMultiplyLayer* AddMatrixMultiply(Tensor* a, MatrixOperation aOperation, Tensor* b,
                                         MatrixOperation bOperation) noexcept;
  PoolingLayer* AddPooling(Tensor* input, PoolingKind kind, const Dims& window, const Dims& out = Dims()) noexcept;
  QuantizeLayer* AddQuantize(Tensor* input, double scale) noexcept;
  ReduceLayer* AddReduce(Tensor* input, ReduceOperation operation, const std::vector<int64_t>& axes,
                         bool keepDims) noexcept;
  SelectLayer* AddSelect(Tensor* condition, Tensor* a, Tensor* b) noexcept;
  ShapeLayer* AddShape(Tensor* input) noexcept;
  ShuffleLayer* AddShuffle(Tensor* input) noexcept;
  SoftMaxLayer* AddSoftMax(Tensor* input) noexcept;
  UnaryLayer* AddUnary(Tensor* input, UnaryOperation operation) noexcept;

  // The names of CANN 7.0.0.
  ConstantLayer* AddConstantLayer(const Dims& dims, const WeightsBuf& values) noexcept {
    return AddConstant(dims, values);
  }
  ActivationLayer* AddActivationLayer(Tensor* input, ActivationKind kind) noexcept {
    return AddActivation(input, kind);
  }
  ConvolutionLayer* AddConvolutionLayer(Tensor* input, int32_t outMaps, const Dims& kernel, const WeightsBuf& weights,
                                        const WeightsBuf& bias) noexcept {
    return AddConvolution(input, outMaps, kernel, weights, bias);
  }

 private:
  friend struct NetworkImpl;
  std::shared_ptr<NetworkImpl> impl_;
};

}  // namespace AscendIE
#endif

// network/layers/Layers.h: the layers, each with the attributes that can be set after it was added.
#ifndef ASCENDIE_NETWORK_LAYERS_LAYERS_H
#define ASCENDIE_NETWORK_LAYERS_LAYERS_H

#include "network/layers/BaseLayer.h"

namespace AscendIE {

/// A layer without attributes of its own.
class CumsumLayer : public BaseLayer {
  using BaseLayer::BaseLayer;
};
class ClipLayer : public BaseLayer {
  using BaseLayer::BaseLayer;
};
class ConstantLayer : public BaseLayer {
  using BaseLayer::BaseLayer;
};
class ElementWiseLayer : public BaseLayer {
  using BaseLayer::BaseLayer;
};
class MatrixMultiplyLayer : public BaseLayer {
  using BaseLayer::BaseLayer;
};
class ReduceLayer : public BaseLayer {
  using BaseLayer::BaseLayer;
};
class SelectLayer : public BaseLayer {
  using BaseLayer::BaseLayer;
};
class ScaleLayer : public BaseLayer {
  using BaseLayer::BaseLayer;
};
/// Two outputs: values and their indices (INT32).
class TopKLayer : public BaseLayer {
  using BaseLayer::BaseLayer;
};
class UnaryLayer : public BaseLayer {
  using BaseLayer::BaseLayer;
};

/// An operation of the engine that the vendor's API has no function for, with its attributes by their names.
class OperationLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  using BaseLayer::Set;
  using BaseLayer::SetList;
  using BaseLayer::SetReal;
};

class CastLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetToType(DataType type) noexcept { Set("type", static_cast<int64_t>(type)); }
};

class ShapeLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetOutputType(DataType type) noexcept { Set("type", static_cast<int64_t>(type)); }
};

class ActivationLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetAlpha(float value) noexcept { SetReal("alpha", value); }
  void SetBeta(float value) noexcept { SetReal("beta", value); }
  void SetScale(float value) noexcept { SetReal("scale", value); }
  void SetInputScale(float value) noexcept { SetReal("input_scale", value); }
  void SetThreshold(float value) noexcept { SetReal("threshold", value); }
};

class ConcatenationLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetAxis(int64_t axis) noexcept { Set("axis", axis); }
};

class ConvolutionLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetStrides(const Dims& strides) noexcept { SetList("strides", strides); }
  void SetPaddings(const Dims& paddings) noexcept { SetList("paddings", paddings); }
  void SetDilations(const Dims& dilations) noexcept { SetList("dilations", dilations); }
  void SetGroupNum(int64_t groups) noexcept { Set("groups", groups); }
};

class FillLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetDimensions(const Dims& dims) noexcept { SetList("dims", dims); }
  /// Of LINSPACE: the first value, and the step along each axis.
  void SetAlpha(double start) noexcept { SetReal("alpha", start); }
  void SetBeta(double step) noexcept { SetReal("beta", step); }
  void SetOutputType(DataType type) noexcept { Set("type", static_cast<int64_t>(type)); }
};

class GatherLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetGatherAxis(int64_t axis) noexcept { Set("axis", axis); }
  void SetMode(GatherOperation mode) noexcept { Set("mode", static_cast<int64_t>(mode)); }
};

class NormalizationLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetEpsilon(float epsilon) noexcept { SetReal("epsilon", epsilon); }
};

class PoolingLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetStride(const Dims& stride) noexcept { SetList("stride", stride); }
  void SetPadding(const Dims& padding) noexcept { SetList("padding", padding); }
  void SetPaddingMode(PaddingMode mode) noexcept { Set("padding_mode", static_cast<int64_t>(mode)); }
  void SetAverageCountExcludesPadding(bool excludes) noexcept { Set("excludes_padding", excludes); }
};

class QuantizeLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetOffset(double offset) noexcept { SetReal("offset", offset); }
};

class ScatterLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetAxis(int64_t axis) noexcept { Set("axis", axis); }
};

/// SetInput(1), (2) and (3) give start, size and stride as tensors.
class SliceLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetStart(const Dims& start) noexcept { SetList("start", start); }
  void SetSize(const Dims& size) noexcept { SetList("size", size); }
  void SetStride(const Dims& stride) noexcept { SetList("stride", stride); }
};

/// SetInput(1) gives the dimensions as a tensor.
class ShuffleLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  void SetFirstTranspose(const PermutationConf& order) noexcept {
    SetList("first_transpose", Dims(static_cast<int32_t>(order.rank), order.order));
  }
  void SetReshapeDimensions(const Dims& dims) noexcept { SetList("reshape", dims); }
  void SetSecondTranspose(const PermutationConf& order) noexcept {
    SetList("second_transpose", Dims(static_cast<int32_t>(order.rank), order.order));
  }
};

class SoftMaxLayer : public BaseLayer {
 public:
  using BaseLayer::BaseLayer;
  /// One bit for the axis.
  void SetAxes(uint32_t mask) noexcept { Set("axes", mask); }
};

}  // namespace AscendIE
#endif

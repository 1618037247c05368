// core/conversion/converters/Weights.h: a tensor's values as layers take them.
#pragma once

#include <ATen/core/TensorBody.h>

#include "common/Common.h"
#include "common/Dims.h"

namespace torch_aie::core::conversion {
struct ConversionCtx;
}

namespace torch_aie::core::conversion::converters {

/// `data` points into the tensor that this object holds: it lives while a layer is added.
struct ASCENDIE_API Weights {
  Weights() = default;
  Weights(ConversionCtx* ctx, const at::Tensor& tensor);

  AscendIE::WeightsBuf data;
  AscendIE::Dims shape;

 private:
  at::Tensor tensor_;
};

}  // namespace torch_aie::core::conversion::converters

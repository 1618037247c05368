// native/opapi/ops/matmul/quant_matmul.h
// The product of quantized matrices. A scale with one value for each row, each column or all of the product multiplies
// the sums; a scale that changes along the summed dimension multiplies the operand before.
#pragma once

#include "opapi/ops/common/deq_scale.h"
#include "opapi/ops/common/microscaling.h"

namespace opwright::opapi {

struct QuantMatmul {
  at::Tensor x1, x2;  // [..., m, k] and [..., k, n] unless transposed; int32: eight 4-bit integers
  OptionalTensor x1_scale = {}, x2_scale = {}, y_scale = {}, x2_offset = {}, y_offset = {}, bias = {};
  bool transpose1 = false, transpose2 = false;
  int64_t group_size = 0;  // 16 bits each for k, n, m; 0: 128 for blocks
};

// The product in float64, or float32 for operands of floats. `unscaled`: the sums with an integer bias alone.
OPWRIGHT_API at::Tensor quant_product(const QuantMatmul& call, bool unscaled);

// x [..., k] times a quantized weight [k, n], which is brought to the dtype of x first; in float32. `group`: rows of
// the weight for each row of scales and offsets, 0 if they are one value or one for each column.
OPWRIGHT_API at::Tensor weight_quant_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                                             const OptionalTensor& offset, const OptionalTensor& bias, int64_t group);

// Operands that go with a float x that is quantized on the way: by rows, or with the scale that is given.
struct DequantOperands {
  OptionalTensor bias, x_scale, x_offset, smooth;
  std::string mode;  // "pertoken" or "pertensor"
  bool transposed;   // weight [n, k]
};
OPWRIGHT_API at::Tensor quantized_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& weight_scale,
                                          const DequantOperands& operands);

// Writes a product to an output of any dtype; halves of eight-bit integers go to even numbers.
OPWRIGHT_API void store_product(Coded& out, const at::Tensor& product);

}  // namespace opwright::opapi

// operations/convolutions.h: what a step "Convolution" computes.
//
// Inputs: x, the weight (its elements in any shape), perhaps a bias, perhaps a residual that has the result's shape.
// Attributes: "maps", "kernel", "strides", "paddings", "dilations", "groups"; of transposed convolutions "transposed",
// "output_paddings"; of those that passes made, "residual", and "then", "then_a", "then_b": a row of kThen.
#pragma once

#include <array>

#include "operation.h"

namespace AscendIE {

struct Convolution {
  explicit Convolution(const Attributes& attributes, size_t inputs);

  std::vector<int64_t> kernel, strides, paddings, dilations, output_paddings;
  int64_t maps = 0;
  int64_t groups = 1;
  bool transposed = false;
  size_t bias = 0, residual = 0;  // numbers of inputs; 0: there is none
  std::string then;               // empty: nothing
  double a = 0, b = 0;

  std::vector<int64_t> weight_shape(int64_t channels) const;
  at::Tensor run(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias_values) const;
  /// The sum with the residual if it is defined, then the function.
  at::Tensor finish(at::Tensor result, const at::Tensor& residual_values) const;
};

/// Functions that can follow a convolution, by their names in oneDNN's interface of PyTorch.
struct Then {
  const char* name;
  size_t scalars;  // of a and b
  const char* algorithm;
  at::Tensor (*run)(const at::Tensor& x, double a, double b);
};

extern const std::array<Then, 10> kThen;
/// Throws c10::Error for a name that is not in the table.
const Then& then_of(std::string_view name);

}  // namespace AscendIE

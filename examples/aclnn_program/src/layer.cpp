// src/layer.cpp
// A layer of a neural network, relu(x @ weight + bias), by two aclnn functions, and by plain C++ to compare with.
#include <aclnnop/aclnn_addmm.h>
#include <aclnnop/aclnn_relu.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include "device.h"

namespace {

constexpr int64_t kRows = 4, kInner = 64, kColumns = 3;

std::vector<float> wave(int64_t count, float step) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = std::sin(step * static_cast<float>(i));
  return values;
}

std::vector<float> in_plain_cpp(const std::vector<float>& x, const std::vector<float>& weight,
                                const std::vector<float>& bias) {
  std::vector<float> result;
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      double sum = bias[column];
      for (int64_t i = 0; i < kInner; ++i) sum += double{x[row * kInner + i]} * weight[i * kColumns + column];
      result.push_back(static_cast<float>(std::max(sum, 0.0)));
    }
  }
  return result;
}

// `wrong` gives the weight a shape that does not fit.
std::vector<float> on_the_device(const std::vector<float>& x, const std::vector<float>& weight,
                                 const std::vector<float>& bias, bool wrong) {
  const Device device;
  const Tensor input({kRows, kInner}, x);
  const Tensor factor(wrong ? std::vector<int64_t>{kColumns, kInner} : std::vector<int64_t>{kInner, kColumns}, weight);
  const Tensor addend({kColumns}, bias);
  const Tensor output({kRows, kColumns}, std::vector<float>(kRows * kColumns));
  float one = 1;
  aclScalar* const alpha = aclCreateScalar(&one, ACL_FLOAT);
  RUN(device, aclnnAddmm, addend.get(), input.get(), factor.get(), alpha, alpha, output.get(), int8_t{0});
  RUN(device, aclnnInplaceRelu, output.get());
  aclDestroyScalar(alpha);
  return output.values(device);
}

}  // namespace

int main(int argc, char** argv) try {
  const bool wrong = argc > 1 && std::string_view(argv[1]) == "--wrong";
  const std::vector<float> x = wave(kRows * kInner, 0.37F), weight = wave(kInner * kColumns, 0.11F);
  const std::vector<float> bias = {0.5F, -0.25F, 1.0F};
  const std::vector<float> result = on_the_device(x, weight, bias, wrong), expected = in_plain_cpp(x, weight, bias);
  float difference = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    std::printf("row %d:", static_cast<int>(row));
    for (int64_t column = 0; column < kColumns; ++column) {
      const int64_t i = row * kColumns + column;
      std::printf(" %8.4f", double{result[i]});
      difference = std::max(difference, std::abs(result[i] - expected[i]));
    }
    std::printf("\n");
  }
  std::printf("largest difference from plain C++ %.1e\n", double{difference});
  return difference < 1e-4F ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "layer: %s\n", error.what());
  return 1;
}

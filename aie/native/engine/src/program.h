// program.h: a model as it is run and serialized: steps over numbered values.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "builder/BuilderConfig.h"
#include "network/Network.h"
#include "operation.h"

namespace AscendIE {

/// True if every size of the shape is known before a run: none is -1.
bool is_fixed(at::IntArrayRef shape);

/// Sizes from `min` to `max`, both included; -1: any.
struct ShapeRange {
  std::vector<int64_t> min;
  std::vector<int64_t> max;
};

/// An input or output as the caller sees it.
struct Binding {
  uint32_t value = 0;
  std::string name;
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> shape;        // -1: known at run time only
  std::vector<ShapeRange> profiles;  // of an input with a shape that is not fixed
};

/// The type of a value, as far as it is known before a run.
struct ValueType {
  at::ScalarType type = at::kFloat;  // as the network says; floating types are replaced by Program::compute
  std::vector<int64_t> shape;        // -1: known at run time only
};

/// Reads and writes the values of one run, by their numbers.
using Kernel = std::function<void(Tensors& values)>;

struct Step {
  const Operation* operation = nullptr;
  std::string name;
  Attributes attributes;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  std::vector<uint32_t> last_used = {};  // derived: values that no later step reads
  Kernel kernel = {};                    // derived: runs the step instead of `operation`
};

/// A constant in a layout that depends on the number of threads.
struct Packed {
  uint32_t value;
  std::function<at::Tensor(const at::Tensor& packed)> pack;  // for at::get_num_threads(), from any of the layouts
};

struct Program {
  BuilderFlag flag = BuilderFlag::FP32;
  uint32_t values = 0;
  std::vector<ValueType> types;  // of each value
  std::vector<Binding> inputs;
  std::vector<Binding> outputs;
  std::vector<std::pair<uint32_t, at::Tensor>> constants;
  std::vector<Step> steps;
  std::vector<uint32_t> swapped;  // derived: opaque constants that have their first two axes in the other order
  std::vector<Packed> packed;     // derived

  /// The type of all floating-point arithmetic.
  at::ScalarType compute() const;
  /// True if the value is one of `constants`.
  bool constant(uint32_t value) const;
};

/// Throws c10::Error for a network without outputs.
Program program_of(const Network& network, BuilderFlag flag);
/// Fills Step::last_used.
void find_last_uses(Program& program);

std::string serialize(const Program& program);
/// Throws c10::Error for text that is no model, is damaged or of another version.
Program deserialize(std::string_view text);

}  // namespace AscendIE

// validation.cpp: see validation.h.
#include "validation.h"

#include <ATen/core/TensorBody.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <limits>

namespace AscendIE {

namespace {

void expect_size(const std::vector<int64_t>& shape, at::ScalarType type, const char* what) {
  uint64_t bytes = c10::elementSize(type);
  bool fits = true;
  for (const int64_t size : shape) {
    TORCH_CHECK_VALUE(size >= -1, "model: ", what, " has shape ", at::IntArrayRef(shape));
    if (size > 0) fits &= !__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes);
  }
  fits &= bytes <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  TORCH_CHECK_VALUE(fits, "model: ", what, " has shape ", at::IntArrayRef(shape), ", which no memory holds");
}

void expect_range(const ShapeRange& range, const Binding& binding) {
  TORCH_CHECK_VALUE(range.min.size() == binding.shape.size() && range.max.size() == binding.shape.size(),
                    "model: a profile of '", binding.name, "' has another rank than ", at::IntArrayRef(binding.shape));
  for (size_t i = 0; i < range.min.size(); ++i) {
    const bool any = range.min[i] == -1 && range.max[i] == -1;
    TORCH_CHECK_VALUE(any || (range.min[i] >= 0 && range.min[i] <= range.max[i]), "model: a profile of '", binding.name,
                      "' has sizes from ", range.min[i], " to ", range.max[i]);
  }
}

class Validation {
 public:
  explicit Validation(const Program& program) : program_(program), made_(program.values) {}

  void run() {
    for (const ValueType& type : program_.types) expect_size(type.shape, type.type, "a value");
    for (const Binding& input : program_.inputs) {
      expect_binding(input);
      make(input.value);
    }
    expect_gears();
    for (const auto& [value, tensor] : program_.constants) make(value);
    for (const Step& step : program_.steps) visit(step);
    for (const Binding& output : program_.outputs) {
      expect_binding(output);
      read(output.value, output.name);
    }
  }

 private:
  void expect_number(uint32_t value) const {
    TORCH_CHECK_VALUE(value < program_.values, "model: value ", value, " of ", program_.values);
  }

  void make(uint32_t value) {
    expect_number(value);
    TORCH_CHECK_VALUE(!made_[value], "model: value ", value, " is made twice");
    made_[value] = true;
  }

  void read(uint32_t value, const std::string& reader) const {
    expect_number(value);
    TORCH_CHECK_VALUE(made_[value], "model: '", reader, "' reads value ", value, ", which nothing before it makes");
  }

  void visit(const Step& step) {
    TORCH_CHECK_VALUE(step.inputs.size() >= step.operation->inputs && !step.outputs.empty(), "model: '", step.name,
                      "' (", step.operation->name, ") has ", step.inputs.size(), " inputs and ", step.outputs.size(),
                      " outputs, allowed are at least ", step.operation->inputs, " and 1");
    for (const uint32_t value : step.inputs) read(value, step.name);
    for (const uint32_t value : step.outputs) make(value);
  }

  void expect_binding(const Binding& binding) const {
    expect_number(binding.value);
    TORCH_CHECK_VALUE(binding.shape == program_.types[binding.value].shape, "model: '", binding.name, "' has shape ",
                      at::IntArrayRef(binding.shape), ", its value ",
                      at::IntArrayRef(program_.types[binding.value].shape));
    for (const ShapeRange& range : binding.profiles) expect_range(range, binding);
  }

  /// As many profiles in all inputs that have some.
  void expect_gears() const {
    size_t gears = 0;
    for (const Binding& input : program_.inputs) {
      if (input.profiles.empty()) continue;
      TORCH_CHECK_VALUE(gears == 0 || gears == input.profiles.size(), "model: input '", input.name, "' has ",
                        input.profiles.size(), " profiles, others have ", gears);
      gears = input.profiles.size();
    }
  }

  const Program& program_;
  std::vector<bool> made_;
};

}  // namespace

void validate(const Program& program) {
  TORCH_CHECK_VALUE(program.flag == BuilderFlag::FP16 || program.flag == BuilderFlag::FP32 ||
                        program.flag == BuilderFlag::MIX_FP32_WITH_FP16 || program.flag == BuilderFlag::MIX_FP16,
                    "model: precision ", static_cast<int>(program.flag), " is unknown");
  TORCH_CHECK_VALUE(program.types.size() == program.values, "model: types of ", program.types.size(), " values of ",
                    program.values);
  Validation(program).run();
}

}  // namespace AscendIE

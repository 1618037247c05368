// operation.h: what a kind of layer computes. The same function runs it, and infers its shapes and types.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/Common.h"
#include "network/Attributes.h"

namespace AscendIE {

using Tensors = std::vector<at::Tensor>;

/// The operands and attributes of one run of a layer.
class Call {
 public:
  Call(const Tensors& operands, const Attributes& attributes, std::optional<at::ScalarType> compute)
      : operands_(operands), attributes_(attributes), compute_(compute) {}

  const at::Tensor& operator[](size_t i) const { return operands_.at(i); }
  const Tensors& operands() const { return operands_; }
  const Attributes& attributes() const { return attributes_; }
  bool has(std::string_view name) const { return attributes_.find(name) != attributes_.end(); }
  /// Integers and lists have the values of inputs in place of ValueOfInput.
  int64_t integer(std::string_view name, int64_t absent = 0) const;
  std::string text(std::string_view name) const;
  double real(std::string_view name, double absent = 0) const;
  /// An integer or a real number, as it was given; none if it is absent.
  std::optional<at::Scalar> scalar(std::string_view name) const;
  std::vector<int64_t> list(std::string_view name, std::vector<int64_t> absent = {}) const;
  Call with(const Tensors& operands) const { return {operands, attributes_, compute_}; }
  template <class Kind>
  Kind kind(std::string_view name) const {
    return static_cast<Kind>(integer(name));
  }
  /// The type of attribute `name`, floating types replaced by the one that the model computes in.
  at::ScalarType type(std::string_view name) const;

 private:
  int64_t resolved(int64_t value) const;

  const Tensors& operands_;
  const Attributes& attributes_;
  std::optional<at::ScalarType> compute_;
};

/// The precision of a kind of layer when the model computes in FP16 (passes/mix_precision.cpp).
enum class Precision {
  kLow,    // FP16
  kFull,   // PREF_FP16: FP32, the result loses too much otherwise (sums of many elements, exponentials, powers)
  kFloat,  // always FP32: the CPU has no FP16 kernel
};

struct Operation {
  const char* name;
  size_t inputs;  // at least
  Tensors (*run)(const Call&);
  Precision precision = Precision::kLow;
};

/// Null if there is none of that name.
const Operation* find_operation(std::string_view name);

/// Outputs of an operation for operands without values (device meta); throws what the operation throws.
Tensors infer(const Operation& operation, const Call& call);

/// Throws c10::Error for a type that tensors cannot have.
at::ScalarType scalar_type(DataType type);
DataType data_type(at::ScalarType type) noexcept;

}  // namespace AscendIE

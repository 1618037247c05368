// operation.cpp: access to attributes, types, inference.
#include "operation.h"

#include <ATen/ops/zeros.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <array>
#include <utility>

namespace AscendIE {

namespace {

constexpr std::array<std::pair<DataType, at::ScalarType>, 12> kTypes{{
    {DataType::FLOAT, at::kFloat},
    {DataType::FLOAT16, at::kHalf},
    {DataType::INT8, at::kChar},
    {DataType::INT32, at::kInt},
    {DataType::UINT8, at::kByte},
    {DataType::INT16, at::kShort},
    {DataType::UINT16, at::kUInt16},
    {DataType::UINT32, at::kUInt32},
    {DataType::INT64, at::kLong},
    {DataType::UINT64, at::kUInt64},
    {DataType::DOUBLE, at::kDouble},
    {DataType::BOOL, at::kBool},
}};

template <class T>
T attribute(const Attributes& attributes, std::string_view name, T absent) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? absent : std::get<T>(found->second);
}

}  // namespace

int64_t Call::resolved(int64_t value) const {
  return IsValueOfInput(value) ? operands_.at(value - ValueOfInput(0)).item().toLong() : value;
}

int64_t Call::integer(std::string_view name, int64_t absent) const {
  return resolved(attribute(attributes_, name, absent));
}

std::string Call::text(std::string_view name) const { return attribute(attributes_, name, std::string()); }

double Call::real(std::string_view name, double absent) const {
  const std::optional<at::Scalar> value = scalar(name);
  return value ? value->toDouble() : absent;
}

std::optional<at::Scalar> Call::scalar(std::string_view name) const {
  const auto found = attributes_.find(name);
  if (found == attributes_.end()) return {};
  if (const auto* const value = std::get_if<double>(&found->second)) return *value;
  const int64_t value = std::get<int64_t>(found->second);
  return IsValueOfInput(value) ? operands_.at(value - ValueOfInput(0)).item() : at::Scalar(value);
}

std::vector<int64_t> Call::list(std::string_view name, std::vector<int64_t> absent) const {
  std::vector<int64_t> values = attribute(attributes_, name, std::move(absent));
  // One input may hold the whole list.
  if (values.size() == 1 && IsValueOfInput(values[0])) {
    const at::Tensor list = operands_.at(values[0] - ValueOfInput(0)).to(at::kLong).reshape(-1).contiguous();
    return {list.const_data_ptr<int64_t>(), list.const_data_ptr<int64_t>() + list.numel()};
  }
  for (int64_t& value : values) value = resolved(value);
  return values;
}

at::ScalarType Call::type(std::string_view name) const {
  const at::ScalarType type = scalar_type(kind<DataType>(name));
  return compute_ && c10::isFloatingType(type) ? *compute_ : type;
}

at::ScalarType scalar_type(DataType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == type) return theirs;
  }
  TORCH_CHECK_TYPE(false, "data type ", static_cast<int>(type), " is none that a tensor can have");
}

DataType data_type(at::ScalarType type) noexcept {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  return DataType::UNKNOWN;
}

Tensors infer(const Operation& operation, const Call& call) {
  try {
    return operation.run(call);
  } catch (const c10::NotImplementedError&) {
    // ATen has no meta kernel in C++ for some operators: run on zeros of these shapes instead.
  }
  Tensors zeros;
  for (const at::Tensor& operand : call.operands()) {
    // Operands with a value give sizes, and stay.
    zeros.push_back(operand.defined() && operand.is_meta()
                        ? at::zeros(operand.sizes(), operand.options().device(at::kCPU))
                        : operand);
  }
  return operation.run(call.with(zeros));
}

}  // namespace AscendIE

// conversion/evaluators_creation.cpp: tensors that are filled with given values: constants, or layers if their size is
// not known until the model runs.
#include <c10/util/Exception.h>

#include <optional>

#include "conversion/evaluator_tables.h"
#include "converters/by_schema.h"
#include "core/util/prelude.h"

namespace torch_aie::core::conversion {

namespace {

using AscendIE::Attribute;
using AscendIE::Attributes;
using AscendIE::DataType;

Attribute type_attribute(const Var& dtype, DataType absent) {
  if (dtype.isNone()) return static_cast<int64_t>(absent);
  return static_cast<int64_t>(util::toDataType(dtype.unwrapToScalarType()));
}

Attribute number_attribute(const Var& var, std::vector<AscendIE::Tensor*>& inputs) {
  if (var.isAscendTensor()) return converters::integers(var, inputs).front();
  const c10::Scalar value = var.unwrapToScalar();
  return value.isFloatingPoint() ? Attribute(value.toDouble()) : Attribute(value.toLong());
}

bool has_unknown_size(const Var& tensor) {
  return tensor.isAscendTensor() && !tensor.getAscendTensor()->GetDimensions().Fixed();
}

/// The dtype that PyTorch gives a tensor full of this number.
DataType type_of_number(const Var& number) {
  if (number.isAscendTensor()) return DataType::INT64;
  const c10::Scalar value = number.unwrapToScalar();
  return value.isFloatingPoint() ? DataType::FLOAT : value.isBoolean() ? DataType::BOOL : DataType::INT64;
}

Vars layer(const Evaluation& e, const char* operation, const std::vector<AscendIE::Tensor*>& inputs,
           Attributes attributes) {
  return {Var(e.ctx->net->AddOperation(operation, inputs, std::move(attributes))->GetOutput(0))};
}

Vars filled(const Evaluation& e, const Var& size, const Var& value, const Var& dtype, DataType type) {
  std::vector<AscendIE::Tensor*> inputs;
  Attributes attributes{{"dtype", type_attribute(dtype, type)}};
  attributes["size"] = converters::integers(size, inputs);
  attributes["fill_value"] = number_attribute(value, inputs);
  return layer(e, "Full", inputs, std::move(attributes));
}

/// zeros, ones: size, dtype, layout, device, pin_memory.
template <int64_t value>
Vars constant_filled(const Evaluation& e) {
  return has_tensor(e.args) ? filled(e, e[0], Var(c10::IValue(value)), e[1], DataType::FLOAT) : run(e);
}

Vars full(const Evaluation& e) {
  return has_tensor(e.args) ? filled(e, e[0], e[1], e[2], type_of_number(e[1])) : run(e);
}

/// new_zeros, new_ones: a tensor that gives the type, size, dtype, ...
template <int64_t value>
Vars new_filled(const Evaluation& e) {
  if (!has_tensor(e[1])) return run(e);
  return filled(e, e[1], Var(c10::IValue(value)), e[2], e[0].getFreezeAscendTensor(e.ctx)->GetType());
}

Vars new_full(const Evaluation& e) {
  if (!has_tensor(e[1]) && !has_tensor(e[2])) return run(e);
  return filled(e, e[1], e[2], e[3], e[0].getFreezeAscendTensor(e.ctx)->GetType());
}

Vars filled_like(const Evaluation& e, const Var& value, const Var& dtype) {
  std::vector<AscendIE::Tensor*> inputs{e[0].getFreezeAscendTensor(e.ctx)};
  Attributes attributes{{"dtype", type_attribute(dtype, e[0].getFreezeAscendTensor(e.ctx)->GetType())}};
  attributes["fill_value"] = number_attribute(value, inputs);
  return layer(e, "FullLike", inputs, std::move(attributes));
}

/// zeros_like, ones_like: a tensor, dtype, ...
template <int64_t value>
Vars like(const Evaluation& e) {
  return has_unknown_size(e[0]) ? filled_like(e, Var(c10::IValue(value)), e[1]) : run(e);
}

Vars full_like(const Evaluation& e) {
  return has_unknown_size(e[0]) || has_tensor(e[1]) ? filled_like(e, e[1], e[2]) : run(e);
}

/// The end alone, start and end, or start, end and step; then dtype, ...
template <size_t numbers>
Vars arange(const Evaluation& e) {
  if (!has_tensor(e.args)) return run(e);
  constexpr const char* kNames[] = {"start", "end", "step"};
  std::vector<AscendIE::Tensor*> inputs;
  Attributes attributes;
  DataType type = DataType::INT64;
  for (size_t i = 0; i < numbers; ++i) {
    attributes[kNames[numbers == 1 ? 1 : i]] = number_attribute(e[i], inputs);
    if (type_of_number(e[i]) == DataType::FLOAT) type = DataType::FLOAT;
  }
  attributes["dtype"] = type_attribute(e[numbers], type);
  return layer(e, "Arange", inputs, std::move(attributes));
}

Vars of_constants(const Evaluation& e) {
  TORCH_CHECK_TYPE(!has_tensor(e.args), "an argument is not known until the model runs");
  return run(e);
}

/// A number that is a tensor of the network is one without dimensions.
Vars from_data(const Evaluation& e) { return e[0].isAscendTensor() ? Vars{e[0]} : of_constants(e); }

constexpr EvaluatorRow kCreationEvaluators[] = {
    {"aten::arange", arange<1>},
    {"aten::arange.start", arange<2>},
    {"aten::arange.start_step", arange<3>},
    {"aten::empty.memory_format", constant_filled<0>},
    {"aten::empty_like", like<0>},
    {"aten::eye", of_constants},
    {"aten::full", full},
    {"aten::full_like", full_like},
    {"aten::linspace", of_constants},
    {"aten::new_empty", new_filled<0>},
    {"aten::new_full", new_full},
    {"aten::new_ones", new_filled<1>},
    {"aten::new_zeros", new_filled<0>},
    {"aten::ones", constant_filled<1>},
    {"aten::ones_like", like<1>},
    {"aten::scalar_tensor", of_constants},
    {"aten::tensor", from_data},
    {"aten::zeros", constant_filled<0>},
    {"aten::zeros_like", like<0>},
};

}  // namespace

EvaluatorTable creations() { return kCreationEvaluators; }

}  // namespace torch_aie::core::conversion

// native/live/call/values.cpp
#include "live/call/values.h"

namespace opwright::live {
namespace {

// One number, or a list of them, in the element type of an array.
template <class T, class Read>
c10::SmallVector<T, 8> elements(const c10::IValue& value, const Read& read) {
  c10::SmallVector<T, 8> result;
  if (!value.isList()) {
    result.push_back(read(value));
  } else {
    for (const c10::IValue& item : value.toListRef()) result.push_back(read(item));
  }
  return result;
}

at::Scalar as_scalar(const c10::IValue& value) {
  return value.isSymInt() ? at::Scalar(as_int(value)) : value.toScalar();
}

double as_real(const c10::IValue& value) { return value.isDouble() ? value.toDouble() : as_scalar(value).toDouble(); }

class Converter {
 public:
  Converter(const Plan& plan, Arguments arguments, at::TensorList outputs, npu::Objects& objects)
      : plan_(plan), arguments_(arguments), outputs_(outputs), objects_(objects) {}

  Value convert(const Parameter& parameter) {
    Value value{};
    switch (parameter.ctype) {
      case CType::kInteger:
        value.integer = integer(parameter);
        break;
      case CType::kBool:
        value.integer = static_cast<int64_t>(as_int(source(parameter)) != 0);
        break;
      case CType::kDtype:
        value.integer = npu::acl_dtype(dtype(parameter));
        break;
      case CType::kDouble:
      case CType::kFloat:
        value.real = as_real(source(parameter));
        break;
      default:
        value.object = object(parameter);
    }
    return value;
  }

 private:
  const c10::IValue& source(const Parameter& parameter) const {
    const Source& from = parameter.source;
    if (from.kind == Source::Kind::kConstant) return *from.constant;
    const c10::IValue& value = arguments_[from.positions[0]];
    return value.isNone() && from.constant ? *from.constant : value;
  }

  // Seed and offset of a call belong together.
  const npu::Drawn& drawn(size_t position) {
    for (const auto& [known, value] : drawn_) {
      if (known == position) return value;
    }
    const c10::IValue& value = arguments_[position];
    drawn_.emplace_back(position, npu::draw(value.isNone() ? std::nullopt : std::optional(value.toGenerator())));
    return drawn_.back().second;
  }

  int64_t integer(const Parameter& parameter) {
    if (parameter.source.kind == Source::Kind::kSeed) return drawn(parameter.source.positions[0]).seed;
    if (parameter.source.kind == Source::Kind::kOffset) return drawn(parameter.source.positions[0]).offset;
    int64_t value;
    if (parameter.source.kind == Source::Kind::kSize) {
      value = evaluate(plan_, parameter.source.size, arguments_);
    } else {
      const c10::IValue& from = source(parameter);
      value = from.isDouble() ? as_scalar(from).toLong() : as_int(from);
    }
    TORCH_CHECK_VALUE(parameter.least <= value && value <= parameter.most, plan_.name, ": ", parameter.text, " is ",
                      value, ", but ", plan_.function, " takes it as ", parameter.c_name, ", from ", parameter.least,
                      " to ", parameter.most);
    return value;
  }

  at::ScalarType dtype(const Parameter& parameter) const {
    if (parameter.source.kind == Source::Kind::kOutput) return outputs_[parameter.source.positions[0]].scalar_type();
    const c10::IValue& value = source(parameter);
    return value.isTensor() ? value.toTensor().scalar_type() : value.toScalarType();
  }

  void* object(const Parameter& parameter) {
    const Source& from = parameter.source;
    if (from.kind == Source::Kind::kOutput) return objects_.tensor(outputs_[from.positions[0]]);
    if (from.kind == Source::Kind::kOutputs) {
      c10::SmallVector<at::Tensor, 4> tensors;
      for (const size_t position : from.positions) tensors.push_back(outputs_[position]);
      return objects_.tensors(tensors);
    }
    const c10::IValue& value = source(parameter);
    if (value.isNone()) return nullptr;
    switch (parameter.ctype) {
      case CType::kTensor:
        return objects_.tensor(value.toTensor());
      case CType::kTensorList:
        return objects_.tensors(elements<at::Tensor>(
            value, [](const c10::IValue& item) { return item.isNone() ? at::Tensor() : item.toTensor(); }));
      case CType::kScalar:
        return objects_.scalar(as_scalar(value));
      case CType::kScalarList:
        return objects_.scalars(elements<at::Scalar>(value, as_scalar));
      case CType::kIntArray:
        return objects_.ints(elements<int64_t>(value, as_int));
      case CType::kFloatArray:
        return objects_.floats(
            elements<float>(value, [](const c10::IValue& item) { return static_cast<float>(as_real(item)); }));
      case CType::kBoolArray:
        return objects_.bools(elements<bool>(value, [](const c10::IValue& item) { return item.toBool(); }));
      default:
        return const_cast<char*>(value.toStringRef().c_str());  // phase 1 reads it while the argument lives
    }
  }

  const Plan& plan_;
  const Arguments arguments_;
  const at::TensorList outputs_;
  npu::Objects& objects_;
  c10::SmallVector<std::pair<size_t, npu::Drawn>, 1> drawn_;
};

}  // namespace

Values convert(const Plan& plan, Arguments arguments, at::TensorList outputs, npu::Objects& objects) {
  Converter converter(plan, arguments, outputs, objects);
  Values result;
  result.reserve(plan.parameters.size());
  for (const Parameter& parameter : plan.parameters) result.push_back(converter.convert(parameter));
  return result;
}

}  // namespace opwright::live

// converters/by_schema.cpp
#include "converters/by_schema.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include "converters/shared.h"

namespace torch_aie::core::conversion::converters {

namespace {

using c10::TypeKind;
using torch::jit::Node;

constexpr int64_t kNone = -1;

int64_t integer(const Var& var, std::vector<AscendIE::Tensor*>& inputs) {
  if (var.isAscendTensor()) {
    inputs.push_back(var.getAscendTensor());
    return AscendIE::ValueOfInput(static_cast<uint32_t>(inputs.size()) - 1);
  }
  return var.getIValue().isBool() ? int64_t{var.unwrapToBool()} : var.unwrapToInt();
}

/// Inputs and attributes of one operation.
class Collected {
 public:
  explicit Collected(ConversionCtx* ctx) : ctx_(ctx) {}

  void add(const std::string& name, const c10::Type& type, const Var& var) {
    switch (type.kind()) {
      case TypeKind::OptionalType:
        add_optional(name, *type.containedType(0), var);
        return;
      case TypeKind::ListType:
        attributes[name] = list(*type.containedType(0), var);
        return;
      case TypeKind::TensorType:
        input(var);
        return;
      case TypeKind::StringType:
        attributes[name] = var.unwrapToString();
        return;
      case TypeKind::BoolType:
        attributes[name] = int64_t{var.unwrapToBool()};
        return;
      case TypeKind::FloatType:
        attributes[name] = var.unwrapToDouble();
        return;
      case TypeKind::NumberType:
        attributes[name] = number(var);
        return;
      case TypeKind::DeviceObjType:
      case TypeKind::GeneratorType:
        return;
      default:
        if (name == "layout" || name == "memory_format") return;
        attributes[name] = name == "dtype" ? data_type(var) : integer(var, inputs);
    }
  }

  std::vector<AscendIE::Tensor*> inputs;
  AscendIE::Attributes attributes;

 private:
  int64_t input(const Var& var) {
    inputs.push_back(var.getFreezeAscendTensor(ctx_));
    return static_cast<int64_t>(inputs.size()) - 1;
  }

  AscendIE::Attribute number(const Var& var) {
    if (var.isIValue() && var.getIValue().isDouble()) return var.unwrapToDouble();
    if (var.isIValue() && var.getIValue().isTensor() && var.unwrapToAtTensor().is_floating_point()) {
      return var.unwrapToDouble();
    }
    return integer(var, inputs);
  }

  static int64_t data_type(const Var& var) { return static_cast<int64_t>(util::toDataType(var.unwrapToScalarType())); }

  void add_optional(const std::string& name, const c10::Type& type, const Var& var) {
    if (var.isNone()) return;
    if (type.kind() == TypeKind::TensorType) {
      attributes[name] = input(var);
    } else {
      add(name, type, var);
    }
  }

  std::vector<int64_t> list(const c10::Type& element, const Var& var) {
    std::vector<int64_t> values;
    if (element.kind() == TypeKind::IntType) return integers(var, inputs);
    const bool tensors = element.kind() == TypeKind::TensorType || element.kind() == TypeKind::OptionalType;
    TORCH_CHECK_TYPE(tensors, "lists of ", element.repr_str(), " are no attributes of operations");
    for (const Var& item : items(var)) values.push_back(item.isNone() ? kNone : input(item));
    return values;
  }

  /// A list of constants is one constant.
  static std::vector<Var> items(const Var& var) {
    if (var.isList()) return var.getList();
    std::vector<Var> items;
    for (const c10::IValue& item : var.getIValue().toListRef()) items.emplace_back(item);
    return items;
  }

  ConversionCtx* ctx_;
};

}  // namespace

std::vector<int64_t> integers(const Var& list, std::vector<AscendIE::Tensor*>& inputs) {
  // One tensor may hold the whole list.
  if (list.isAscendTensor()) return {integer(list, inputs)};
  if (!list.isList()) return list.unwrapToIntVector();
  std::vector<int64_t> values;
  for (const Var& item : list.getList()) values.push_back(integer(item, inputs));
  return values;
}

AscendIE::BaseLayer* add_by_schema(ConversionCtx* ctx, const c10::FunctionSchema& schema, const char* operation,
                                   const std::vector<Var>& arguments) {
  Collected collected(ctx);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = schema.arguments().at(i);
    collected.add(argument.name(), *argument.type(), arguments[i]);
  }
  return ctx->net->AddOperation(operation, collected.inputs, std::move(collected.attributes));
}

Converter by_schema(const std::string& schema, const char* operation) {
  return [parsed = torch::jit::parseSchema(schema), operation](ConversionCtx* ctx, const Node* node, args& arguments) {
    AscendIE::BaseLayer* const layer = add_by_schema(ctx, parsed, operation, arguments);
    if (node->output(0)->type()->kind() != TypeKind::ListType) return finish_all(ctx, node, layer);
    layer->SetName(util::nodeInfo(node).c_str());
    std::vector<Var> outputs;
    for (uint32_t i = 0; i < layer->GetOutputCount(); ++i) outputs.emplace_back(layer->GetOutput(i));
    ctx->AssociateValueAndVar(node->output(0), Var(std::move(outputs)));
    return true;
  };
}

RegisterNodeConverters by_schema(std::span<const SchemaRow> rows) {
  RegisterNodeConverters all;
  for (const SchemaRow& row : rows) all.pattern(row.schema, by_schema(row.schema, row.operation));
  return all;
}

}  // namespace torch_aie::core::conversion::converters

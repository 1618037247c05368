// converters/by_schema.h: converters for operators that the engine has an operation of the same meaning for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/conversion/converters/converters.h"

namespace c10 {
struct FunctionSchema;
}

namespace torch_aie::core::conversion::converters {

struct SchemaRow {
  const char* schema;
  const char* operation;
};

/// Tensors among the arguments become the operation's inputs, in their order; other arguments become attributes that
/// have the names of the schema. Absent are arguments that are None, and those that an engine has no choice of: device,
/// layout, generator. A number that is a tensor of the network is another input and ValueOfInput of it. Tensors that
/// may be None, and lists of tensors, have attributes too: the numbers of their inputs (-1: None). `dtype` is one of
/// the engine's data types.
Converter by_schema(const std::string& schema, const char* operation);

/// The layer of the operation, for evaluators.
AscendIE::BaseLayer* add_by_schema(ConversionCtx* ctx, const c10::FunctionSchema& schema, const char* operation,
                                   const std::vector<Var>& arguments);

/// A list of integers for an attribute. Those that are tensors of the network become further inputs.
std::vector<int64_t> integers(const Var& list, std::vector<AscendIE::Tensor*>& inputs);

/// Registers a converter for each row.
RegisterNodeConverters by_schema(std::span<const SchemaRow> rows);

}  // namespace torch_aie::core::conversion::converters

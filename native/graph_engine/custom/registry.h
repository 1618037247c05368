// native/graph_engine/custom/registry.h
// Declarations of loaded libraries: prototypes (graph/operator_reg.h), classes (graph/custom_op.h), by operator type.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "graph/custom_op.h"

namespace opwright::graph_engine {

std::optional<std::string> declared_prototype(const std::string& type);
bool has_custom_operator(const std::string& type);
// Null for a type without a class.
std::unique_ptr<ge::EagerExecuteOp> make_custom_operator(const std::string& type);

}  // namespace opwright::graph_engine

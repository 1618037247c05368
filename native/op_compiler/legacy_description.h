// native/op_compiler/legacy_description.h
// A call of a legacy operator as one text: what its program depends on, and therefore the key of the cache.
#pragma once

#include <string>

#include "acl/acl_desc.h"
#include "acl/acl_op.h"

namespace opwright::legacy {

// The descriptors of one side of a call.
struct Descriptors {
  const aclTensorDesc* const* items;
  int count;
};

// JSON: the operator's type, its attributes, and of each operand dtype, formats and shapes, never values. A JSON null
// is an optional input without a tensor. opwright/graph_engine/legacy/operator.py reads it.
std::string describe(const char* type, Descriptors inputs, Descriptors outputs, const aclopAttr* attributes);

// Whether a descriptor stands for an optional input without a tensor.
bool is_absent(const aclTensorDesc& desc) noexcept;

}  // namespace opwright::legacy

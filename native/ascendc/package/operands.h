// native/ascendc/package/operands.h
// The tensors of a call: copies of descriptors, and values that the host gave in place of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ascendc/package/call.h"
#include "ascendc/package/definition.h"
#include "nnopbase/objects.h"

namespace opwright::ascendc {

// One tensor.
struct Operand {
  std::optional<aclTensor> tensor;        // none: `values` has what it holds
  std::vector<double> reals;              // of a scalar or of an array of floats
  std::vector<int64_t> integers;          // of a scalar or of an array of integers or bools
  ge::DataType dtype = ge::DT_UNDEFINED;  // of values: as they were given; that of the column once it is known
  gert::Shape shape;
  std::vector<uint64_t> bytes;  // values in the column's dtype

  bool is_value() const { return !tensor.has_value(); }
  size_t count() const { return reals.empty() ? integers.size() : reals.size(); }
};

// The operands for a port of the definition: nothing, one tensor, or those of a list.
struct PortOperands {
  const char* name = "";  // of the parameter
  bool is_list = false;
  bool written = false;
  bool read = true;
  std::vector<Operand> instances;
};

struct Operands {
  std::vector<PortOperands> inputs;
  std::vector<PortOperands> outputs;

  size_t port_count() const { return inputs.size() + outputs.size(); }
  PortOperands& port(size_t i) { return i < inputs.size() ? inputs[i] : outputs[i - inputs.size()]; }
  const PortOperands& port(size_t i) const { return i < inputs.size() ? inputs[i] : outputs[i - inputs.size()]; }
};

// Checks and copies what was passed. Throws 161001 and 161002 with the parameter's name.
Operands operands_of(const Operator& op, std::initializer_list<Bound> arguments);

// The values of the attributes, in the order of the definition; what was not passed has its default.
void add_attributes(const Operator& op, std::initializer_list<Bound> arguments, gert::RuntimeAttrs& attributes);

// Writes the values of an operand in a dtype. Throws 161002 for a dtype that has no numbers.
void convert_values(Operand& operand, ge::DataType dtype, const char* name);

bool is_contiguous(const aclTensor& tensor);
// Copies the elements of a view to or from one piece of memory. `storage` is where the tensor's storage is reached.
void copy_view(const aclTensor& tensor, uint8_t* storage, uint8_t* dense, bool to_dense);

}  // namespace opwright::ascendc

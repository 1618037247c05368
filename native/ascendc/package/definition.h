// native/ascendc/package/definition.h
// An operator as one chip has it: its ports with the columns of dtypes and formats that its kernels are compiled for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ascendc/package/library.h"

namespace opwright::ascendc {

struct Column {
  std::vector<ge::DataType> dtypes;  // of the inputs, then of the outputs
  std::vector<ge::Format> formats;
  size_t entry = 0;  // of the lists in the definition, which it comes from
};

struct Operator {
  std::string type;
  const HostLibrary* library;
  std::vector<ops::PortData> inputs;
  std::vector<ops::PortData> outputs;
  std::vector<ops::AttributeData> attributes;
  std::vector<Column> columns;
  OpFunctions functions;
  bool strict_formats = false;
  bool launch_empty = false;
  bool any_auto_contiguous = false;

  size_t port_count() const { return inputs.size() + outputs.size(); }
  const ops::PortData& port(size_t index) const {
    return index < inputs.size() ? inputs[index] : outputs[index - inputs.size()];
  }
};

// The chips that an operator was configured for.
std::vector<std::string> chips_of(const HostLibrary& library, const std::string& type);

// Throws 161002 naming what is wrong: an operator without a definition, a chip that it is not configured for, dtype
// lists of different lengths, and what aclnn functions cannot have.
Operator operator_of(const HostLibrary& library, const std::string& type, const std::string& chip);

// "FLOAT16,FLOAT16;ND,ND": the name of a column between the package's parts.
std::string name_of(const Column& column);

}  // namespace opwright::ascendc

// native/ascendc/package/match.cpp
#include "ascendc/package/match.h"

#include <algorithm>

#include "graph/utils/type_utils.h"
#include "nnopbase/validate.h"
#include "runtime/soc.h"

namespace opwright::ascendc {
namespace {

bool is_floating(ge::DataType dtype) {
  return dtype == ge::DT_FLOAT || dtype == ge::DT_FLOAT16 || dtype == ge::DT_BF16 || dtype == ge::DT_DOUBLE;
}

// The dtype that values get in a column; DT_UNDEFINED if they do not fit it.
ge::DataType dtype_of_value(const Operator& op, const Operands& operands, const ops::PortData& port,
                            const Operand& operand, ge::DataType wanted) {
  if (port.value_depend != ops::IGNORE) return operand.dtype == wanted ? wanted : ge::DT_UNDEFINED;
  if (port.to_dtype != ge::DT_UNDEFINED) return port.to_dtype;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].name == port.to_name && !operands.inputs[i].instances.empty()) {
      return operands.inputs[i].instances.front().dtype;
    }
  }
  // Without To, a number goes to a column of its own kind.
  return operand.reals.empty() || is_floating(wanted) ? wanted : ge::DT_UNDEFINED;
}

bool fits_format(const Operator& op, const aclTensor& tensor, ge::Format wanted) {
  const auto format = static_cast<ge::Format>(tensor.format);
  if (format == wanted) return true;
  return !op.strict_formats && is_base_format(tensor.format) && is_base_format(static_cast<aclFormat>(wanted));
}

bool fits(const Operator& op, const Operands& operands, size_t port, const Column& column) {
  for (const Operand& operand : operands.port(port).instances) {
    if (operand.is_value()) {
      if (dtype_of_value(op, operands, op.port(port), operand, column.dtypes[port]) == ge::DT_UNDEFINED) return false;
    } else if (operand.dtype != column.dtypes[port] || !fits_format(op, *operand.tensor, column.formats[port])) {
      return false;
    }
  }
  return true;
}

std::string describe(ge::DataType dtype, ge::Format format) {
  std::string result = dtype_name(static_cast<aclDataType>(dtype));
  if (format != ge::FORMAT_ND) result += " " + ge::TypeUtils::FormatToSerialString(format);
  return result;
}

std::string describe(const Operator& op, const Column& column) {
  std::string result;
  for (size_t i = 0; i < op.port_count(); ++i) {
    result += (i == 0 ? "" : ", ") + describe(column.dtypes[i], column.formats[i]);
  }
  return "(" + result + ")";
}

std::string describe(const Operator& op, const Operands& operands) {
  std::string result;
  for (size_t i = 0; i < op.port_count(); ++i) {
    const PortOperands& port = operands.port(i);
    std::string one = "null";
    if (!port.instances.empty()) {
      const Operand& first = port.instances.front();
      one = describe(first.dtype, first.tensor ? seen_format(op, *first.tensor) : ge::FORMAT_ND);
    }
    result += (i == 0 ? "" : ", ") + op.port(i).name + " " + one;
  }
  return "(" + result + ")";
}

[[noreturn]] void fail_match(const Operator& op, const Operands& operands) {
  constexpr size_t kMost = 12;
  std::string allowed;
  for (size_t i = 0; i < std::min(op.columns.size(), kMost); ++i) {
    allowed += (i == 0 ? "" : ", ") + describe(op, op.columns[i]);
  }
  if (op.columns.size() > kMost) allowed += text(", and ", op.columns.size() - kMost, " more");
  fail(ACLNN_ERR_PARAM_INVALID, op.type, " has no kernel for ", describe(op, operands), "; its definition for ",
       soc().short_name, " has ", allowed);
}

// A tensor may be non-contiguous only if that is allowed: the package then makes a copy, or the kernel knows strides.
void check_contiguous(const Operator& op, const Operands& operands) {
  for (size_t i = 0; i < op.port_count(); ++i) {
    if (op.port(i).ignore_contiguous) continue;
    for (const Operand& operand : operands.port(i).instances) {
      if (operand.is_value() || is_contiguous(*operand.tensor)) continue;
      const aclTensor& tensor = *operand.tensor;
      const bool whole_bytes = bits_of(tensor.dtype) % 8 == 0;
      require(op.any_auto_contiguous && whole_bytes, ACLNN_ERR_PARAM_INVALID, "parameter '", operands.port(i).name,
              "' ", summary(tensor), " has strides ", to_string(tensor.strides), ", but ", op.type,
              " takes contiguous tensors", op.any_auto_contiguous ? " of elements that share a byte" : "",
              "; pass x.contiguous()",
              op.any_auto_contiguous ? "" : ", or call AutoContiguous() on the input in its definition");
    }
  }
}

}  // namespace

ge::Format seen_format(const Operator& op, const aclTensor& tensor) {
  return !op.strict_formats && is_base_format(tensor.format) ? ge::FORMAT_ND : static_cast<ge::Format>(tensor.format);
}

const Column& match(const Operator& op, Operands& operands) {
  check_contiguous(op, operands);
  for (const Column& column : op.columns) {
    bool all = true;
    for (size_t i = 0; i < op.port_count() && all; ++i) all = fits(op, operands, i, column);
    if (!all) continue;
    for (size_t i = 0; i < op.port_count(); ++i) {
      for (Operand& operand : operands.port(i).instances) {
        if (!operand.is_value()) continue;
        convert_values(operand, dtype_of_value(op, operands, op.port(i), operand, column.dtypes[i]),
                       operands.port(i).name);
      }
    }
    return column;
  }
  fail_match(op, operands);
}

}  // namespace opwright::ascendc

// native/runtime/descriptors/tensor_desc.h
// Description of a tensor for the legacy operator path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl_base.h"

struct aclTensorDesc {
  aclDataType data_type = ACL_DT_UNDEFINED;
  std::vector<int64_t> dims;  // -1: unknown dimension, a single -2: unknown rank
  aclFormat format = ACL_FORMAT_UNDEFINED;

  // How the elements lie in memory where that differs from dims and format.
  std::optional<std::vector<int64_t>> storage_dims;
  std::optional<aclFormat> storage_format;

  std::string name;  // name of the operator's input; empty: by position
  aclMemType placement = ACL_MEMTYPE_DEVICE;
  std::vector<uint8_t> constant;  // value of a constant operand, copied; empty: not constant
};

namespace opwright {

// Product of the dimensions, 1 for a scalar. Throws 100000 for an unknown dimension and for overflow.
size_t element_count(const aclTensorDesc& desc);

}  // namespace opwright

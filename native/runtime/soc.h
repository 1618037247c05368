// native/runtime/soc.h
// The Ascend chips that the twin can name, with the facts that torch_npu asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/error.h"

namespace opwright {

struct Soc {
  const char* name;        // what aclrtGetSocName answers
  const char* short_name;  // the family in lower case, as operator projects write it
  int cube_cores;
  int vector_cores;
  uint64_t memory;     // HBM, bytes
  uint64_t l2_cache;   // bytes
  bool aclnn_default;  // JIT compilation is off by default, so torch_npu takes the aclnn path
  bool bfloat16;

  bool is_ascend950() const { return short_name == std::string_view("ascend950"); }
};

// nullptr for an unknown name. Names that start with "Ascend950" are all one chip.
OPWRIGHT_API const Soc* find_soc(const std::string& name);

// All names, comma separated, for error texts.
OPWRIGHT_API std::string known_soc_names();

// The chip that this process reports. Throws Error(100000) for a wrong OPWRIGHT_SOC.
OPWRIGHT_API const Soc& soc();

}  // namespace opwright

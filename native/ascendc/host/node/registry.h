// node/registry.h
// Registrations of a library of host code while it is loaded. Ours; the functions are in libascendc_package.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/types.h"

#define OPWRIGHT_REGISTRY __attribute__((visibility("default")))

namespace ops {
class OpDef;
class OpAICoreConfig;
}  // namespace ops

namespace optiling {
class TilingDef;
}  // namespace optiling

namespace gert {
class TilingContext;
class TilingParseContext;
class InferShapeContext;
class InferDataTypeContext;
class InferShapeRangeContext;
}  // namespace gert

namespace opwright::ascendc {

// The functions of an operator type.
struct OpFunctions {
  ge::graphStatus (*infer_shape)(gert::InferShapeContext*) = nullptr;
  ge::graphStatus (*infer_dtype)(gert::InferDataTypeContext*) = nullptr;
  ge::graphStatus (*tiling)(gert::TilingContext*) = nullptr;
  ge::graphStatus (*tiling_parse)(gert::TilingParseContext*) = nullptr;
  void* (*make_compile_info)() = nullptr;
  void (*free_compile_info)(void*) = nullptr;
  bool same_dtype_as_first_input = false;
  std::set<int32_t> host_inputs;  // on whose values infer or tiling depends
};

// A parameter of a kernel that is a template, or the values of one in a selection.
struct TemplateParameter {
  enum Kind : uint32_t { kDtypeNumber, kDtype, kFormat, kUint, kBool, kKernelType, kFixedKernelType, kDeterministic };
  const char* name;
  Kind kind;
  uint32_t bits;
  std::vector<uint64_t> values;
};
using TemplateParameters = std::vector<TemplateParameter>;

OPWRIGHT_REGISTRY void add_op_def(const char* type, ops::OpDef (*make)(const char* name));
OPWRIGHT_REGISTRY void add_op_config(const char* type, const char* soc, ops::OpAICoreConfig (*make)());
// The functions of a type; made by the first call.
OPWRIGHT_REGISTRY OpFunctions& functions_of(const char* type);
// `type` may have a tiling key at its end (Add_1), or be the name of a nested structure with Op behind it.
OPWRIGHT_REGISTRY void add_tiling_class(const char* type, std::shared_ptr<optiling::TilingDef> (*make)());
OPWRIGHT_REGISTRY void add_template(const char* type, const TemplateParameters& declared,
                                    const std::vector<TemplateParameters>& selected);
// The tiling key of these values of the parameters. Says on stderr, and answers the key of no kernel, if no selection
// has them.
OPWRIGHT_REGISTRY uint64_t template_key(const TemplateParameters& declared,
                                        const std::vector<TemplateParameters>& selected,
                                        const std::vector<uint64_t>& values);

}  // namespace opwright::ascendc

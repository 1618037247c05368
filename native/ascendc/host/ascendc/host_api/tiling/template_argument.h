// ascendc/host_api/tiling/template_argument.h
// Kernels that are templates: which parameters they have, and which values of them are compiled. This is the form of
// the host side, which computes tiling keys; kernels see the file of that name beside kernel_operator.h.
#pragma once

#include <cstdint>
#include <vector>

#include "ascendc/shared/template_values.h"
#include "node/registry.h"

#define ASCENDC_TPL_1_BW 1
#define ASCENDC_TPL_2_BW 2
#define ASCENDC_TPL_3_BW 3
#define ASCENDC_TPL_4_BW 4
#define ASCENDC_TPL_5_BW 5
#define ASCENDC_TPL_6_BW 6
#define ASCENDC_TPL_7_BW 7
#define ASCENDC_TPL_8_BW 8
#define ASCENDC_TPL_9_BW 9
#define ASCENDC_TPL_10_BW 10
#define ASCENDC_TPL_11_BW 11
#define ASCENDC_TPL_12_BW 12
#define ASCENDC_TPL_13_BW 13
#define ASCENDC_TPL_14_BW 14
#define ASCENDC_TPL_15_BW 15
#define ASCENDC_TPL_16_BW 16

// How the values behind it are written: ranges, a list, ranges and then a list.
#define ASCENDC_TPL_UI_RANGE 0
#define ASCENDC_TPL_UI_LIST 1
#define ASCENDC_TPL_UI_MIX 2

// In place of values: those of the dtype or format of an input or output.
#define ASCENDC_TPL_INPUT(index) (uint64_t{1} << 32 | (index))
#define ASCENDC_TPL_OUTPUT(index) (uint64_t{1} << 33 | (index))

#define OPWRIGHT_TEMPLATE_PARAMETER(name, kind, bits, ...)                    \
  ::opwright::ascendc::TemplateParameter {                                    \
    name, ::opwright::ascendc::TemplateParameter::kind, bits, { __VA_ARGS__ } \
  }

#define ASCENDC_TPL_DTYPE_DECL(x, ...) OPWRIGHT_TEMPLATE_PARAMETER(#x, kDtypeNumber, 8, __VA_ARGS__)
#define ASCENDC_TPL_DATATYPE_DECL(x, ...) OPWRIGHT_TEMPLATE_PARAMETER(#x, kDtype, 8, __VA_ARGS__)
#define ASCENDC_TPL_FORMAT_DECL(x, ...) OPWRIGHT_TEMPLATE_PARAMETER(#x, kFormat, 8, __VA_ARGS__)
#define ASCENDC_TPL_UINT_DECL(x, bits, ...) OPWRIGHT_TEMPLATE_PARAMETER(#x, kUint, bits, __VA_ARGS__)
#define ASCENDC_TPL_BOOL_DECL(x, ...) OPWRIGHT_TEMPLATE_PARAMETER(#x, kBool, 1, __VA_ARGS__)
#define ASCENDC_TPL_KERNEL_TYPE_DECL(x, ...) OPWRIGHT_TEMPLATE_PARAMETER(#x, kKernelType, 8, __VA_ARGS__)
#define ASCENDC_TPL_DTYPE_SEL(x, ...) ASCENDC_TPL_DTYPE_DECL(x, __VA_ARGS__)
#define ASCENDC_TPL_DATATYPE_SEL(x, ...) ASCENDC_TPL_DATATYPE_DECL(x, __VA_ARGS__)
#define ASCENDC_TPL_FORMAT_SEL(x, ...) ASCENDC_TPL_FORMAT_DECL(x, __VA_ARGS__)
#define ASCENDC_TPL_UINT_SEL(x, ...) ASCENDC_TPL_UINT_DECL(x, 0, __VA_ARGS__)
#define ASCENDC_TPL_BOOL_SEL(x, ...) ASCENDC_TPL_BOOL_DECL(x, __VA_ARGS__)
#define ASCENDC_TPL_SHARED_KERNEL_TYPE_SEL(x, ...) ASCENDC_TPL_KERNEL_TYPE_DECL(x, __VA_ARGS__)
#define ASCENDC_TPL_KERNEL_TYPE_SEL(...) OPWRIGHT_TEMPLATE_PARAMETER("kernel_type", kFixedKernelType, 0, __VA_ARGS__)
#define ASCENDC_TPL_DETERMINISTIC_SEL(...) OPWRIGHT_TEMPLATE_PARAMETER("deterministic", kDeterministic, 0, __VA_ARGS__)
#define ASCENDC_TPL_TILING_STRUCT_SEL(x, ...)                         \
  ::opwright::ascendc::TemplateParameter {                            \
    #x, ::opwright::ascendc::TemplateParameter::kDeterministic, 0, {} \
  }

#define ASCENDC_TPL_ARGS_DECL(x, ...)                                    \
  [[maybe_unused]] static const char* const opwright_template_type = #x; \
  [[maybe_unused]] static const ::opwright::ascendc::TemplateParameters g_tilingDeclareParams { __VA_ARGS__ }
#define ASCENDC_TPL_ARGS_SEL(...) {__VA_ARGS__}
#define ASCENDC_TPL_SEL(...)                                                                                \
  [[maybe_unused]] static const std::vector<::opwright::ascendc::TemplateParameters> g_tilingSelectParams{  \
      __VA_ARGS__};                                                                                         \
  [[maybe_unused]] static const bool opwright_template_added = [] {                                         \
    ::opwright::ascendc::add_template(opwright_template_type, g_tilingDeclareParams, g_tilingSelectParams); \
    return true;                                                                                            \
  }()

#define GET_TPL_TILING_KEY(...)                                                  \
  ::opwright::ascendc::template_key(g_tilingDeclareParams, g_tilingSelectParams, \
                                    ::opwright::ascendc::template_values(__VA_ARGS__))
#define ASCENDC_TPL_SEL_PARAM(context, ...)                   \
  do {                                                        \
    (context)->SetTilingKey(GET_TPL_TILING_KEY(__VA_ARGS__)); \
  } while (false)

namespace opwright::ascendc {

// The braces of a list would refuse values of other integer types.
template <class... Values>
std::vector<uint64_t> template_values(Values... values) {
  return {static_cast<uint64_t>(values)...};
}

}  // namespace opwright::ascendc

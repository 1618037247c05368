// ascendc/host_api/tiling/template_argument.h
// Kernels that are templates: which parameters they have, and which values of them are compiled. This is the form of
// the host side, which computes tiling keys; kernels see the file of that name beside kernel_operator.h.
#pragma once

#include <cstdint>
#include <vector>

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

// The codes of dtypes and formats, as the preprocessor knows them.
#define C_DT_FLOAT 0
#define C_DT_FLOAT16 1
#define C_DT_INT8 2
#define C_DT_INT32 3
#define C_DT_UINT8 4
#define C_DT_INT16 6
#define C_DT_UINT16 7
#define C_DT_UINT32 8
#define C_DT_INT64 9
#define C_DT_UINT64 10
#define C_DT_DOUBLE 11
#define C_DT_BOOL 12
#define C_DT_COMPLEX64 16
#define C_DT_BF16 27
#define C_DT_INT4 29
#define C_DT_UINT1 30
#define C_DT_INT2 31
#define C_DT_COMPLEX32 33
#define C_DT_HIFLOAT8 34
#define C_DT_FLOAT8_E5M2 35
#define C_DT_FLOAT8_E4M3FN 36
#define C_DT_FLOAT4_E2M1 40
#define C_DT_FLOAT4_E1M2 41
#define C_FORMAT_NCHW 0
#define C_FORMAT_NHWC 1
#define C_FORMAT_ND 2
#define C_FORMAT_NC1HWC0 3
#define C_FORMAT_FRACTAL_Z 4
#define C_FORMAT_NC1C0HWPAD 5
#define C_FORMAT_NHWC1C0 6
#define C_FORMAT_FSR_NCHW 7
#define C_FORMAT_FRACTAL_DECONV 8
#define C_FORMAT_C1HWNC0 9
#define C_FORMAT_FRACTAL_DECONV_TRANSPOSE 10
#define C_FORMAT_FRACTAL_DECONV_SP_STRIDE_TRANS 11
#define C_FORMAT_NC1HWC0_C04 12
#define C_FORMAT_FRACTAL_Z_C04 13
#define C_FORMAT_CHWN 14
#define C_FORMAT_FRACTAL_DECONV_SP_STRIDE8_TRANS 15
#define C_FORMAT_HWCN 16
#define C_FORMAT_NC1KHKWHWC0 17
#define C_FORMAT_BN_WEIGHT 18
#define C_FORMAT_FILTER_HWCK 19
#define C_FORMAT_HASHTABLE_LOOKUP_LOOKUPS 20
#define C_FORMAT_HASHTABLE_LOOKUP_KEYS 21
#define C_FORMAT_HASHTABLE_LOOKUP_VALUE 22
#define C_FORMAT_HASHTABLE_LOOKUP_OUTPUT 23
#define C_FORMAT_HASHTABLE_LOOKUP_HITS 24
#define C_FORMAT_C1HWNCoC0 25
#define C_FORMAT_MD 26
#define C_FORMAT_NDHWC 27
#define C_FORMAT_FRACTAL_ZZ 28
#define C_FORMAT_FRACTAL_NZ 29
#define C_FORMAT_NCDHW 30
#define C_FORMAT_DHWCN 31
#define C_FORMAT_NDC1HWC0 32
#define C_FORMAT_FRACTAL_Z_3D 33
#define C_FORMAT_CN 34
#define C_FORMAT_NC 35
#define C_FORMAT_DHWNC 36
#define C_FORMAT_FRACTAL_Z_3D_TRANSPOSE 37
#define C_FORMAT_FRACTAL_ZN_LSTM 38
#define C_FORMAT_FRACTAL_Z_G 39
#define C_FORMAT_RESERVED 40
#define C_FORMAT_ALL 41
#define C_FORMAT_NULL 42
#define C_FORMAT_ND_RNN_BIAS 43
#define C_FORMAT_FRACTAL_ZN_RNN 44
#define C_FORMAT_NYUV 45
#define C_FORMAT_NYUV_A 46
#define C_FORMAT_NCL 47
#define C_FORMAT_FRACTAL_Z_WINO 48
#define C_FORMAT_C1HWC0 49
#define C_FORMAT_FRACTAL_NZ_C0_16 50
#define C_FORMAT_FRACTAL_NZ_C0_32 51
#define C_FORMAT_FRACTAL_NZ_C0_2 52
#define C_FORMAT_FRACTAL_NZ_C0_4 53
#define C_FORMAT_FRACTAL_NZ_C0_8 54

// Kernel types.
#define ASCENDC_TPL_AIV_ONLY 0
#define ASCENDC_TPL_AIC_ONLY 1
#define ASCENDC_TPL_MIX_AIV_1_0 2
#define ASCENDC_TPL_MIX_AIC_1_0 3
#define ASCENDC_TPL_MIX_AIC_1_1 4
#define ASCENDC_TPL_MIX_AIC_1_2 5
#define ASCENDC_TPL_AICORE 6
#define ASCENDC_TPL_VECTORCORE 7
#define ASCENDC_TPL_MIX_AICORE 8
#define ASCENDC_TPL_MIX_VECTOR_CORE 9

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

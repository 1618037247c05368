// native/abi/ge/codes.h
// The codes of data types and formats: X(name, code). Facts of the ABI, from the headers of CANN in
// torch_npu's wheel; the last three formats are in newer headers only.
#pragma once

#include <cstdint>

#define OPWRIGHT_GE_DATA_TYPES(X) \
  X(FLOAT, 0)                     \
  X(FLOAT16, 1)                   \
  X(INT8, 2)                      \
  X(INT32, 3)                     \
  X(UINT8, 4)                     \
  X(INT16, 6)                     \
  X(UINT16, 7)                    \
  X(UINT32, 8)                    \
  X(INT64, 9)                     \
  X(UINT64, 10)                   \
  X(DOUBLE, 11)                   \
  X(BOOL, 12)                     \
  X(STRING, 13)                   \
  X(DUAL_SUB_INT8, 14)            \
  X(DUAL_SUB_UINT8, 15)           \
  X(COMPLEX64, 16)                \
  X(COMPLEX128, 17)               \
  X(QINT8, 18)                    \
  X(QINT16, 19)                   \
  X(QINT32, 20)                   \
  X(QUINT8, 21)                   \
  X(QUINT16, 22)                  \
  X(RESOURCE, 23)                 \
  X(STRING_REF, 24)               \
  X(DUAL, 25)                     \
  X(VARIANT, 26)                  \
  X(BF16, 27)                     \
  X(UNDEFINED, 28)                \
  X(INT4, 29)                     \
  X(UINT1, 30)                    \
  X(INT2, 31)                     \
  X(UINT2, 32)                    \
  X(COMPLEX32, 33)                \
  X(HIFLOAT8, 34)                 \
  X(FLOAT8_E5M2, 35)              \
  X(FLOAT8_E4M3FN, 36)            \
  X(FLOAT8_E8M0, 37)              \
  X(FLOAT6_E3M2, 38)              \
  X(FLOAT6_E2M3, 39)              \
  X(FLOAT4_E2M1, 40)              \
  X(FLOAT4_E1M2, 41)

#define OPWRIGHT_GE_FORMATS(X)           \
  X(NCHW, 0)                             \
  X(NHWC, 1)                             \
  X(ND, 2)                               \
  X(NC1HWC0, 3)                          \
  X(FRACTAL_Z, 4)                        \
  X(NC1C0HWPAD, 5)                       \
  X(NHWC1C0, 6)                          \
  X(FSR_NCHW, 7)                         \
  X(FRACTAL_DECONV, 8)                   \
  X(C1HWNC0, 9)                          \
  X(FRACTAL_DECONV_TRANSPOSE, 10)        \
  X(FRACTAL_DECONV_SP_STRIDE_TRANS, 11)  \
  X(NC1HWC0_C04, 12)                     \
  X(FRACTAL_Z_C04, 13)                   \
  X(CHWN, 14)                            \
  X(FRACTAL_DECONV_SP_STRIDE8_TRANS, 15) \
  X(HWCN, 16)                            \
  X(NC1KHKWHWC0, 17)                     \
  X(BN_WEIGHT, 18)                       \
  X(FILTER_HWCK, 19)                     \
  X(HASHTABLE_LOOKUP_LOOKUPS, 20)        \
  X(HASHTABLE_LOOKUP_KEYS, 21)           \
  X(HASHTABLE_LOOKUP_VALUE, 22)          \
  X(HASHTABLE_LOOKUP_OUTPUT, 23)         \
  X(HASHTABLE_LOOKUP_HITS, 24)           \
  X(C1HWNCoC0, 25)                       \
  X(MD, 26)                              \
  X(NDHWC, 27)                           \
  X(FRACTAL_ZZ, 28)                      \
  X(FRACTAL_NZ, 29)                      \
  X(NCDHW, 30)                           \
  X(DHWCN, 31)                           \
  X(NDC1HWC0, 32)                        \
  X(FRACTAL_Z_3D, 33)                    \
  X(CN, 34)                              \
  X(NC, 35)                              \
  X(DHWNC, 36)                           \
  X(FRACTAL_Z_3D_TRANSPOSE, 37)          \
  X(FRACTAL_ZN_LSTM, 38)                 \
  X(FRACTAL_Z_G, 39)                     \
  X(RESERVED, 40)                        \
  X(ALL, 41)                             \
  X(NULL, 42)                            \
  X(ND_RNN_BIAS, 43)                     \
  X(FRACTAL_ZN_RNN, 44)                  \
  X(NYUV, 45)                            \
  X(NYUV_A, 46)                          \
  X(NCL, 47)                             \
  X(FRACTAL_Z_WINO, 48)                  \
  X(C1HWC0, 49)                          \
  X(FRACTAL_NZ_C0_16, 50)                \
  X(FRACTAL_NZ_C0_32, 51)                \
  X(FRACTAL_NZ_C0_2, 52)                 \
  X(FRACTAL_NZ_C0_4, 53)                 \
  X(FRACTAL_NZ_C0_8, 54)

namespace ge {

#define OPWRIGHT_CODE(name, code) DT_##name = code,
enum DataType : int32_t { OPWRIGHT_GE_DATA_TYPES(OPWRIGHT_CODE) DT_MAX };
#undef OPWRIGHT_CODE

// The low byte is the layout, the bytes above it a parameter of the layout such as the number of groups. The underlying
// type is fixed because callers pass such combinations.
#define OPWRIGHT_CODE(name, code) FORMAT_##name = code,
enum Format : uint32_t { OPWRIGHT_GE_FORMATS(OPWRIGHT_CODE) FORMAT_END, FORMAT_MAX = 0xFF };
#undef OPWRIGHT_CODE

}  // namespace ge

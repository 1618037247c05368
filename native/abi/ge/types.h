// native/abi/ge/types.h
// Codes of the graph engine's C++ interface: data types, formats, placements, results.
// Values are facts of the ABI (CANN headers of the torch_npu 2.13.0 wheel); classes of this interface hold exactly one
// shared_ptr to an implementation that is ours, because callers copy and destroy them inline.
#pragma once

#include <cstdint>

namespace ge {

using graphStatus = uint32_t;
using Status = uint32_t;

constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
constexpr Status SUCCESS = 0;
constexpr Status FAILED = 0xFFFFFFFF;

enum DataType : int32_t {
  DT_FLOAT = 0,
  DT_FLOAT16 = 1,
  DT_INT8 = 2,
  DT_INT32 = 3,
  DT_UINT8 = 4,
  DT_INT16 = 6,
  DT_UINT16 = 7,
  DT_UINT32 = 8,
  DT_INT64 = 9,
  DT_UINT64 = 10,
  DT_DOUBLE = 11,
  DT_BOOL = 12,
  DT_STRING = 13,
  DT_DUAL_SUB_INT8 = 14,
  DT_DUAL_SUB_UINT8 = 15,
  DT_COMPLEX64 = 16,
  DT_COMPLEX128 = 17,
  DT_QINT8 = 18,
  DT_QINT16 = 19,
  DT_QINT32 = 20,
  DT_QUINT8 = 21,
  DT_QUINT16 = 22,
  DT_RESOURCE = 23,
  DT_STRING_REF = 24,
  DT_DUAL = 25,
  DT_VARIANT = 26,
  DT_BF16 = 27,
  DT_UNDEFINED = 28,
  DT_INT4 = 29,
  DT_UINT1 = 30,
  DT_INT2 = 31,
  DT_UINT2 = 32,
  DT_COMPLEX32 = 33,
  DT_HIFLOAT8 = 34,
  DT_FLOAT8_E5M2 = 35,
  DT_FLOAT8_E4M3FN = 36,
  DT_FLOAT8_E8M0 = 37,
  DT_FLOAT6_E3M2 = 38,
  DT_FLOAT6_E2M3 = 39,
  DT_FLOAT4_E2M1 = 40,
  DT_FLOAT4_E1M2 = 41,
  DT_MAX = 42
};

// The low byte is the layout (all names: graph/format.cpp), the bytes above it a parameter of the layout such as the
// number of groups. The underlying type is fixed because callers pass such combinations.
enum Format : uint32_t { FORMAT_NCHW = 0, FORMAT_NHWC = 1, FORMAT_ND = 2 };

enum Placement : int32_t { kPlacementHost = 0, kPlacementDevice = 1 };

// The layout's name without its parameter, for example "FRACTAL_NZ"; "UNKNOWN" for a code that is not one.
__attribute__((visibility("default"))) const char* GetFormatName(Format format);

}  // namespace ge

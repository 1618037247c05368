// graph/types.h
// Data types, formats and results as the host code of an operator names them. The values are the codes of CANN's ABI.
#pragma once

#include <cstdint>

#include "ge/codes.h"

namespace ge {

using char_t = char;
using float32_t = float;
using float64_t = double;
using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
constexpr graphStatus GRAPH_NOT_CHANGED = 1343242304;
constexpr graphStatus GRAPH_PARAM_INVALID = 50331649;
constexpr graphStatus GRAPH_NODE_WITHOUT_CONST_INPUT = 50331648;

constexpr int64_t UNKNOWN_DIM = -1;
constexpr int64_t UNKNOWN_DIM_NUM = -2;

// The layout without its parameter (a sub-format, C0), which stands in the bits above the lowest eight.
inline int32_t GetPrimaryFormat(int32_t format) { return format & 0xFF; }

// Bits of one element; 0 for a code without a fixed size.
constexpr int OpwrightBits(DataType type) {
  switch (type) {
    case DT_BOOL:
    case DT_INT8:
    case DT_UINT8:
    case DT_QINT8:
    case DT_QUINT8:
    case DT_DUAL_SUB_INT8:
    case DT_DUAL_SUB_UINT8:
    case DT_HIFLOAT8:
    case DT_FLOAT8_E5M2:
    case DT_FLOAT8_E4M3FN:
    case DT_FLOAT8_E8M0:
      return 8;
    case DT_FLOAT16:
    case DT_BF16:
    case DT_INT16:
    case DT_UINT16:
    case DT_QINT16:
    case DT_QUINT16:
      return 16;
    case DT_FLOAT:
    case DT_INT32:
    case DT_UINT32:
    case DT_QINT32:
    case DT_COMPLEX32:
      return 32;
    case DT_INT64:
    case DT_UINT64:
    case DT_DOUBLE:
    case DT_COMPLEX64:
    case DT_RESOURCE:
    case DT_STRING_REF:
      return 64;
    case DT_COMPLEX128:
    case DT_STRING:
      return 128;
    case DT_DUAL:
      return 40;
    case DT_FLOAT6_E3M2:
    case DT_FLOAT6_E2M3:
      return 6;
    case DT_INT4:
    case DT_FLOAT4_E2M1:
    case DT_FLOAT4_E1M2:
      return 4;
    case DT_INT2:
    case DT_UINT2:
      return 2;
    case DT_UINT1:
      return 1;
    default:
      return 0;
  }
}

// Bytes of one element; 1000 plus its bits if it is smaller than a byte; -1 for a code without a size.
constexpr int GetSizeByDataType(DataType type) {
  const int bits = OpwrightBits(type);
  if (bits == 0) return -1;
  return bits < 8 ? 1000 + bits : bits / 8;
}

// Bytes of `count` elements; -1 for a negative count or a code without a size.
constexpr int64_t GetSizeInBytes(int64_t count, DataType type) {
  const int bits = OpwrightBits(type);
  if (count < 0 || bits == 0) return -1;
  return (count * bits + 7) / 8;
}

}  // namespace ge

// common/Common.h: the types that every part of the engine shares.
#ifndef ASCENDIE_COMMON_COMMON_H
#define ASCENDIE_COMMON_COMMON_H

#include <cstddef>
#include <cstdint>
#include <memory>

#define ASCENDIE_API __attribute__((visibility("default")))

namespace AscendIE {

enum class DataType : int32_t {
  UNKNOWN = -1,
  FLOAT = 0,
  FLOAT16 = 1,
  INT8 = 2,
  INT32 = 3,
  UINT8 = 4,
  INT16 = 6,
  UINT16 = 7,
  UINT32 = 8,
  INT64 = 9,
  UINT64 = 10,
  DOUBLE = 11,
  BOOL = 12,
  STRING = 13,
};

enum class DataLayout : int32_t {
  NCHW = 0,
  NHWC = 1,
  ND = 2,
  NC1HWC0 = 3,
  FRACTAL_Z = 4,
  NC1HWC0_C04 = 12,
  HWCN = 16,
  NDHWC = 27,
  FRACTAL_NZ = 29,
  NCDHW = 30,
  NDC1HWC0 = 32,
  Z_3D = 33,
};

enum class BuilderFlag : int32_t { FP16 = 0, FP32 = 1, MIX_FP32_WITH_FP16 = 2, MIX_FP16 = 3, QINT8 = 4 };

enum class ActivationKind {
  RELU,
  SIGMOID,
  LEAKY_RELU,
  HARD_SIGMOID,
  TANH,
  SWISH,
  GELU,
  ELU,
  SELU,
  SOFTPLUS,
  MISH,
  RELU6
};

enum class PoolingKind { MAX, AVERAGE, ADAPTIVE_AVERAGE };

enum class PaddingMode { EXPLICIT_ROUND_DOWN, EXPLICIT_ROUND_UP, SAME_UPPER, SAME_LOWER };

enum class MatrixOperation { NONE, TRANSPOSE };

enum class ReduceOperation { AVG, MAX, MIN, SUM, STD, PROD };

enum class ElementWiseOperation {
  MAX,
  MIN,
  ADD,
  SUB,
  MUL,
  DIV,
  LESS,
  POW,
  FLOOR_DIV,
  MOD,
  EQUAL,
  GREATER,
  GREATER_EQUAL,
  LESS_EQUAL,
  NOT_EQUAL,
  OR,
  AND,
  BITWISE_AND,
  BITWISE_OR,
  BITWISE_XOR,
  RIGHTSHIFT,
  // Beyond the documented ones.
  TRUNC_DIV,
  FMOD,
  ATAN2,
  XOR,
  LEFTSHIFT
};

enum class UnaryOperation {
  ABS,
  ACOS,
  ASIN,
  ATAN,
  CEIL,
  COS,
  COSH,
  ERF,
  EXP,
  FLOOR,
  LOG,
  NEG,
  NOT,
  RECIP,
  ROUND,
  RSQRT,
  SIGN,
  SIN,
  SINH,
  SQRT,
  TAN,
  ACOSH,
  ASINH,
  ATANH,
  LOG2,
  LOG1P,
  EXPM1,
  ISFINITE,
  ISINF,
  ISNAN,
  BITWISE_NOT,
  TRUNC,
  SQUARE,
  ERFC
};

enum class TopKOperation { MAX, MIN };

/// DEFAULT takes slices along an axis; ELEMENT takes an index for each element of the output; ND takes tuples of
/// indices.
enum class GatherOperation { DEFAULT, ELEMENT, ND };

/// The part that a scale belongs to: the whole tensor, each channel, each element.
enum class ScaleMode { KUNIFORM, KCHANNEL, KELEMENTWISE };

enum class ScatterMode { ELEMENT, ND };

enum class FillOperation { LINSPACE };

/// Values in the caller's memory; the engine copies them when they are given to it.
struct WeightsBuf {
  DataType type = DataType::FLOAT;
  const void* value = nullptr;
  uint64_t count = 0;
};

struct PermutationConf {
  int64_t rank = 0;
  int64_t order[8] = {};
};

struct Status {
  size_t code = 0;
  const char* desc = "";
};

/// A serialized model.
struct ModelData {
  std::shared_ptr<uint8_t> data;
  size_t size = 0;
};

}  // namespace AscendIE
#endif

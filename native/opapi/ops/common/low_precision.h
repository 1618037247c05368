// native/opapi/ops/common/low_precision.h
// Number formats of eight bits and fewer: what they hold, rounding to them, and the kinds of parameters that can have
// them although torch has no dtype for some (int4, float4, hifloat8).
#pragma once

#include "opapi/opapi.h"

namespace opwright::opapi {

enum class Rounding { kNearestEven, kNearestAway, kFloor, kCeil, kTrunc };

// "rint" (also an empty text), "round" (halves away from zero), "floor", "ceil", "trunc".
OPWRIGHT_API Rounding rounding_of(const std::string& mode, const char* parameter);
// The same for functions whose "round" means to the nearest even number.
OPWRIGHT_API Rounding even_rounding_of(const std::string& mode, const char* parameter);

struct LowFormat {
  aclDataType dtype;
  double lowest, highest;
  int largest_exponent;  // of the highest number, as a power of two
  bool integral;
};

// Throws 161002 for a type that nothing is quantized to. int32 stands for eight 4-bit integers.
OPWRIGHT_API const LowFormat& low_format(aclDataType dtype);

// float32 values rounded to numbers of the format; beyond its range they become the nearest bound. NaN becomes zero
// where the format has no NaN.
OPWRIGHT_API at::Tensor rounded(const at::Tensor& values, const LowFormat& format,
                                Rounding rounding = Rounding::kNearestEven);

// To the nearest number, halves to even, with saturation.
inline at::Tensor to_int8(const at::Tensor& values) { return rounded(values, low_format(ACL_INT8)).to(at::kChar); }

// Eight 4-bit integers in an int32, the first in the lowest bits; and back, as int8.
OPWRIGHT_API at::Tensor pack_int4(const at::Tensor& values);
OPWRIGHT_API at::Tensor unpack_int4(const at::Tensor& packed);

// An operand of integers: int32 is unpacked, others stay.
inline at::Tensor unpacked(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kInt ? unpack_int4(tensor) : tensor;
}

// Eight numbers of float4_e2m1 in each float32, as float32.
OPWRIGHT_API at::Tensor unpack_float4(const at::Tensor& packed);

// A quantized weight [..., k, n]: int32 and float32 hold eight 4-bit numbers in each element, along the dimension that
// has an eighth of its size.
OPWRIGHT_API at::Tensor unpacked_weight(const at::Tensor& weight, int64_t k);

// Callers leave optional tensors out as null or as empty ones.
inline OptionalTensor given(const OptionalTensor& tensor) {
  return tensor && tensor->numel() > 0 ? tensor : std::nullopt;
}

// An output of any format. `values` is the memory, or for formats without a dtype in torch a float32 tensor whose
// numbers are encoded when the operator has run.
struct Coded {
  at::Tensor values;
  aclDataType dtype = ACL_DT_UNDEFINED;
  bool defined() const { return values.defined(); }
  const LowFormat& format() const { return low_format(dtype); }
};

// The output `out` of a function whose parameter `code` names its type too: an aclDataType, of which callers pass 32
// bits. Throws 161002 if they differ.
OPWRIGHT_API Coded& typed(Coded& out, int64_t code, const char* parameter = "dstType");
OPWRIGHT_API at::Tensor& typed(at::Tensor& out, at::ScalarType dtype, const char* parameter = "dstType");

// Rounds float32 `values` to the format of `out` and writes them. int32 takes eight values in each element.
OPWRIGHT_API void store(Coded& out, const at::Tensor& values, Rounding rounding = Rounding::kNearestEven);

// Symmetrical dynamic quantization with one scale for each row along the last dimension: the largest magnitude becomes
// `highest` (0: the highest number of the format), and `scale` takes what the results are to be multiplied with.
OPWRIGHT_API void store_rows(Coded& out, at::Tensor& scale, const at::Tensor& values, double highest = 0,
                             Rounding rounding = Rounding::kNearestEven);

namespace kind {

OPWRIGHT_API bool is_coded(aclDataType dtype);  // a format that torch has no dtype for
OPWRIGHT_API StoredTensor keep_coded(const aclTensor* tensor, const char* name, bool required);
// int4 as int8, others as float16, which holds all of their numbers.
OPWRIGHT_API at::Tensor decode(const aclTensor& tensor, Operands operands);
// An output, in the dtype that it has (not widened: what is written is converted).
OPWRIGHT_API Coded open_coded(const StoredTensor& stored, Operands operands);
OPWRIGHT_API void close_coded(const Coded& value, const StoredTensor& stored, const char* name);

inline bool is_coded(const StoredTensor& stored) { return stored.desc && is_coded(stored.desc->dtype); }

// A code of aclDataType in a wider parameter: callers pass 32 bits.
struct DtypeCode : Plain<int64_t> {
  static constexpr bool kSimple = false;
  static int64_t keep(int64_t value, const char*) { return static_cast<int32_t>(value); }
};

// In for tensors of any format: const at::Tensor&, decoded.
struct CodedIn : In {
  static constexpr bool kSimple = false;
  static Stored keep(const aclTensor* tensor, const char* name) { return keep_coded(tensor, name, true); }
  static Value open(const Stored& stored, const char* name, const Opening& opening) {
    return is_coded(stored) ? Value{decode(*stored.desc, opening.operands), {}} : In::open(stored, name, opening);
  }
  static bool steady(const Value& value, const Stored& stored) {
    return !is_coded(stored) && In::steady(value, stored);
  }
};

// Coded&
template <bool kRequired>
struct CodedOutKind {
  using C = aclTensor*;
  using Stored = StoredTensor;
  using Value = Coded;
  using Body = Coded&;
  static constexpr Role kRole = Role::kOutput;
  static constexpr Access kAccess = access_of(kRole, false);
  static constexpr bool kSimple = false;
  static Stored keep(const aclTensor* tensor, const char* name) { return keep_coded(tensor, name, kRequired); }
  static Value open(const Stored& stored, const char*, const Opening& opening) {
    return open_coded(stored, opening.operands);
  }
  static Body get(Value& value) { return value; }
  static bool steady(const Value&, const Stored&) { return false; }
  static void close(const Value& value, const Stored& stored, const char* name) { close_coded(value, stored, name); }
  static void each_tensor(Stored& stored, std::vector<std::vector<aclTensor*>>& tensors) {
    tensors.push_back({stored.desc ? &*stored.desc : nullptr});
  }
  static std::string describe(const Stored& stored) { return stored.desc ? summary(*stored.desc) : "null"; }
  static void sign(const Stored& stored, Signature& signature) { sign_tensor(stored, signature); }
};
using CodedOut = CodedOutKind<true>;
using OptCodedOut = CodedOutKind<false>;

}  // namespace kind

extern template struct OperationsOf<kind::DtypeCode>;
extern template struct OperationsOf<kind::CodedIn>;
extern template struct OperationsOf<kind::CodedOut>;
extern template struct OperationsOf<kind::OptCodedOut>;

}  // namespace opwright::opapi

// native/opapi/kinds.h
// The kinds of parameters an aclnn function can have. A kind says: the C type in the exported signature (C), what the
// executor keeps (Stored, made by `keep` in phase 1), what exists while the operator runs (Value, made by `open`; an
// output is written back by `close`), what the body of the table line sees (Body, given by `get`), and what of it
// decides whether phase 1 accepts a call (`sign`).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/OptionalArrayRef.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "nnopbase/objects.h"
#include "opapi/signature.h"
#include "opapi/tensors.h"

namespace opwright::opapi {

// The tensors that a body gets: the caller's, or those that a dry run puts in their place (dry_run.h).
enum class Operands { kMemory, kNoMemory, kEmpty };

// How tensors are opened in this attempt.
struct Opening {
  // Compute in wider dtypes: the second attempt, when ATen has no kernel for the operands' own.
  bool widen = false;
  Operands operands = Operands::kMemory;
};

namespace kind {

enum class Role { kInput, kOutput, kValue };

constexpr Access access_of(Role role, bool read_too) {
  return {role == Role::kInput || read_too, role == Role::kOutput};
}

[[noreturn]] inline void reject_null(const char* name) {
  fail(ACLNN_ERR_PARAM_NULLPTR, "parameter '", name, "' is null, but it is required");
}

// kSimple, in a kind: a function whose kinds all are can also be run on empty tensors (require_kernels in dry_run.h).

// Common to all tensor kinds: a copied descriptor, absent if the argument was null.
struct StoredTensor {
  std::optional<aclTensor> desc;
};

inline bool is_half(at::ScalarType dtype) { return dtype == at::kHalf || dtype == at::kBFloat16; }

// The dtype in which every operator has a kernel that gives the same numbers: float32 for half precision, int64 for
// unsigned integers that fit.
inline at::ScalarType widened(at::ScalarType dtype) {
  if (is_half(dtype)) return at::kFloat;
  return dtype == at::kUInt16 || dtype == at::kUInt32 ? at::kLong : dtype;
}

// A tensor as the body sees it, and the device memory behind it when that is another tensor (widened, or int32
// indices).
struct OpenTensor {
  at::Tensor seen;
  at::Tensor memory;  // defined only if `seen` is a temporary
};

OPWRIGHT_API StoredTensor keep_tensor(const aclTensor* tensor, const char* name, bool required);
OPWRIGHT_API OpenTensor open_tensor(const StoredTensor& stored, at::ScalarType as);
// For dry runs: a tensor of this description that has no memory, or no elements.
OPWRIGHT_API at::Tensor stand_in(const aclTensor& desc, at::ScalarType dtype, Role role, Operands operands);

inline void sign_tensor(const StoredTensor& stored, Signature& signature) {
  if (stored.desc) {
    signature.add(*stored.desc);
  } else {
    signature.add_absent();
  }
}
// True if the tensor can serve the next run as it is: no temporary, and the run did not change its geometry.
OPWRIGHT_API bool is_steady(const OpenTensor& tensor, const StoredTensor& stored);
// Checks the shape and writes a temporary back.
OPWRIGHT_API void close_output(const OpenTensor& tensor, const StoredTensor& stored, const char* name);

// Reports an output that does not have the shape which the operator produced.
OPWRIGHT_API void check_shape(const OpenTensor& tensor, const StoredTensor& stored, const char* name);

// kReadToo: an output that is read before it is written.
template <bool kRequired, Role kTheRole, bool kIndex, bool kReadToo = false>
struct TensorKind {
  using C = std::conditional_t<kTheRole == Role::kInput, const aclTensor*, aclTensor*>;
  using Stored = StoredTensor;
  using Value = OpenTensor;
  using Body = std::conditional_t<kTheRole == Role::kInput, const at::Tensor&, at::Tensor&>;
  static constexpr Role kRole = kTheRole;
  static constexpr Access kAccess = access_of(kTheRole, kReadToo);
  static constexpr bool kSimple = kRequired;

  static Stored keep(const aclTensor* tensor, const char* name) { return keep_tensor(tensor, name, kRequired); }
  static Value open(const Stored& stored, const char*, const Opening& opening) {
    if (!stored.desc) return {};
    const at::ScalarType dtype = scalar_type(stored.desc->dtype);
    // ATen wants int64 indices; aclnn allows int32 as well.
    const bool index = kIndex && dtype == at::kInt;
    const at::ScalarType as = index ? at::kLong : opening.widen ? widened(dtype) : dtype;
    if (opening.operands != Operands::kMemory) return {stand_in(*stored.desc, as, kRole, opening.operands), {}};
    return open_tensor(stored, as);
  }
  static Body get(Value& value) { return value.seen; }
  static bool steady(const Value& value, const Stored& stored) { return is_steady(value, stored); }
  static void close(const Value& value, const Stored& stored, const char* name) { close_output(value, stored, name); }
  static void each_tensor(Stored& stored, std::vector<std::vector<aclTensor*>>& tensors) {
    tensors.push_back({stored.desc ? &*stored.desc : nullptr});
  }
  static std::string describe(const Stored& stored) { return stored.desc ? summary(*stored.desc) : "null"; }
  static void sign(const Stored& stored, Signature& signature) { sign_tensor(stored, signature); }
};

using In = TensorKind<true, Role::kInput, false>;          // const at::Tensor&
using Index = TensorKind<true, Role::kInput, true>;        // the same; int32 arrives as int64
using Out = TensorKind<true, Role::kOutput, false>;        // at::Tensor&, to be written
using OutIndex = TensorKind<true, Role::kOutput, true>;    // the same; written as int64, stored as the caller wants
using Ref = TensorKind<true, Role::kOutput, false, true>;  // at::Tensor&, read and written in place
using OptOut = TensorKind<false, Role::kOutput, false>;    // at::Tensor&, undefined if the caller passed null

// const std::optional<at::Tensor>&, as ATen takes it.
template <bool kIndex>
struct OptionalTensorKind : TensorKind<false, Role::kInput, kIndex> {
  using Base = TensorKind<false, Role::kInput, kIndex>;
  struct Value {
    OpenTensor open;
    std::optional<at::Tensor> seen;
  };
  using Body = const std::optional<at::Tensor>&;
  static Value open(const StoredTensor& stored, const char* name, const Opening& opening) {
    Value value{Base::open(stored, name, opening), std::nullopt};
    if (value.open.seen.defined()) value.seen = value.open.seen;
    return value;
  }
  static Body get(Value& value) { return value.seen; }
  static bool steady(const Value& value, const StoredTensor& stored) { return is_steady(value.open, stored); }
};
using OptIn = OptionalTensorKind<false>;
using OptIndex = OptionalTensorKind<true>;

// An output whose shape only the computation knows (the seven synchronous functions). The body sees an empty tensor
// that can grow to the size of the storage, for ATen's out= forms, or assigns it another tensor, which is then copied.
// The caller's descriptor, which outlives phase 2 there, gets the shape.
struct DynamicOut {
  using C = aclTensor*;
  struct Stored {
    aclTensor desc;
    aclTensor* caller;
  };
  struct Value {
    at::Tensor room;  // the storage
    at::Tensor seen;
  };
  using Body = at::Tensor&;
  static constexpr Role kRole = Role::kOutput;
  static constexpr Access kAccess = access_of(kRole, false);
  static constexpr bool kSimple = false;
  OPWRIGHT_API static Stored keep(aclTensor* tensor, const char* name);
  OPWRIGHT_API static Value open(const Stored& stored, const char*, const Opening& opening);
  static Body get(Value& value) { return value.seen; }
  static bool steady(const Value&, const Stored&) { return false; }
  OPWRIGHT_API static void close(const Value& value, const Stored& stored, const char* name);
  static void each_tensor(Stored& stored, std::vector<std::vector<aclTensor*>>& tensors) {
    tensors.push_back({&stored.desc});
  }
  static std::string describe(const Stored& stored) { return summary(stored.desc); }
  static void sign(const Stored& stored, Signature& signature) { signature.add(stored.desc); }
};

template <bool kRequired, Role kTheRole, bool kIndex, bool kReadToo = false>
struct TensorListKind {
  using C = std::conditional_t<kTheRole == Role::kInput, const aclTensorList*, aclTensorList*>;
  using Element = TensorKind<false, kTheRole, kIndex>;
  using Stored = std::vector<StoredTensor>;
  struct Value {
    std::vector<OpenTensor> open;
    std::vector<at::Tensor> seen;
  };
  using Body = std::vector<at::Tensor>&;  // converts to at::TensorList; null entries are undefined tensors
  static constexpr Role kRole = kTheRole;
  static constexpr Access kAccess = access_of(kTheRole, kReadToo);
  static constexpr bool kSimple = false;

  static Stored keep(const aclTensorList* list, const char* name) {
    if (list == nullptr) {
      if (kRequired) reject_null(name);
      return {};
    }
    Stored stored;
    stored.reserve(list->tensors.size());
    for (const aclTensor* tensor : list->tensors) stored.push_back(keep_tensor(tensor, name, false));
    return stored;
  }
  static Value open(const Stored& stored, const char* name, const Opening& opening) {
    Value value;
    for (const StoredTensor& element : stored) {
      value.open.push_back(Element::open(element, name, opening));
      value.seen.push_back(value.open.back().seen);
    }
    return value;
  }
  static Body get(Value& value) { return value.seen; }
  static bool steady(const Value& value, const Stored& stored) {
    for (size_t i = 0; i < stored.size(); ++i) {
      if (!is_steady({value.seen[i], value.open[i].memory}, stored[i])) return false;
    }
    return true;
  }
  static void close(const Value& value, const Stored& stored, const char* name) {
    for (size_t i = 0; i < stored.size(); ++i) {
      Element::close({value.seen[i], value.open[i].memory}, stored[i], name);
    }
  }
  static void each_tensor(Stored& stored, std::vector<std::vector<aclTensor*>>& tensors) {
    tensors.emplace_back();
    for (StoredTensor& element : stored) tensors.back().push_back(element.desc ? &*element.desc : nullptr);
  }
  static std::string describe(const Stored& stored) {
    std::string result;
    for (const StoredTensor& element : stored) {
      result += (result.empty() ? "" : ", ") + Element::describe(element);
    }
    return "[" + result + "]";
  }
  static void sign(const Stored& stored, Signature& signature) {
    signature.add(static_cast<int64_t>(stored.size()));
    for (const StoredTensor& element : stored) sign_tensor(element, signature);
  }
};
using TensorList = TensorListKind<true, Role::kInput, false>;
using OptTensorList = TensorListKind<false, Role::kInput, false>;  // torch_npu passes an empty list as null
using IndexList = TensorListKind<true, Role::kInput, true>;
using OutList = TensorListKind<true, Role::kOutput, false>;
using RefList = TensorListKind<true, Role::kOutput, false, true>;
using OptRefList = TensorListKind<false, Role::kOutput, false, true>;  // the same; an empty list arrives as null

// For outputs as above, for other parameters nothing.
template <bool kRequired, bool kIndex, bool kReadToo>
void check_shape(TensorKind<kRequired, Role::kOutput, kIndex, kReadToo>, const OpenTensor& tensor,
                 const StoredTensor& stored, const char* name) {
  check_shape(tensor, stored, name);
}
template <class Kind, class Value, class Stored>
void check_shape(Kind, const Value&, const Stored&, const char*) {}

// Everything that is not a tensor: a value that is copied in phase 1 and handed to the body.
template <class CType, class Kept, class BodyType>
struct ValueKind {
  using C = CType;
  using Stored = Kept;
  using Value = const Kept;  // nothing to open
  static constexpr Role kRole = Role::kValue;
  static constexpr Access kAccess{};
  static constexpr bool kSimple = false;
  using Body = BodyType;
  static Body get(Value& value) { return value; }
};

// A plain C value, passed through. The C type is the ABI: torch_npu converts nothing.
template <class T>
struct Plain : ValueKind<T, T, T> {
  static constexpr bool kSimple = true;
  static T keep(T value, const char*) { return value; }
  static std::string describe(const T& value) { return std::to_string(value); }
  static void sign(const T& value, Signature& signature) {
    if constexpr (std::is_floating_point_v<T>) {
      signature.add(double{value});
    } else {
      signature.add(static_cast<int64_t>(value));
    }
  }
};
using Int = Plain<int64_t>;
using Int32 = Plain<int32_t>;
using Int8 = Plain<int8_t>;
using UInt64 = Plain<uint64_t>;
using Double = Plain<double>;
using Float = Plain<float>;
using Bool = Plain<bool>;

// cubeMathType, by which dtype the matrix unit computes: without effect on a CPU, where it is the operands' own.
struct MathType : Plain<int8_t> {
  static int8_t keep(int8_t value, const char* name) {
    // CANN's own functions pass -1 to one another.
    require(value >= -1 && value <= 4, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", int{value},
            "; allowed: 0 to 4");
    return value;
  }
};

// aclDataType or a 32-bit code in a wider parameter (callers pass 32 bits): at::ScalarType.
template <class T>
struct DtypeKind : ValueKind<T, at::ScalarType, at::ScalarType> {
  static constexpr bool kSimple = true;
  static at::ScalarType keep(T value, const char* name) {
    try {
      return scalar_type(static_cast<aclDataType>(static_cast<int32_t>(value)));
    } catch (const Error& error) {
      throw Error(error.code(), text("parameter '", name, "': ", error.text()));
    }
  }
  static std::string describe(const at::ScalarType& value) { return c10::toString(value); }
  static void sign(const at::ScalarType& value, Signature& signature) { signature.add_choice(static_cast<int>(value)); }
};
using Dtype = DtypeKind<aclDataType>;
using DtypeInt = DtypeKind<int64_t>;

struct Scalar : ValueKind<const aclScalar*, at::Scalar, const at::Scalar&> {
  static constexpr bool kSimple = true;
  static at::Scalar keep(const aclScalar* value, const char* name) {
    if (value == nullptr) reject_null(name);
    return scalar(*value);
  }
  OPWRIGHT_API static std::string describe(const at::Scalar& value);
  static void sign(const at::Scalar& value, Signature& signature) { signature.add(value); }
};

// A scalar as a tensor operand, in dtype promotion the same as a Python number. ATen's own Scalar overloads with out=
// go through a temporary result; the Tensor overloads write into `out`, and replays find the operand made.
class OPWRIGHT_API ScalarOperand {
 public:
  explicit ScalarOperand(const at::Scalar& value) : value_(value) {}
  // For an operation with `other`: in the dtype that both will have, unless ATen computes with more precision.
  const at::Tensor& beside(const at::Tensor& other);

 private:
  at::Scalar value_;
  at::ScalarType common_ = at::kDouble;
  at::Tensor tensor_;
};

struct Operand {
  using C = const aclScalar*;
  using Stored = at::Scalar;
  using Value = ScalarOperand;
  using Body = ScalarOperand&;
  static constexpr Role kRole = Role::kValue;
  static constexpr Access kAccess{};
  static constexpr bool kSimple = true;
  static Stored keep(const aclScalar* value, const char* name) { return Scalar::keep(value, name); }
  static Value open(const Stored& stored, const char*, const Opening&) { return ScalarOperand(stored); }
  static Body get(Value& value) { return value; }
  static bool steady(const Value&, const Stored&) { return true; }
  static std::string describe(const Stored& value) { return Scalar::describe(value); }
  static void sign(const Stored& value, Signature& signature) { signature.add(value); }
};

struct OptScalar : ValueKind<const aclScalar*, std::optional<at::Scalar>, const std::optional<at::Scalar>&> {
  static std::optional<at::Scalar> keep(const aclScalar* value, const char*) {
    return value == nullptr ? std::nullopt : std::optional<at::Scalar>(scalar(*value));
  }
  static std::string describe(const std::optional<at::Scalar>& value) {
    return value ? Scalar::describe(*value) : "null";
  }
  static void sign(const std::optional<at::Scalar>& value, Signature& signature) {
    if (value) {
      signature.add(*value);
    } else {
      signature.add_absent();
    }
  }
};

struct ScalarList : ValueKind<const aclScalarList*, std::vector<at::Scalar>, const std::vector<at::Scalar>&> {
  static std::vector<at::Scalar> keep(const aclScalarList* list, const char* name) {
    if (list == nullptr) reject_null(name);
    std::vector<at::Scalar> values;
    for (const aclScalar* value : list->scalars) {
      if (value == nullptr) reject_null(name);
      values.push_back(scalar(*value));
    }
    return values;
  }
  static std::string describe(const std::vector<at::Scalar>& values) { return text(values.size(), " scalars"); }
  static void sign(const std::vector<at::Scalar>& values, Signature& signature) {
    signature.add(static_cast<int64_t>(values.size()));
    for (const at::Scalar& value : values) signature.add(value);
  }
};

// An array object: null is an error, or stands for "none".
template <class Array, class Element>
struct ArrayKind : ValueKind<const Array*, std::vector<Element>, c10::ArrayRef<Element>> {
  static std::vector<Element> keep(const Array* array, const char* name) {
    if (array == nullptr) reject_null(name);
    return {array->values.begin(), array->values.end()};
  }
  static std::string describe(const std::vector<Element>& values) {
    std::string result;
    for (const auto value : values) result += (result.empty() ? "" : ", ") + std::to_string(value);
    return "[" + result + "]";
  }
  static void sign(const std::vector<Element>& values, Signature& signature) {
    signature.add(static_cast<int64_t>(values.size()));
    for (const Element value : values) Plain<Element>::sign(value, signature);
  }
};
struct Ints : ArrayKind<aclIntArray, int64_t> {  // at::IntArrayRef
  static constexpr bool kSimple = true;
};
using Floats = ArrayKind<aclFloatArray, float>;  // c10::ArrayRef<float>
using Bools = ArrayKind<aclBoolArray, uint8_t>;  // c10::ArrayRef<uint8_t>; see `mask` in opapi.h

struct BoolsOrNone : Bools {  // null is an empty array
  static std::vector<uint8_t> keep(const aclBoolArray* array, const char*) {
    return array == nullptr ? std::vector<uint8_t>() : array->values;
  }
};

struct OptInts : ValueKind<const aclIntArray*, std::optional<std::vector<int64_t>>, at::OptionalIntArrayRef> {
  static std::optional<std::vector<int64_t>> keep(const aclIntArray* array, const char*) {
    return array == nullptr ? std::nullopt : std::optional<std::vector<int64_t>>(array->values);
  }
  static at::OptionalIntArrayRef get(const std::optional<std::vector<int64_t>>& value) {
    return value ? at::OptionalIntArrayRef(at::IntArrayRef(*value)) : at::OptionalIntArrayRef(std::nullopt);
  }
  static std::string describe(const std::optional<std::vector<int64_t>>& value) {
    return value ? Ints::describe(*value) : "null";
  }
  static void sign(const std::optional<std::vector<int64_t>>& value, Signature& signature) {
    if (value) {
      Ints::sign(*value, signature);
    } else {
      signature.add_absent();
    }
  }
};

// A C string, copied (it belongs to the caller's stack); null arrives as an empty text.
struct Text : ValueKind<const char*, std::string, const std::string&> {
  static std::string keep(const char* value, const char*) { return value == nullptr ? std::string() : value; }
  static std::string describe(const std::string& value) { return value; }
  static void sign(const std::string& value, Signature& signature) { signature.add(value); }
};

// The name of the communicator whose ranks an operator meets. Its failure is reported to them (executor.cpp).
struct Group : Text {};

}  // namespace kind
}  // namespace opwright::opapi

// clang-format off: one name after the other.
#define OPWRIGHT_EACH_KIND(DO) \
  DO(In) DO(Index) DO(Out) DO(OutIndex) DO(Ref) DO(OptOut) DO(OptIn) DO(OptIndex) DO(DynamicOut) \
  DO(TensorList) DO(OptTensorList) DO(IndexList) DO(OutList) DO(RefList) DO(OptRefList) DO(Int) DO(Int32) DO(Int8) DO(MathType) \
  DO(UInt64) DO(Double) DO(Float) DO(Bool) DO(Dtype) DO(DtypeInt) DO(Scalar) DO(Operand) DO(OptScalar) \
  DO(ScalarList) DO(Ints) DO(Floats) DO(Bools) DO(BoolsOrNone) DO(OptInts) DO(Text) DO(Group)
// clang-format on

// native/live/plan/plan.h
// The steps of a kernel, as data: opwright.kit.live derives it from the declaration, plan_reader.cpp beside it reads
// it. Arguments are positions in the schema. native/live/README.md has the form in Python.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace opwright::live {

enum class Operation : uint8_t {
  kConst,     // value
  kDim,       // axis `value` of tensor `argument`
  kRank,      // of tensor `argument`
  kArgument,  // the int `argument`
  kLength,    // of list `argument`
  kElement,   // element `value` of int list `argument`
  kReal,      // the constant `real`; only checks have it
  kAdd,
  kSubtract,
  kMultiply,
  kFloorDivide,
  kCeilDivide,
  kModulo,
  kMinimum,
  kMaximum,
};

struct Size {
  Operation operation = Operation::kConst;
  size_t argument = 0;
  std::optional<int64_t> index;  // kDim, kRank: of the tensor in a list
  int64_t value = 0;
  std::vector<Size> operands;  // two, or none
  double real = 0;
};

struct Item;
using Shape = std::vector<Item>;

struct Item {
  enum class Kind : uint8_t { kSize, kSpan, kSizes, kBroadcast, kReduced };
  Kind kind = Kind::kSize;
  Size size;
  size_t argument = 0;            // the tensor of kSpan and kReduced, the int list of kSizes
  std::optional<int64_t> index;   // kSpan, kReduced: of the tensor in a list
  int64_t start = 0;              // kSpan
  std::optional<int64_t> stop;    // kSpan
  std::vector<Shape> shapes;      // kBroadcast
  std::optional<size_t> dims;     // kReduced
  std::optional<size_t> keepdim;  // kReduced
};

struct DtypeRule {
  enum class Kind : uint8_t { kLike, kFixed, kPromote, kArgument };
  Kind kind = Kind::kFixed;
  std::vector<size_t> arguments;  // one, except for kPromote
  at::ScalarType fixed = at::ScalarType::Undefined;
  std::shared_ptr<const DtypeRule> otherwise;  // kArgument: where the argument is None
};

struct Output {
  std::optional<size_t> argument;  // written in place instead of allocated
  Shape shape;
  DtypeRule dtype;
};

// A C type that an aclnn function can take (opwright.aclnn.signature has the same list).
enum class CType : uint8_t {
  kTensor,
  kTensorList,
  kScalar,
  kScalarList,
  kIntArray,
  kFloatArray,
  kBoolArray,
  kText,
  kInteger,
  kDouble,
  kFloat,
  kBool,
  kDtype,
};

// Where a parameter's value comes from.
struct Source {
  enum class Kind : uint8_t { kArgument, kOutput, kOutputs, kConstant, kSize, kSeed, kOffset };
  Kind kind = Kind::kArgument;
  std::vector<size_t> positions;        // of the argument or the outputs; kSeed, kOffset: of the generator
  std::optional<c10::IValue> constant;  // kConstant; for kArgument, what stands for None
  Size size;                            // kSize
};

struct Parameter {
  CType ctype = CType::kTensor;
  std::string c_name;           // aclTensor, int32_t, …
  int64_t least = 0, most = 0;  // kInteger: the range of the C type
  Source source;
  std::string text;  // "argument 'x'", for errors
};

struct Return {
  bool is_output = false;
  size_t position = 0;
};

enum class Comparison : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual, kEqual, kNotEqual };

// A condition on the arguments.
struct Check {
  enum class Kind : uint8_t { kDtype, kDtypeRule, kRank, kSize, kSpan, kValue, kMember };
  Kind kind = Kind::kRank;
  size_t argument = 0;
  std::vector<at::ScalarType> dtypes;  // kDtype
  DtypeRule dtype;                     // kDtypeRule
  int64_t number = 0;                  // the rank of kRank, the axis of kSize
  bool at_least = false;               // kRank
  Size left, right;                    // kValue; right is what kSize asks for
  Comparison comparison = Comparison::kEqual;
  std::vector<Shape> spans;          // kSpan: what is there, what is asked for
  std::vector<c10::IValue> members;  // kMember: int64_t, double or text, as the argument is
  std::vector<std::string> texts;    // what is said if it fails, around the values
  std::vector<size_t> used;          // arguments; if one of them is None, the check holds
};

struct Plan {
  std::string name;      // of the operator
  std::string function;  // aclnn function of phase 2
  std::string phase1;
  std::vector<std::string> arguments;  // names
  std::vector<Output> outputs;
  std::vector<Parameter> parameters;
  std::vector<Return> returns;
  std::vector<Check> checks;
  std::vector<size_t> clone;
  std::vector<size_t> contiguous;  // tensors that the function needs without gaps; written ones are copied back
  std::vector<bool> written;       // by argument
  std::vector<size_t> passed;      // arguments whose tensors the function reads or writes: they must be on one device
};

}  // namespace opwright::live

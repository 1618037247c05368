// register/op_def.h
// The definition of an operator: its inputs, outputs and attributes, its functions, the chips it is for. These classes
// only keep their arguments; the package reads it (package/definition.h) and checks it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/operator.h"
#include "graph/types.h"
#include "register/op_impl_registry.h"

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class DependScope : uint32_t { ALL = 0, TILING = 1 };
enum class FollowType : uint32_t { ALL = 0, DTYPE = 1, FORMAT = 2, SHAPE = 3 };
enum class FormatCheckOption : uint32_t { DEFAULT = 0, STRICT = 1 };
enum class CommentSection : uint32_t { BRIEF, CONSTRAINTS, RESTRICTIONS, SEE, THIRDPARTYFWKCOMPAT, CATEGORY };
enum class HcclServerType : uint32_t { AICPU, AICORE, CCU, MAX };

enum class ScalarType : uint32_t {
  UINT64 = 0,
  INT64 = 1,
  UINT32 = 2,
  INT32 = 3,
  UINT16 = 4,
  INT16 = 5,
  UINT8 = 6,
  INT8 = 7,
  FLOAT32 = 8,
  FLOAT16 = 9,
  INVALID_DTYPE = static_cast<uint32_t>(-1),
};

union ScalarNum {
  uint64_t value_u64;
  int64_t value_i64;
  float value_f32;
  ScalarNum() : value_u64(0) {}
  explicit ScalarNum(uint64_t value) : value_u64(value) {}
  explicit ScalarNum(int64_t value) : value_i64(value) {}
  explicit ScalarNum(float value) : value_f32(value) {}
};

struct ScalarVar {
  ScalarType scalar_type = ScalarType::INVALID_DTYPE;
  ScalarNum scalar_num;
  ScalarVar() = default;
  ScalarVar(ScalarType type, uint64_t value) : scalar_type(type), scalar_num(value) {}
  ScalarVar(ScalarType type, int64_t value) : scalar_type(type), scalar_num(value) {}
  ScalarVar(ScalarType type, int value) : ScalarVar(type, static_cast<int64_t>(value)) {}
  ScalarVar(ScalarType type, unsigned int value) : ScalarVar(type, static_cast<uint64_t>(value)) {}
  ScalarVar(ScalarType type, float value) : scalar_type(type), scalar_num(value) {}
  ScalarVar(ScalarType type, double value) : ScalarVar(type, static_cast<float>(value)) {}
  bool operator==(const ScalarVar& other) const {
    return scalar_type == other.scalar_type && scalar_num.value_u64 == other.scalar_num.value_u64;
  }
};

// Settings of a port.
struct PortData {
  std::string name;
  Option presence = REQUIRED;
  std::vector<ge::DataType> dtypes;
  std::vector<ge::Format> formats;
  bool dtypes_are_list = false;  // each goes with every other port's
  bool formats_are_list = false;
  Option value_depend = IGNORE;
  bool ignore_contiguous = false;
  bool auto_contiguous = false;
  bool scalar = false;
  bool scalar_list = false;
  ge::DataType to_dtype = ge::DT_UNDEFINED;
  std::string to_name;
  uint32_t version = 0;
  bool clear = false;  // InitValue of a plain number, which may be 0 only
  uint64_t clear_to = 0;
  std::vector<ScalarVar> initial;
  bool shape_depends_on_compute = false;
  std::string follows;
  FollowType follow_type = FollowType::ALL;
};

class OpParamDef {
 public:
  explicit OpParamDef(const char* name) { data_.name = name; }

  OpParamDef& ParamType(Option presence) { return set(data_.presence, presence); }
  OpParamDef& DataType(std::vector<ge::DataType> types) { return set(data_.dtypes, std::move(types)); }
  OpParamDef& DataTypeList(std::vector<ge::DataType> types) {
    data_.dtypes_are_list = true;
    return set(data_.dtypes, std::move(types));
  }
  OpParamDef& Format(std::vector<ge::Format> formats) { return set(data_.formats, std::move(formats)); }
  OpParamDef& FormatList(std::vector<ge::Format> formats) {
    data_.formats_are_list = true;
    return set(data_.formats, std::move(formats));
  }
  OpParamDef& UnknownShapeFormat(std::vector<ge::Format>) { return *this; }     // deprecated, says what Format says
  OpParamDef& DataTypeForBinQuery(std::vector<ge::DataType>) { return *this; }  // which binaries are shared
  OpParamDef& FormatForBinQuery(std::vector<ge::Format>) { return *this; }
  OpParamDef& ValueDepend(Option depend) { return set(data_.value_depend, depend); }
  OpParamDef& ValueDepend(Option depend, DependScope) { return set(data_.value_depend, depend); }
  OpParamDef& IgnoreContiguous() { return set(data_.ignore_contiguous, true); }
  OpParamDef& AutoContiguous() { return set(data_.auto_contiguous, true); }
  OpParamDef& Scalar() { return set(data_.scalar, true); }
  OpParamDef& ScalarList() { return set(data_.scalar_list, true); }
  OpParamDef& To(const ge::DataType type) { return set(data_.to_dtype, type); }
  OpParamDef& To(const char* name) { return set(data_.to_name, std::string(name)); }
  OpParamDef& Version(uint32_t version) { return set(data_.version, version); }
  OpParamDef& InitValue(uint64_t value) {
    data_.clear = true;
    return set(data_.clear_to, value);
  }
  OpParamDef& InitValue(const ScalarVar& value) { return set(data_.initial, std::vector<ScalarVar>{value}); }
  OpParamDef& InitValue(const std::vector<ScalarVar>& values) { return set(data_.initial, values); }
  OpParamDef& OutputShapeDependOnCompute() { return set(data_.shape_depends_on_compute, true); }
  OpParamDef& Follow(const char* name) { return Follow(name, FollowType::ALL); }
  OpParamDef& Follow(const char* name, FollowType type) {
    data_.follow_type = type;
    return set(data_.follows, std::string(name));
  }
  OpParamDef& Comment(const char*) { return *this; }

  const PortData& data() const { return data_; }

 private:
  template <class T>
  OpParamDef& set(T& field, T value) {
    field = std::move(value);
    return *this;
  }

  PortData data_;
};

// Settings of an attribute. The value is kept as the bytes that host code reads.
struct AttributeData {
  std::string name;
  bool required = true;
  const char* type = "";
  bool has_default = false;
  uint32_t version = 0;
  bool bool_value = false;
  int64_t int_value = 0;
  float float_value = 0;
  std::string text;
  std::vector<bool> bools;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::vector<int64_t>> int_lists;
};

class OpAttrDef {
 public:
  explicit OpAttrDef(const char* name) : text_(name) { data_.name = name; }

  OpAttrDef& AttrType(Option presence) {
    data_.required = presence == REQUIRED;
    return *this;
  }
  OpAttrDef& Bool() { return type("Bool"); }
  OpAttrDef& Bool(bool value) { return type("Bool", data_.bool_value, value); }
  OpAttrDef& Float() { return type("Float"); }
  OpAttrDef& Float(float value) { return type("Float", data_.float_value, value); }
  OpAttrDef& Int() { return type("Int"); }
  OpAttrDef& Int(int64_t value) { return type("Int", data_.int_value, value); }
  OpAttrDef& String() { return type("String"); }
  OpAttrDef& String(const char* value) { return type("String", data_.text, std::string(value)); }
  OpAttrDef& ListBool() { return type("ListBool"); }
  OpAttrDef& ListBool(std::vector<bool> value) { return type("ListBool", data_.bools, std::move(value)); }
  OpAttrDef& ListFloat() { return type("ListFloat"); }
  OpAttrDef& ListFloat(std::vector<float> value) { return type("ListFloat", data_.floats, std::move(value)); }
  OpAttrDef& ListInt() { return type("ListInt"); }
  OpAttrDef& ListInt(std::vector<int64_t> value) { return type("ListInt", data_.ints, std::move(value)); }
  OpAttrDef& ListListInt() { return type("ListListInt"); }
  OpAttrDef& ListListInt(std::vector<std::vector<int64_t>> value) {
    return type("ListListInt", data_.int_lists, std::move(value));
  }
  OpAttrDef& Version(uint32_t version) {
    data_.version = version;
    return *this;
  }
  OpAttrDef& Comment(const char*) { return *this; }
  ge::AscendString& GetName() { return text_; }
  bool IsRequired() const { return data_.required; }

  const AttributeData& data() const { return data_; }

 private:
  OpAttrDef& type(const char* name) {
    data_.type = name;
    return *this;
  }
  template <class T>
  OpAttrDef& type(const char* name, T& field, T value) {
    field = std::move(value);
    data_.has_default = true;
    return type(name);
  }

  ge::AscendString text_;
  AttributeData data_;
};

// Ports in the order of their first mention. References stay valid when more are added.
class Ports {
 public:
  OpParamDef& named(const char* name) {
    for (OpParamDef& port : ports_) {
      if (port.data().name == name) return port;
    }
    return ports_.emplace_back(name);
  }
  const std::deque<OpParamDef>& all() const { return ports_; }

 private:
  std::deque<OpParamDef> ports_;
};

class OpAICoreConfig {
 public:
  OpAICoreConfig() = default;
  explicit OpAICoreConfig(const char*) {}

  OpParamDef& Input(const char* name) { return inputs_.named(name); }
  OpParamDef& Output(const char* name) { return outputs_.named(name); }
  OpAICoreConfig& DynamicCompileStaticFlag(bool) { return *this; }  // for the vendor's graph compiler, as the next five
  OpAICoreConfig& DynamicFormatFlag(bool) { return *this; }
  OpAICoreConfig& DynamicRankSupportFlag(bool) { return *this; }
  OpAICoreConfig& DynamicShapeSupportFlag(bool) { return *this; }
  OpAICoreConfig& NeedCheckSupportFlag(bool) { return *this; }
  OpAICoreConfig& PrecisionReduceFlag(bool) { return *this; }
  OpAICoreConfig& ExtendCfgInfo(const char* key, const char* value) {
    extended_[key] = value;
    return *this;
  }

  const Ports& inputs() const { return inputs_; }
  const Ports& outputs() const { return outputs_; }
  const std::map<std::string, std::string>& extended() const { return extended_; }

 private:
  Ports inputs_;
  Ports outputs_;
  std::map<std::string, std::string> extended_;
};

class OpAICoreDef {
 public:
  OpAICoreDef& SetTiling(gert::OpImplRegisterV2::TilingKernelFunc function) {
    tiling_ = function;
    return *this;
  }
  // For the vendor's graph compiler; the twin's graphs ask none of them.
  using CheckFunction = ge::graphStatus (*)(const void*, void*);
  template <class Function>
  OpAICoreDef& SetCheckSupport(Function) {
    return *this;
  }
  template <class Function>
  OpAICoreDef& SetOpSelectFormat(Function) {
    return *this;
  }
  template <class Function>
  OpAICoreDef& SetOpSupportInfo(Function) {
    return *this;
  }
  template <class Function>
  OpAICoreDef& SetOpSpecInfo(Function) {
    return *this;
  }
  template <class Function>
  OpAICoreDef& SetParamGeneralize(Function) {
    return *this;
  }
  OpAICoreDef& LaunchWithZeroEleOutputTensors(bool launch) {
    launch_empty_ = launch;
    return *this;
  }
  OpAICoreDef& AddConfig(const char* soc) {
    configs_[soc] = OpAICoreConfig(soc);
    return *this;
  }
  OpAICoreDef& AddConfig(const char* soc, OpAICoreConfig& config) {
    configs_[soc] = config;
    return *this;
  }

  gert::OpImplRegisterV2::TilingKernelFunc tiling() const { return tiling_; }
  bool launch_empty() const { return launch_empty_; }
  std::map<std::string, OpAICoreConfig>& configs() { return configs_; }
  const std::map<std::string, OpAICoreConfig>& configs() const { return configs_; }

 private:
  gert::OpImplRegisterV2::TilingKernelFunc tiling_ = nullptr;
  bool launch_empty_ = false;
  std::map<std::string, OpAICoreConfig> configs_;
};

class OpMC2Def {
 public:
  OpMC2Def& HcclGroup(const char*) { return note_use(); }
  OpMC2Def& HcclGroup(std::vector<const char*>) { return note_use(); }
  void HcclServerType(enum HcclServerType, const char* = nullptr) { note_use(); }
  bool is_used() const { return used_; }

 private:
  OpMC2Def& note_use() {
    used_ = true;
    return *this;
  }
  bool used_ = false;
};

class OpDef {
 public:
  explicit OpDef(const char* type) : type_(type) {}

  OpParamDef& Input(const char* name) { return inputs_.named(name); }
  OpParamDef& Output(const char* name) { return outputs_.named(name); }
  OpAttrDef& Attr(const char* name) {
    for (OpAttrDef& attribute : attributes_) {
      if (attribute.data().name == name) return attribute;
    }
    return attributes_.emplace_back(name);
  }
  OpDef& SetInferShape(gert::OpImplRegisterV2::InferShapeKernelFunc function) {
    infer_shape_ = function;
    return *this;
  }
  OpDef& SetInferShapeRange(gert::OpImplRegisterV2::InferShapeRangeKernelFunc) { return *this; }
  OpDef& SetInferDataType(gert::OpImplRegisterV2::InferDataTypeKernelFunc function) {
    infer_dtype_ = function;
    return *this;
  }
  OpAICoreDef& AICore() { return ai_core_; }
  OpMC2Def& MC2() { return mc2_; }
  OpDef& FormatMatchMode(FormatCheckOption option) {
    strict_formats_ = option == FormatCheckOption::STRICT;
    return *this;
  }
  OpDef& EnableFallBack() { return *this; }  // how the vendor's graph engine calls it
  OpDef& Comment(CommentSection, const char*) { return *this; }
  ge::AscendString GetOpType() const { return type_.c_str(); }

  const std::string& type() const { return type_; }
  const Ports& inputs() const { return inputs_; }
  const Ports& outputs() const { return outputs_; }
  const std::deque<OpAttrDef>& attributes() const { return attributes_; }
  const OpAICoreDef& ai_core() const { return ai_core_; }
  const OpMC2Def& mc2() const { return mc2_; }
  bool strict_formats() const { return strict_formats_; }
  gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape() const { return infer_shape_; }
  gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_dtype() const { return infer_dtype_; }

 private:
  std::string type_;
  Ports inputs_;
  Ports outputs_;
  std::deque<OpAttrDef> attributes_;
  OpAICoreDef ai_core_;
  OpMC2Def mc2_;
  bool strict_formats_ = false;
  gert::OpImplRegisterV2::InferShapeKernelFunc infer_shape_ = nullptr;
  gert::OpImplRegisterV2::InferDataTypeKernelFunc infer_dtype_ = nullptr;
};

}  // namespace ops

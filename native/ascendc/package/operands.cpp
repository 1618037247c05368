// native/ascendc/package/operands.cpp
#include "ascendc/package/operands.h"

#include <cstring>

#include "ascendc/shared/half.h"
#include "nnopbase/validate.h"

namespace opwright::ascendc {
namespace {

using user_kernels::Argument;
using user_kernels::Kind;

Operand operand_of(const aclTensor& tensor, const char* name) {
  is_base_format(tensor.format) ? validate(tensor, name) : validate_storage(tensor, name);
  Operand result;
  result.tensor = tensor;
  result.dtype = static_cast<ge::DataType>(tensor.dtype);
  for (const int64_t size : tensor.sizes) result.shape.AppendDim(size);
  require(tensor.sizes.size() <= gert::Shape::kMaxDimNum, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ",
          tensor.sizes.size(), " dimensions; allowed are up to ", gert::Shape::kMaxDimNum);
  return result;
}

Operand operand_of(const aclScalar& scalar, const char* name) {
  Operand result;
  result.dtype = static_cast<ge::DataType>(scalar.dtype);
  switch (scalar.dtype) {
    case ACL_FLOAT:
      result.reals = {scalar.as<float>()};
      break;
    case ACL_DOUBLE:
      result.reals = {scalar.as<double>()};
      break;
    case ACL_INT64:
      result.integers = {scalar.as<int64_t>()};
      break;
    case ACL_INT32:
      result.integers = {scalar.as<int32_t>()};
      break;
    case ACL_BOOL:
      result.integers = {scalar.as<uint8_t>() != 0};
      break;
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "parameter '", name, "': a scalar of ", dtype_name(scalar.dtype),
           " cannot be passed to a kernel; allowed are float32, float64, int32, int64, bool");
  }
  return result;
}

Operand array_operand(ge::DataType dtype, size_t count) {
  Operand result;
  result.dtype = dtype;
  result.shape.AppendDim(static_cast<int64_t>(count));
  return result;
}

// The operands that an argument that is not null stands for.
std::vector<Operand> instances_of(const Argument& argument) {
  const char* const name = argument.name;
  std::vector<Operand> result;
  switch (argument.kind) {
    case Kind::kTensor:
      return {operand_of(*static_cast<const aclTensor*>(argument.object), name)};
    case Kind::kTensorList:
      for (const aclTensor* tensor : static_cast<const aclTensorList*>(argument.object)->tensors) {
        require(tensor != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter '", name, "' contains null");
        result.push_back(operand_of(*tensor, name));
      }
      return result;
    case Kind::kScalar:
      return {operand_of(*static_cast<const aclScalar*>(argument.object), name)};
    case Kind::kScalarList: {
      const auto& scalars = static_cast<const aclScalarList*>(argument.object)->scalars;
      Operand list = array_operand(ge::DT_UNDEFINED, scalars.size());
      for (const aclScalar* scalar : scalars) {
        require(scalar != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter '", name, "' contains null");
        const Operand one = operand_of(*scalar, name);
        list.dtype = one.dtype;
        list.reals.insert(list.reals.end(), one.reals.begin(), one.reals.end());
        list.integers.insert(list.integers.end(), one.integers.begin(), one.integers.end());
      }
      require(list.reals.empty() || list.integers.empty(), ACLNN_ERR_PARAM_INVALID, "parameter '", name,
              "' has scalars of floating-point and of integer types");
      return {list};
    }
    case Kind::kInts: {
      const auto& values = static_cast<const aclIntArray*>(argument.object)->values;
      Operand array = array_operand(ge::DT_INT64, values.size());
      array.integers = values;
      return {array};
    }
    case Kind::kFloats: {
      const auto& values = static_cast<const aclFloatArray*>(argument.object)->values;
      Operand array = array_operand(ge::DT_FLOAT, values.size());
      array.reals.assign(values.begin(), values.end());
      return {array};
    }
    case Kind::kBools: {
      const auto& values = static_cast<const aclBoolArray*>(argument.object)->values;
      Operand array = array_operand(ge::DT_BOOL, values.size());
      array.integers.assign(values.begin(), values.end());
      return {array};
    }
    default:
      fail(ACLNN_ERR_INNER, "parameter '", name, "' is no tensor");
  }
}

PortOperands bound(const Argument& argument) {
  PortOperands result;
  result.name = argument.name;
  result.is_list = argument.kind == Kind::kTensorList;
  result.written = !argument.input && (argument.kind == Kind::kTensor || argument.kind == Kind::kTensorList);
  if (argument.object == nullptr) {
    require(!argument.required, ACLNN_ERR_PARAM_NULLPTR, "parameter '", argument.name, "' is null, but it is required");
    return result;
  }
  result.instances = instances_of(argument);
  return result;
}

template <class T>
void add_list(const T* values, size_t count, gert::RuntimeAttrs& attributes) {
  size_t size = 0;
  const auto memory = gert::ContinuousVector::Create<T>(count, size);
  auto* const list = reinterpret_cast<gert::TypedContinuousVector<T>*>(memory.get());
  list->SetSize(count);
  for (size_t i = 0; i < count; ++i) list->MutableData()[i] = values[i];
  attributes.add(memory.get(), size);
}

void add_given(const ops::AttributeData& attribute, const Argument& argument, gert::RuntimeAttrs& attributes) {
  switch (argument.kind) {
    case Kind::kInt:
    case Kind::kDtype:
      attributes.add(&argument.integer, sizeof argument.integer);
      break;
    case Kind::kBool: {
      const bool value = argument.integer != 0;
      attributes.add(&value, sizeof value);
      break;
    }
    case Kind::kReal: {
      const float value = static_cast<float>(argument.real);
      attributes.add(&value, sizeof value);
      break;
    }
    case Kind::kText: {
      const auto* const words = static_cast<const char*>(argument.object);
      attributes.add(words, std::strlen(words) + 1);
      break;
    }
    case Kind::kInts: {
      const auto& values = static_cast<const aclIntArray*>(argument.object)->values;
      add_list(values.data(), values.size(), attributes);
      break;
    }
    case Kind::kFloats: {
      const auto& values = static_cast<const aclFloatArray*>(argument.object)->values;
      add_list(values.data(), values.size(), attributes);
      break;
    }
    case Kind::kBools: {
      const auto& values = static_cast<const aclBoolArray*>(argument.object)->values;
      add_list(reinterpret_cast<const bool*>(values.data()), values.size(), attributes);
      break;
    }
    default:
      fail(ACLNN_ERR_INNER, "attribute ", attribute.name, " of a kind that is no attribute");
  }
}

void add_default(const ops::AttributeData& attribute, gert::RuntimeAttrs& attributes) {
  const std::string type = attribute.type;
  if (type == "Bool") return attributes.add(&attribute.bool_value, sizeof attribute.bool_value);
  if (type == "Int") return attributes.add(&attribute.int_value, sizeof attribute.int_value);
  if (type == "Float") return attributes.add(&attribute.float_value, sizeof attribute.float_value);
  if (type == "String") return attributes.add(attribute.text.c_str(), attribute.text.size() + 1);
  if (type == "ListFloat") return add_list(attribute.floats.data(), attribute.floats.size(), attributes);
  if (type == "ListInt") return add_list(attribute.ints.data(), attribute.ints.size(), attributes);
  std::vector<uint8_t> bools(attribute.bools.begin(), attribute.bools.end());
  add_list(reinterpret_cast<const bool*>(bools.data()), bools.size(), attributes);
}

uint16_t bfloat16_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

template <class T, class Values>
void write_as(const Values& values, std::vector<uint64_t>& bytes) {
  bytes.resize((values.size() * sizeof(T) + 7) / 8 + 1);
  auto* const out = reinterpret_cast<uint8_t*>(bytes.data());
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

template <class Values>
bool write_values(const Values& values, ge::DataType dtype, std::vector<uint64_t>& bytes) {
  switch (dtype) {
    case ge::DT_FLOAT:
      return write_as<float>(values, bytes), true;
    case ge::DT_DOUBLE:
      return write_as<double>(values, bytes), true;
    case ge::DT_FLOAT16:
      return write_as<half>(values, bytes), true;
    case ge::DT_BF16: {
      std::vector<uint16_t> codes;
      for (const auto value : values) codes.push_back(bfloat16_of(static_cast<float>(value)));
      return write_as<uint16_t>(codes, bytes), true;
    }
    case ge::DT_INT8:
      return write_as<int8_t>(values, bytes), true;
    case ge::DT_UINT8:
      return write_as<uint8_t>(values, bytes), true;
    case ge::DT_INT16:
      return write_as<int16_t>(values, bytes), true;
    case ge::DT_UINT16:
      return write_as<uint16_t>(values, bytes), true;
    case ge::DT_INT32:
      return write_as<int32_t>(values, bytes), true;
    case ge::DT_UINT32:
      return write_as<uint32_t>(values, bytes), true;
    case ge::DT_INT64:
      return write_as<int64_t>(values, bytes), true;
    case ge::DT_UINT64:
      return write_as<uint64_t>(values, bytes), true;
    case ge::DT_BOOL:
      return write_as<bool>(values, bytes), true;
    default:
      return false;
  }
}

void copy_dimension(const aclTensor& tensor, size_t dimension, size_t element, uint8_t* strided, uint8_t*& dense,
                    bool to_dense) {
  const int64_t stride = tensor.strides[dimension] * static_cast<int64_t>(element);
  const bool last = dimension + 1 == tensor.sizes.size();
  for (int64_t i = 0; i < tensor.sizes[dimension]; ++i) {
    uint8_t* const place = strided + i * stride;
    if (!last) {
      copy_dimension(tensor, dimension + 1, element, place, dense, to_dense);
      continue;
    }
    to_dense ? std::memcpy(dense, place, element) : std::memcpy(place, dense, element);
    dense += element;
  }
}

}  // namespace

Operands operands_of(const Operator& op, std::initializer_list<Bound> arguments) {
  Operands result;
  result.inputs.resize(op.inputs.size());
  result.outputs.resize(op.outputs.size());
  for (const Bound& each : arguments) {
    if (each.role == Role::kInput) result.inputs.at(each.index) = bound(each.argument);
    if (each.role == Role::kOutput) result.outputs.at(each.index) = bound(each.argument);
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    result.outputs[i].read = false;
    // An output with the name of an input is that input: the function has one parameter for both.
    for (size_t j = 0; j < op.inputs.size(); ++j) {
      if (op.inputs[j].name != op.outputs[i].name) continue;
      result.inputs[j].written = true;
      result.outputs[i] = result.inputs[j];
    }
  }
  return result;
}

void add_attributes(const Operator& op, std::initializer_list<Bound> arguments, gert::RuntimeAttrs& attributes) {
  for (size_t i = 0; i < op.attributes.size(); ++i) {
    const Argument* given = nullptr;
    for (const Bound& each : arguments) {
      if (each.role == Role::kAttribute && each.index == i) given = &each.argument;
    }
    const bool by_pointer = given != nullptr && given->kind != Kind::kInt && given->kind != Kind::kBool &&
                            given->kind != Kind::kReal && given->kind != Kind::kDtype;
    if (given == nullptr || (by_pointer && given->object == nullptr)) {
      require(given == nullptr || !given->required, ACLNN_ERR_PARAM_NULLPTR, "parameter '",
              given == nullptr ? "" : given->name, "' is null, but it is required");
      add_default(op.attributes[i], attributes);
    } else {
      add_given(op.attributes[i], *given, attributes);
    }
  }
}

void convert_values(Operand& operand, ge::DataType dtype, const char* name) {
  const bool written = operand.reals.empty() ? write_values(operand.integers, dtype, operand.bytes)
                                             : write_values(operand.reals, dtype, operand.bytes);
  require(written, ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is a value, and cannot become ",
          dtype_name(static_cast<aclDataType>(dtype)));
  operand.dtype = dtype;
}

bool is_contiguous(const aclTensor& tensor) {
  if (tensor.numel() == 0 || !is_base_format(tensor.format)) return true;
  int64_t expected = 1;
  for (size_t i = tensor.sizes.size(); i-- > 0;) {
    if (tensor.sizes[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.sizes[i];
  }
  return true;
}

void copy_view(const aclTensor& tensor, uint8_t* storage, uint8_t* dense, bool to_dense) {
  const size_t element = bits_of(tensor.dtype) / 8;
  uint8_t* const first = storage + byte_of(tensor.offset, tensor.dtype);
  if (tensor.sizes.size() == 0) {
    to_dense ? std::memcpy(dense, first, element) : std::memcpy(first, dense, element);
    return;
  }
  copy_dimension(tensor, 0, element, first, dense, to_dense);
}

}  // namespace opwright::ascendc

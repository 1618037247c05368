// native/ascendc/package/tiling.cpp
#include "ascendc/package/tiling.h"

#include "ascendc/package/match.h"
#include "ascendc/package/platform.h"
#include "runtime/memory/memory.h"

namespace opwright::ascendc {
namespace {

gert::Shape shape_of(const Dims& dims) {
  gert::Shape result;
  for (const int64_t dim : dims) result.AppendDim(dim);
  return result;
}

gert::StorageShape storage_shape_of(const Operand& operand) {
  // In a base format the storage is described by one number, its size.
  const bool tiled =
      operand.tensor && operand.tensor->format != ACL_FORMAT_ND && operand.tensor->storage_sizes.size() > 1;
  return {operand.shape, tiled ? shape_of(operand.tensor->storage_sizes) : operand.shape};
}

Place place_of(const Operand& operand) {
  Place place;
  if (!operand.tensor) return place;
  for (const int64_t stride : operand.tensor->strides) place.strides.AppendStride(stride);
  place.offset = operand.tensor->offset;
  place.is_view = !is_contiguous(*operand.tensor);
  return place;
}

// The values of an input on which infer or tiling depends, where the host has them.
const void* host_values(const Operator& op, size_t input, const Operand& operand) {
  if (operand.is_value()) return operand.bytes.data();
  const bool wanted =
      op.inputs[input].value_depend != ops::IGNORE || op.functions.host_inputs.count(static_cast<int32_t>(input)) != 0;
  // Device memory is written by tasks that may not have run yet. In graphs, tensors lie in host memory and are done.
  if (!wanted || operand.tensor->data == nullptr || memory::is_device_address(operand.tensor->data)) return nullptr;
  return static_cast<const uint8_t*>(operand.tensor->data) + byte_of(operand.tensor->offset, operand.tensor->dtype);
}

gert::CompileTimeTensorDesc description_of(const Operator& op, const Operand& operand) {
  const ge::Format format = operand.tensor ? seen_format(op, *operand.tensor) : ge::FORMAT_ND;
  gert::CompileTimeTensorDesc result;
  result.SetDataType(operand.dtype);
  result.SetOriginFormat(ge::GetPrimaryFormat(format) == ge::FORMAT_FRACTAL_NZ ? ge::FORMAT_ND : format);
  result.SetStorageFormat(format);
  return result;
}

void add_side(const Operator& op, const std::vector<PortOperands>& ports, gert::ComputeNodeInfo::Side& side) {
  for (const PortOperands& port : ports) {
    side.anchors.emplace_back(static_cast<uint32_t>(side.descriptions.size()),
                              static_cast<uint32_t>(port.instances.size()));
    for (const Operand& operand : port.instances) side.descriptions.push_back(description_of(op, operand));
  }
}

std::string text_of(const gert::Shape& shape) {
  std::string result;
  for (size_t i = 0; i < shape.GetDimNum(); ++i) result += (i == 0 ? "" : ", ") + std::to_string(shape.GetDim(i));
  return "[" + result + "]";
}

void require_success(bool success, int code, const char* what, const Operator& op) {
  require(success, code, "the ", what, " function of ", op.type,
          " returned GRAPH_FAILED; what it printed, if anything, stands above, and a debugger stops in it");
}

}  // namespace

void fill_node(const Operator& op, const Operands& operands, std::initializer_list<Bound> arguments, Node& node) {
  add_side(op, operands.inputs, node.info.inputs());
  add_side(op, operands.outputs, node.info.outputs());
  add_attributes(op, arguments, node.info.attrs());
  for (size_t i = 0; i < operands.inputs.size(); ++i) {
    for (const Operand& operand : operands.inputs[i].instances) {
      const auto description = description_of(op, operand);
      node.inputs.emplace_back(storage_shape_of(operand), description.GetFormat(), gert::kOnHost, operand.dtype,
                               const_cast<void*>(host_values(op, i, operand)));
      node.inputs.back().SetSize(
          static_cast<size_t>(std::max<int64_t>(0, ge::GetSizeInBytes(operand.shape.GetShapeSize(), operand.dtype))));
      node.input_places.push_back(place_of(operand));
    }
  }
  for (const PortOperands& port : operands.outputs) {
    for (const Operand& operand : port.instances) {
      node.outputs.push_back(storage_shape_of(operand));
      node.output_places.push_back(place_of(operand));
    }
  }
  node.platform = &platform();
}

void check_inference(const Operator& op, const Operands& operands, std::initializer_list<Bound> arguments) {
  Node node(op.type.c_str(), op.type.c_str());
  fill_node(op, operands, arguments, node);
  if (op.functions.infer_shape != nullptr) {
    const std::vector<gert::StorageShape> passed = node.outputs;
    for (auto& shape : node.outputs) shape = {};
    gert::InferShapeContext context(node);
    require_success(op.functions.infer_shape(&context) == ge::GRAPH_SUCCESS, kErrorInfer, "shape inference", op);
    for (size_t i = 0; i < passed.size(); ++i) {
      require(node.outputs[i].GetOriginShape() == passed[i].GetOriginShape(), kErrorInfer, "the graph has an output ",
              i, " of shape ", text_of(passed[i].GetOriginShape()), ", but the shape inference function of ", op.type,
              " says ", text_of(node.outputs[i].GetOriginShape()));
    }
  }
  if (op.functions.infer_dtype != nullptr) {
    auto& descriptions = node.info.outputs().descriptions;
    const auto passed = descriptions;
    gert::InferDataTypeContext context(node);
    require_success(op.functions.infer_dtype(&context) == ge::GRAPH_SUCCESS, kErrorInfer, "dtype inference", op);
    for (size_t i = 0; i < passed.size(); ++i) {
      require(descriptions[i].GetDataType() == passed[i].GetDataType(), kErrorInfer, "the graph has an output ", i,
              " of ", dtype_name(static_cast<aclDataType>(passed[i].GetDataType())),
              ", but the dtype inference function of ", op.type, " says ",
              dtype_name(static_cast<aclDataType>(descriptions[i].GetDataType())));
    }
  }
}

namespace {

// Why tiling may have failed: an input on whose values it depends lies on the device.
std::string missing_values(const Operator& op, const Node& node) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const gert::AnchorInstanceInfo& anchor = *node.info.GetInputInstanceInfo(i);
    const bool wanted =
        op.inputs[i].value_depend != ops::IGNORE || op.functions.host_inputs.count(static_cast<int32_t>(i)) != 0;
    if (!wanted || anchor.GetInstanceNum() == 0) continue;
    if (node.inputs[anchor.GetInstanceStart()].GetAddr() == nullptr) {
      return "; input '" + op.inputs[i].name + "' is a tensor on the device, whose values are not known to the host";
    }
  }
  return "";
}

}  // namespace

void run_tiling(InstalledOperator& installed, Node& node) {
  const Operator& op = installed.definition();
  require(op.functions.tiling != nullptr, kErrorTiling, op.type,
          " has no tiling function; AICore().SetTiling(function) in its definition registers it");
  node.compile_info = installed.compile_info();
  gert::TilingContext context(node);
  require(op.functions.tiling(&context) == ge::GRAPH_SUCCESS, kErrorTiling, "the tiling function of ", op.type,
          " returned GRAPH_FAILED", missing_values(op, node),
          "; what it printed, if anything, stands above, and a debugger stops in it");
  const TilingResult& result = node.tiling;
  require(result.blocks > 0, kErrorTiling, "the tiling function of ", op.type,
          " set no blocks; context->SetBlockDim(n) with n from 1 does");
  require(result.data.GetDataSize() <= result.data.GetCapacity(), kErrorTiling, "the tiling data of ", op.type, " has ",
          result.data.GetDataSize(), " bytes; allowed are up to ", result.data.GetCapacity());
  require(result.key != ~uint64_t{0}, kErrorTiling, "the tiling function of ", op.type,
          " asked for a template kernel that ASCENDC_TPL_SEL does not select");
}

}  // namespace opwright::ascendc

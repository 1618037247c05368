// native/graph_engine/custom/call.cpp
// One call of an operator that launches its work itself: operands in device memory, a context, and what goes wrong.
#include "graph_engine/custom/call.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph_engine/custom/registry.h"
#include "runtime/device.h"
#include "runtime/memory/extent.h"
#include "runtime/memory/memory.h"
#include "runtime/streams/stream.h"

namespace opwright::graph_engine {

// Memory of the device that a call has for itself.
class Block {
 public:
  Block(int device, size_t bytes) : address_(memory::allocate(device, std::max<size_t>(bytes, 1))) {}
  ~Block() {
    if (address_ != nullptr) memory::release(address_);
  }
  Block(Block&& other) noexcept : address_(std::exchange(other.address_, nullptr)) {}
  Block& operator=(Block&&) = delete;
  void* address() const noexcept { return address_; }

 private:
  void* address_;
};

namespace {

constexpr int kCallFailed = static_cast<int>(ge::FAILED);

thread_local bool is_launching = false;
thread_local void* launch_stream = nullptr;

gert::StorageShape shape_of(const OpwrightCustomTensor& tensor) {
  gert::Shape shape;
  for (int64_t i = 0; i < tensor.rank; ++i) shape.AppendDim(tensor.sizes[i]);
  return {shape, shape};
}

gert::StorageFormat plain_format() { return {ge::FORMAT_ND, ge::FORMAT_ND, {}}; }

std::string text_of(const gert::Shape& shape, ge::DataType type) {
  std::string result = text("dtype ", static_cast<int>(type), " [");
  for (size_t i = 0; i < shape.GetDimNum(); ++i) result += text(i == 0 ? "" : ", ", shape.GetDim(i));
  return result + "]";
}

}  // namespace

class CustomCall {
 public:
  CustomCall(const OpwrightCustomCall& call, void* handle)
      : call_(call), handle_(handle), stream_(stream_of(handle)), node_(call.name, call.type), context_(node_, *this) {
    describe(call.input_entries, call.input_counts, call.inputs, node_.info.inputs());
    describe(call.output_entries, call.output_counts, call.outputs, node_.info.outputs());
    for (size_t i = 0; i < node_.info.GetInputsNum(); ++i) node_.inputs.push_back(given(call.inputs[i]));
    for (size_t i = 0; i < node_.info.GetOutputsNum(); ++i) {
      const OpwrightCustomTensor& output = call.outputs[i];
      outputs_.push_back(tensor_at(output, nullptr));
      node_.outputs.push_back(shape_of(output));
    }
    sources_.resize(outputs_.size());
  }

  void run() {
    const auto custom = make_custom_operator(call_.type);
    require(custom != nullptr, kCallFailed, "the library with the class ", call_.type, " has been unloaded");
    std::string failure;
    try {
      failure = failure_of_inference(dynamic_cast<ge::ShapeInferOp*>(custom.get()));
      const ge::Status status = failure.empty() ? custom->Execute(&context_) : ge::SUCCESS;
      if (status != ge::SUCCESS) failure = text("Execute answered ", status);
    } catch (const std::exception& error) {
      failure = error.what();
    } catch (...) {  // the class is the user's, who may throw anything
      failure = "the class threw something that is no std::exception";
    }
    stream_->wait(std::nullopt);  // what was launched uses the memory of this call
    if (const auto late = stream_->take_failure(); late && failure.empty()) failure = late->text;
    require(refusal_.empty(), kCallFailed, refusal_);
    require(failure.empty(), kCallFailed, failure);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const void* const from = sources_[i];
      require(from != nullptr || call_.outputs[i].bytes == 0, kCallFailed, "Execute gave output ", i, " no memory");
      if (call_.outputs[i].bytes == 0) continue;
      std::memcpy(call_.outputs[i].data, memory::alias_of(from), call_.outputs[i].bytes);
    }
  }

  void* stream() const { return handle_; }
  const gert::Tensor* output(size_t index) const { return index < outputs_.size() ? &outputs_[index] : nullptr; }

  gert::Tensor* allocate_output(size_t index, const gert::StorageShape& shape, ge::DataType type) {
    if (index >= outputs_.size()) return refuse(text("output ", index, " of ", outputs_.size()));
    const gert::Shape& wanted = node_.outputs[index].GetStorageShape();
    const ge::DataType dtype = outputs_[index].GetDataType();
    if (wanted != shape.GetStorageShape() || dtype != type) {
      return refuse(text("output ", index, " is ", text_of(shape.GetStorageShape(), type), ", but Meta says ",
                         text_of(wanted, dtype)));
    }
    return place(index, block(call_.outputs[index].bytes));
  }

  gert::Tensor* refer_output(size_t index, size_t input) {
    if (index >= outputs_.size() || input >= node_.inputs.size()) {
      return refuse(text("output ", index, " cannot be input ", input));
    }
    if (call_.inputs[input].bytes != call_.outputs[index].bytes) {
      return refuse(text("output ", index, " has ", call_.outputs[index].bytes, " bytes, input ", input, " has ",
                         call_.inputs[input].bytes));
    }
    return place(index, node_.inputs[input].GetAddr());
  }

  void* block(size_t bytes) { return blocks_.emplace_back(stream_->device(), bytes).address(); }

 private:
  // How the class's own inference fails or differs from Meta. It sees no values, as when a graph is compiled.
  std::string failure_of_inference(ge::ShapeInferOp* custom) const {
    if (custom == nullptr) return "";
    opwright::ascendc::Node node(call_.name, call_.type);
    describe(call_.input_entries, call_.input_counts, call_.inputs, node.info.inputs());
    describe(call_.output_entries, call_.output_counts, call_.outputs, node.info.outputs());
    for (size_t i = 0; i < node_.inputs.size(); ++i) node.inputs.push_back(tensor_at(call_.inputs[i], nullptr));
    node.outputs.resize(outputs_.size());
    auto& descriptions = node.info.outputs().descriptions;
    for (auto& description : descriptions) description.SetDataType(ge::DT_UNDEFINED);
    gert::InferShapeContext shapes(node);
    if (const auto status = custom->InferShape(&shapes); status != ge::GRAPH_SUCCESS) {
      return text("InferShape answered ", status);
    }
    gert::InferDataTypeContext types(node);
    if (const auto status = custom->InferDataType(&types); status != ge::GRAPH_SUCCESS) {
      return text("InferDataType answered ", status);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const gert::Shape& inferred = node.outputs[i].GetOriginShape();
      const ge::DataType type = descriptions[i].GetDataType();
      const gert::Tensor& wanted = outputs_[i];
      if (inferred == wanted.GetOriginShape() && type == wanted.GetDataType()) continue;
      return text("the class infers output ", i, " as ", text_of(inferred, type), ", but Meta says ",
                  text_of(wanted.GetOriginShape(), wanted.GetDataType()));
    }
    return "";
  }

  static void describe(uint64_t entries, const int64_t* counts, const OpwrightCustomTensor* tensors,
                       gert::ComputeNodeInfo::Side& side) {
    uint32_t start = 0;
    for (uint64_t i = 0; i < entries; ++i) {
      side.anchors.emplace_back(start, static_cast<uint32_t>(counts[i]));
      start += static_cast<uint32_t>(counts[i]);
    }
    for (uint32_t i = 0; i < start; ++i) {
      gert::CompileTimeTensorDesc& description = side.descriptions.emplace_back();
      description.SetDataType(static_cast<ge::DataType>(tensors[i].dtype));
      description.SetStorageFormat(ge::FORMAT_ND);
      description.SetOriginFormat(ge::FORMAT_ND);
    }
  }

  static gert::Tensor tensor_at(const OpwrightCustomTensor& tensor, void* address) {
    gert::Tensor result(shape_of(tensor), plain_format(), gert::kOnDeviceHbm, static_cast<ge::DataType>(tensor.dtype),
                        address);
    result.SetSize(tensor.bytes);
    return result;
  }

  // Operators get device addresses; what the engine computed itself lies in host memory, and is copied.
  gert::Tensor given(const OpwrightCustomTensor& tensor) {
    void* const behind = static_cast<char*>(tensor.data) - memory::windows().distance;
    if (tensor.bytes != 0 && memory::is_device_address(behind)) return tensor_at(tensor, behind);
    void* const copy = block(tensor.bytes);
    if (tensor.bytes != 0) std::memcpy(memory::alias_of(copy), tensor.data, tensor.bytes);
    return tensor_at(tensor, copy);
  }

  gert::Tensor* place(size_t index, void* address) {
    sources_[index] = address;
    outputs_[index].MutableTensorData().SetAddr(address, nullptr);
    return &outputs_[index];
  }

  std::nullptr_t refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
    return nullptr;
  }

  const OpwrightCustomCall& call_;
  void* const handle_;
  const std::shared_ptr<Stream> stream_;
  opwright::ascendc::Node node_;
  gert::EagerOpExecutionContext context_;
  std::vector<gert::Tensor> outputs_;
  std::vector<void*> sources_;  // device memory of the outputs
  std::vector<Block> blocks_;
  std::string refusal_;
};

LaunchStream::LaunchStream(void* stream) noexcept
    : outer_(std::exchange(launch_stream, stream)), was_set_(std::exchange(is_launching, true)) {}

LaunchStream::~LaunchStream() {
  launch_stream = outer_;
  is_launching = was_set_;
}

}  // namespace opwright::graph_engine

namespace gert {

rtStream EagerOpExecutionContext::GetStream() const { return call_->stream(); }

const Tensor* EagerOpExecutionContext::GetOutputTensor(size_t index) const { return call_->output(index); }

Tensor* EagerOpExecutionContext::MallocOutputTensor(size_t index, const StorageShape& shape, const StorageFormat&,
                                                    ge::DataType type) {
  return call_->allocate_output(index, shape, type);
}

Tensor* EagerOpExecutionContext::MakeOutputRefInput(size_t output_index, size_t input_index) {
  return call_->refer_output(output_index, input_index);
}

void* EagerOpExecutionContext::MallocWorkSpace(size_t bytes) { return call_->block(bytes); }

}  // namespace gert

using namespace opwright::graph_engine;  // NOLINT: the twin's side of this interface

int opwright_custom_prototype(const char* type, const char** text) {
  thread_local std::string found;
  try {
    auto declared = declared_prototype(type);
    if (!declared) return 0;
    found = std::move(*declared);
    *text = found.c_str();
    return 1;
  } catch (const std::exception&) {
    opwright::record_current_exception(__func__);
    return -1;
  }
}

int opwright_custom_exists(const char* type) {
  try {
    return has_custom_operator(type) ? 1 : 0;
  } catch (const std::exception&) {
    opwright::record_current_exception(__func__);
    return -1;
  }
}

const char* opwright_custom_run(const OpwrightCustomCall* call) {
  thread_local std::string failure;
  try {
    opwright::require(is_launching, kCallFailed,
                      "an operator that launches its work itself runs in the outermost graph only, not in the graph of "
                      "a conditional node or a loop");
    CustomCall(*call, launch_stream).run();
    return nullptr;
  } catch (const std::exception& error) {
    failure = error.what();
  } catch (...) {  // from the class's constructor or destructor
    failure = "the class threw something that is no std::exception";
  }
  return failure.c_str();
}

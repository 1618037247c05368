// layer.cpp: tensors and layers; inference when something of a layer changes.
#include <c10/util/Exception.h>

#include "common/Dims.h"
#include "impl.h"

namespace AscendIE {

namespace {

constexpr uint32_t kMostOutputs = 4096;

/// In a Python process some operators are inferred by functions in Python; their stack is of no use to the reader.
std::string without_stack(const std::string& text) { return text.substr(0, text.find("\n\nAt:\n")); }

}  // namespace

Tensor::Tensor(std::shared_ptr<TensorImpl> impl) noexcept : impl_(std::move(impl)) {}
Tensor::~Tensor() = default;
void Tensor::SetName(const char* name) noexcept { impl_->name = name ? name : ""; }
const char* Tensor::GetName() const noexcept { return impl_->name.c_str(); }
bool Tensor::IsInput() const noexcept { return impl_->input; }
bool Tensor::IsOutput() const noexcept { return impl_->output; }

Dims Tensor::GetDimensions() const noexcept {
  if (!impl_->meta.defined()) return {};
  return {static_cast<int32_t>(impl_->meta.dim()), impl_->meta.sizes().data()};
}

DataLayout Tensor::GetLayout() const noexcept {
  if (!impl_->meta.defined()) return DataLayout::ND;
  const int64_t rank = impl_->meta.dim();
  return rank == 4 ? DataLayout::NCHW : rank == 5 ? DataLayout::NCDHW : DataLayout::ND;
}

void Tensor::SetType(DataType type) noexcept {
  impl_->asked = type;
  if (!impl_->input || !impl_->meta.defined()) return;
  try {
    impl_->meta = impl_->meta.to(scalar_type(type));
  } catch (const c10::TypeError&) {
    // BuildModel tells of it: it asks for the type again.
  }
}

DataType Tensor::GetType() const noexcept {
  if (impl_->asked != DataType::UNKNOWN) return impl_->asked;
  return impl_->meta.defined() ? data_type(impl_->meta.scalar_type()) : DataType::UNKNOWN;
}

BaseLayer::BaseLayer(std::shared_ptr<LayerImpl> impl) noexcept : impl_(std::move(impl)) {}
BaseLayer::~BaseLayer() = default;
void BaseLayer::SetName(const char* name) noexcept { impl_->name = name ? name : ""; }
const char* BaseLayer::GetName() const noexcept { return impl_->name.c_str(); }
uint32_t BaseLayer::GetInputCount() const noexcept { return static_cast<uint32_t>(impl_->inputs.size()); }
uint32_t BaseLayer::GetOutputCount() const noexcept { return static_cast<uint32_t>(impl_->outputs.size()); }

Tensor* BaseLayer::GetInput(uint32_t index) const noexcept {
  return index < impl_->inputs.size() ? impl_->inputs[index] : nullptr;
}

Tensor* BaseLayer::GetOutput(uint32_t index) const noexcept {
  // How many outputs a layer with an error would have is not known: all of them exist, without a type.
  auto& outputs = impl_->outputs;
  const bool poisoned = !TensorImpl::of(outputs.front()).meta.defined();
  while (poisoned && index < kMostOutputs && index >= outputs.size()) {
    outputs.emplace_back(std::make_shared<TensorImpl>());
  }
  return index < outputs.size() ? &outputs[index] : nullptr;
}

void BaseLayer::SetInput(uint32_t index, Tensor* tensor) noexcept {
  if (index >= impl_->inputs.size()) impl_->inputs.resize(index + 1);
  impl_->inputs[index] = tensor;
  impl_->infer();
}

void BaseLayer::Set(const char* attribute, int64_t value) noexcept {
  impl_->attributes[attribute] = value;
  impl_->infer();
}

void BaseLayer::SetReal(const char* attribute, double value) noexcept {
  impl_->attributes[attribute] = value;
  impl_->infer();
}

void BaseLayer::SetList(const char* attribute, const Dims& value) noexcept {
  impl_->attributes[attribute] = std::vector<int64_t>(value.begin(), value.end());
  impl_->infer();
}

void LayerImpl::infer() noexcept {
  if (!operation) return;
  for (Tensor& output : outputs) TensorImpl::of(output).meta.reset();
  error.clear();
  Tensors operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) {
      error = std::string(operation->name) + ": input " + std::to_string(i) + " is null";
      return;
    }
    operands.push_back(TensorImpl::of(*inputs[i]).meta);
    if (!operands.back().defined()) return;  // the layer before has the error
  }
  try {
    TORCH_CHECK_VALUE(operands.size() >= operation->inputs, "got ", operands.size(), " inputs, allowed are at least ",
                      operation->inputs);
    const Tensors results = AscendIE::infer(*operation, Call(operands, attributes, {}));
    while (outputs.size() < results.size()) outputs.emplace_back(std::make_shared<TensorImpl>());
    for (size_t i = 0; i < results.size(); ++i) {
      TORCH_CHECK_VALUE(results[i].dim() <= Dims::MAX_DIMS, "output ", i, " has rank ", results[i].dim(),
                        ", allowed are at most ", Dims::MAX_DIMS);
      TensorImpl::of(outputs[i]).meta = results[i].to(at::kMeta);
    }
  } catch (const c10::Error& e) {
    error = std::string(operation->name) + ": " + e.what_without_backtrace();
  } catch (const std::exception& e) {
    error = std::string(operation->name) + ": " + without_stack(e.what());
  }
}

}  // namespace AscendIE

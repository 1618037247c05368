// layer.cpp: tensors and layers.
#include <c10/util/Exception.h>

#include <string_view>

#include "common/Dims.h"
#include "impl.h"

namespace AscendIE {

namespace {

constexpr uint32_t kMostOutputs = 4096;

/// Inputs that replace an attribute: the integers are known when the model runs.
struct SizeInput {
  std::string_view operation;
  uint32_t index;
  const char* attribute;
};

constexpr SizeInput kSizeInputs[] = {
    {"Fill", 0, "dims"}, {"Shuffle", 1, "reshape"}, {"Slice", 1, "start"}, {"Slice", 2, "size"}, {"Slice", 3, "stride"},
};

}  // namespace

Tensor::Tensor(std::shared_ptr<TensorImpl> impl) noexcept : impl_(std::move(impl)) {}
Tensor::~Tensor() = default;
void Tensor::SetName(const char* name) noexcept { impl_->name = name ? name : ""; }
const char* Tensor::GetName() const noexcept { return impl_->name.c_str(); }
bool Tensor::IsInput() const noexcept { return impl_->input; }
bool Tensor::IsOutput() const noexcept { return impl_->output; }

Dims Tensor::GetDimensions() const noexcept {
  if (!impl_->meta.defined()) return {};
  return Dims(impl_->shape());
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
    std::vector<Inferred> retyped = impl_->choices;
    for (Inferred& choice : retyped) choice.meta = choice.meta.to(scalar_type(type));
    impl_->set(std::move(retyped));
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
  for (const SizeInput& row : kSizeInputs) {
    if (impl_->operation && impl_->operation->name == row.operation && index == row.index) {
      impl_->attributes[row.attribute] = std::vector<int64_t>{ValueOfInput(index)};
    }
  }
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

}  // namespace AscendIE

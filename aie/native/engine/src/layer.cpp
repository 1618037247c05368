// layer.cpp: tensors and layers.
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "common/Dims.h"
#include "impl.h"

namespace AscendIE {

namespace {

constexpr uint32_t kMostOutputs = 4096;
constexpr uint32_t kMostInputs = 1024;  // as many as ValueOfInput can name

/// How many inputs a layer has at most; others: any number.
struct Most {
  std::string_view operation;
  uint32_t inputs;
};

constexpr Most kMost[] = {
    {"Activation", 1}, {"Cast", 1},   {"Clip", 1},     {"Convolution", 3},    {"Cumsum", 1},        {"ElementWise", 2},
    {"Fill", 3},       {"Gather", 2}, {"Constant", 0}, {"MatrixMultiply", 2}, {"Normalization", 3}, {"Pooling", 1},
    {"Quantize", 1},   {"Reduce", 1}, {"Scale", 3},    {"Scatter", 3},        {"Select", 3},        {"Shape", 1},
    {"Shuffle", 2},    {"Slice", 4},  {"SoftMax", 1},  {"TopK", 1},           {"Unary", 1},
};

/// Inputs that replace an attribute: the integers are known when the model runs.
struct SizeInput {
  std::string_view operation;
  uint32_t index;
  const char* attribute;
};

constexpr SizeInput kSizeInputs[] = {
    {"Fill", 0, "dims"}, {"Shuffle", 1, "reshape"}, {"Slice", 1, "start"}, {"Slice", 2, "size"}, {"Slice", 3, "stride"},
};

/// Attributes of an OperationLayer may name any of its inputs.
uint32_t most_inputs(const BaseLayer& layer, std::string_view kind) {
  if (dynamic_cast<const OperationLayer*>(&layer)) return kMostInputs;
  const auto* const found =
      std::find_if(std::begin(kMost), std::end(kMost), [&](const Most& row) { return row.operation == kind; });
  return found == std::end(kMost) ? kMostInputs : found->inputs;
}

}  // namespace

std::string escaped(std::string_view name) {
  std::string text;
  for (const unsigned char c : name) {
    if (c >= 0x20 && c != 0x7f) {
      text += static_cast<char>(c);
      continue;
    }
    char code[5];
    std::snprintf(code, sizeof code, "\\x%02x", c);
    text += c == '\n' ? "\\n" : c == '\t' ? "\\t" : code;
  }
  return text;
}

std::string in_quotes(std::string_view name) { return std::string("'").append(escaped(name)).append("'"); }

std::string too_long(const Dims& dims) {
  if (!dims.TooLong()) return {};
  return "got " + std::to_string(dims.Given()) + " sizes, allowed are at most " + std::to_string(Dims::MAX_DIMS);
}

void LayerImpl::add_output() {
  auto output = std::make_shared<TensorImpl>();
  output->network = network;
  outputs.emplace_back(std::move(output));
}

void LayerImpl::fail(std::string why) {
  cause = std::move(why);
  error = escaped(kind);
  if (named) error.append(" ").append(in_quotes(name));
  error.append(": ").append(cause);
}

void LayerImpl::refuse(std::string_view part, const std::string& why) {
  refused.erase(std::string(part));
  if (!why.empty()) refused.emplace(part, std::string(part) + ": " + why);
}

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
    // BuildModel reports it: it asks for the type again.
  }
}

DataType Tensor::GetType() const noexcept {
  if (impl_->asked != DataType::UNKNOWN) return impl_->asked;
  return impl_->meta.defined() ? data_type(impl_->meta.scalar_type()) : DataType::UNKNOWN;
}

BaseLayer::BaseLayer(std::shared_ptr<LayerImpl> impl) noexcept : impl_(std::move(impl)) {}
BaseLayer::~BaseLayer() = default;

void BaseLayer::SetName(const char* name) noexcept {
  impl_->name = name ? name : "";
  impl_->named = !impl_->name.empty();
  if (!impl_->cause.empty()) impl_->fail(impl_->cause);  // now with the name
}

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
    impl_->add_output();
  }
  return index < outputs.size() ? &outputs[index] : nullptr;
}

void BaseLayer::SetInput(uint32_t index, Tensor* tensor) noexcept {
  const uint32_t most = most_inputs(*this, impl_->kind);
  if (index >= most) {
    impl_->refuse("SetInput",
                  "got index " + std::to_string(index) + ", the layer has at most " + std::to_string(most) + " inputs");
    return impl_->infer();
  }
  impl_->refuse("SetInput", {});
  if (index >= impl_->inputs.size()) impl_->inputs.resize(index + 1);
  impl_->inputs[index] = tensor;
  for (const SizeInput& row : kSizeInputs) {
    if (impl_->operation && impl_->operation->name == row.operation && index == row.index) {
      impl_->refuse(row.attribute, {});
      impl_->attributes[row.attribute] = std::vector<int64_t>{ValueOfInput(index)};
    }
  }
  impl_->infer();
}

void BaseLayer::Set(const char* attribute, int64_t value) noexcept {
  impl_->refuse(attribute, {});
  impl_->attributes[attribute] = value;
  impl_->infer();
}

void BaseLayer::SetReal(const char* attribute, double value) noexcept {
  impl_->refuse(attribute, {});
  impl_->attributes[attribute] = value;
  impl_->infer();
}

void BaseLayer::SetList(const char* attribute, const Dims& value) noexcept {
  impl_->refuse(attribute, too_long(value));
  impl_->attributes[attribute] = std::vector<int64_t>(value.begin(), value.end());
  impl_->infer();
}

}  // namespace AscendIE

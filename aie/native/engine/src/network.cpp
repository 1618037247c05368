// network.cpp: the functions that add layers.
#include "network/Network.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <sstream>
#include <string_view>
#include <utility>

#include "impl.h"
#include "profiles.h"

namespace AscendIE {

namespace {

constexpr size_t kLongestName = 4096;
constexpr const char* kConstant = "Constant";

template <class Kind>
Attribute integer(Kind value) {
  return static_cast<int64_t>(value);
}

/// Of a Dims that is too long the layer has an error: expect_short.
Attribute list(const Dims& dims) { return std::vector<int64_t>(dims.begin(), dims.end()); }

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string wrong_name(const char* name) {
  const std::string_view text = name ? name : "";
  if (text.empty()) return "is empty";
  if (text.size() > kLongestName) return "has more than " + std::to_string(kLongestName) + " characters";
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  return std::any_of(text.begin(), text.end(), control) ? "has control characters" : "";
}

at::Tensor copy(const Dims& dims, const WeightsBuf& values) {
  TORCH_CHECK_VALUE(!dims.TooLong(), too_long(dims));
  const at::IntArrayRef sizes(dims.Data(), dims.Size());
  at::Tensor tensor = at::empty(sizes, scalar_type(values.type));
  TORCH_CHECK_VALUE(static_cast<uint64_t>(tensor.numel()) == values.count, "got ", values.count,
                    " values for the shape ", sizes, ", which has ", tensor.numel());
  TORCH_CHECK_VALUE(values.value || values.count == 0, "the pointer to the values is null");
  if (values.count) std::memcpy(tensor.mutable_data_ptr(), values.value, tensor.nbytes());
  return tensor;
}

void expect_short(const std::vector<DimsRange>& profiles, const std::vector<Dims>& samples) {
  const auto expect = [](const Dims& dims) { TORCH_CHECK_VALUE(!dims.TooLong(), too_long(dims)); };
  for (const DimsRange& range : profiles) {
    expect(range.min);
    expect(range.max);
  }
  for (const Dims& sample : samples) expect(sample);
}

template <class Layer>
Layer* refuse(Layer* layer, const char* part, const std::string& why) {
  if (why.empty()) return layer;
  LayerImpl& impl = LayerImpl::of(*layer);
  impl.refuse(part, why);
  impl.infer();
  return layer;
}

/// The layer, with an error if a shape that it got is too long.
template <class Layer>
Layer* expect_short(Layer* layer, std::initializer_list<std::pair<const char*, const Dims*>> shapes) {
  for (const auto& [part, dims] : shapes) refuse(layer, part, too_long(*dims));
  return layer;
}

}  // namespace

template <class Layer>
Layer* NetworkImpl::add(const char* operation, std::vector<Tensor*> operands, Attributes attributes) {
  auto impl = std::make_shared<LayerImpl>();
  impl->network = this;
  impl->kind = operation;
  impl->name = impl->kind + "_" + std::to_string(layers.size());
  impl->operation = find_operation(operation);
  if (!impl->operation && std::strcmp(operation, kConstant) != 0) {
    impl->fail("this engine has no layer of that name");
  }
  impl->attributes = std::move(attributes);
  impl->inputs = std::move(operands);
  impl->add_output();
  impl->infer();
  auto layer = std::make_unique<Layer>(std::move(impl));
  Layer* const result = layer.get();
  layers.push_back(std::move(layer));
  return result;
}

Tensor* NetworkImpl::constant(const Dims& dims, const WeightsBuf& values) {
  ConstantLayer* const layer = add<ConstantLayer>(kConstant, {}, {});
  LayerImpl& impl = LayerImpl::of(*layer);
  TensorImpl& output = TensorImpl::of(impl.outputs.front());
  try {
    output.constant = copy(dims, values);
    output.set({inferred(output.constant)});
  } catch (const c10::Error& e) {
    impl.fail(e.what_without_backtrace());
  }
  return layer->GetOutput(0);
}

std::vector<const std::string*> NetworkImpl::errors() const {
  std::vector<const std::string*> result;
  for (const std::string& error : call_errors) result.push_back(&error);
  for (const auto& layer : layers) {
    const std::string& error = LayerImpl::of(*layer).error;
    if (!error.empty()) result.push_back(&error);
  }
  if (!build_error.empty()) result.push_back(&build_error);
  return result;
}

Network::Network() : impl_(std::make_shared<NetworkImpl>()) {}
Network::~Network() = default;

Tensor* Network::AddInput(const char* name, DataType type, const Dims& dims) noexcept {
  return AddInput(name, type, {{dims, dims}}, {});
}

Tensor* Network::AddInput(const char* name, DataType type, const std::vector<DimsRange>& profiles,
                          const std::vector<Dims>& samples) noexcept {
  auto impl = std::make_shared<TensorImpl>();
  impl->network = impl_.get();
  impl->name = name ? name : "";
  impl->input = true;
  try {
    const std::string wrong = wrong_name(name);
    TORCH_CHECK_VALUE(wrong.empty(), "the name ", wrong);
    const auto same = [&](const Tensor* other) { return TensorImpl::of(*other).name == impl->name; };
    TORCH_CHECK_VALUE(std::none_of(impl_->inputs.begin(), impl_->inputs.end(), same), "another input has this name");
    expect_short(profiles, samples);
    impl->profiles = profiles;
    impl->set(choices_of(profiles, samples, scalar_type(type)));
    for (const Tensor* other : impl_->inputs) expect_as_many_choices(*impl, TensorImpl::of(*other));
  } catch (const c10::Error& e) {
    impl_->call_errors.push_back("AddInput(" + in_quotes(impl->name) + "): " + e.what_without_backtrace());
  }
  impl_->inputs.push_back(&impl_->tensors.emplace_back(std::move(impl)));
  return impl_->inputs.back();
}

void Network::SetAsOutput(Tensor* tensor) noexcept {
  if (!tensor) {
    impl_->call_errors.emplace_back("SetAsOutput: the tensor is null");
    return;
  }
  TensorImpl& impl = TensorImpl::of(*tensor);
  if (impl.network != impl_.get()) {
    impl_->call_errors.push_back("SetAsOutput(" + in_quotes(impl.name) + "): it is a tensor of another network");
    return;
  }
  impl.output = true;
  impl_->outputs.push_back(tensor);
}

size_t Network::GetInputNum() const noexcept { return impl_->inputs.size(); }
size_t Network::GetOutputNum() const noexcept { return impl_->outputs.size(); }
size_t Network::GetErrorsNum() const noexcept { return impl_->errors().size(); }

Tensor* Network::GetInput(size_t index) const noexcept {
  return index < impl_->inputs.size() ? impl_->inputs[index] : nullptr;
}

Tensor* Network::GetOutput(size_t index) const noexcept {
  return index < impl_->outputs.size() ? impl_->outputs[index] : nullptr;
}

const char* Network::GetErrorByIndex(size_t index) const noexcept {
  const auto errors = impl_->errors();
  return index < errors.size() ? errors[index]->c_str() : nullptr;
}

ConstantLayer* Network::AddConstant(const Dims& dims, const WeightsBuf& values) noexcept {
  impl_->constant(dims, values);
  return static_cast<ConstantLayer*>(impl_->layers.back().get());
}

ConvolutionLayer* Network::AddConvolution(Tensor* input, int32_t outMaps, const Dims& kernel, const WeightsBuf& weights,
                                          const WeightsBuf& bias) noexcept {
  // The groups are set later, and with them the weights' shape: it is derived when the layer is run.
  std::vector<Tensor*> operands{input, impl_->constant({static_cast<int64_t>(weights.count)}, weights)};
  if (bias.count) operands.push_back(impl_->constant({outMaps}, bias));
  return expect_short(impl_->add<ConvolutionLayer>("Convolution", std::move(operands),
                                                   {{"maps", integer(outMaps)}, {"kernel", list(kernel)}}),
                      {{"kernel", &kernel}});
}

PoolingLayer* Network::AddPooling(Tensor* input, PoolingKind kind, const Dims& window, const Dims& out) noexcept {
  Attributes attributes{{"kind", integer(kind)}, {"window", list(window)}};
  if (!out.Empty()) attributes["out"] = list(out);
  return expect_short(impl_->add<PoolingLayer>("Pooling", {input}, std::move(attributes)),
                      {{"window", &window}, {"out", &out}});
}

ConcatenationLayer* Network::AddConcatenation(Tensor* const* inputs, int32_t count) noexcept {
  // Without tensors: the layer says that it has none.
  const bool none = !inputs || count <= 0;
  return impl_->add<ConcatenationLayer>(
      "Concatenation", none ? std::vector<Tensor*>() : std::vector<Tensor*>(inputs, inputs + count), {});
}

MatrixMultiplyLayer* Network::AddMatrixMultiply(Tensor* a, MatrixOperation aOperation, Tensor* b,
                                                MatrixOperation bOperation) noexcept {
  return impl_->add<MatrixMultiplyLayer>("MatrixMultiply", {a, b},
                                         {{"a", integer(aOperation)}, {"b", integer(bOperation)}});
}

ReduceLayer* Network::AddReduce(Tensor* input, ReduceOperation operation, const std::vector<int64_t>& axes,
                                bool keepDims) noexcept {
  return impl_->add<ReduceLayer>("Reduce", {input},
                                 {{"kind", integer(operation)}, {"axes", axes}, {"keep", integer(keepDims)}});
}

ElementWiseLayer* Network::AddElementWise(Tensor* a, Tensor* b, ElementWiseOperation operation) noexcept {
  return impl_->add<ElementWiseLayer>("ElementWise", {a, b}, {{"kind", integer(operation)}});
}

ActivationLayer* Network::AddActivation(Tensor* input, ActivationKind kind) noexcept {
  return impl_->add<ActivationLayer>("Activation", {input}, {{"kind", integer(kind)}});
}

CastLayer* Network::AddCast(Tensor* input, DataType type) noexcept {
  return impl_->add<CastLayer>("Cast", {input}, {{"type", integer(type)}});
}

ClipLayer* Network::AddClip(Tensor* input, float low, float high) noexcept {
  auto* const layer =
      impl_->add<ClipLayer>("Clip", {input}, {{"low", double{low}}, {"high", double{high}}, {"keep_type", int64_t{1}}});
  const bool ordered = !(low > high);
  return refuse(layer, "low", ordered ? "" : "got " + text_of(low) + " above high, which is " + text_of(high));
}

CumsumLayer* Network::AddCumsum(Tensor* input, int64_t axis) noexcept {
  return impl_->add<CumsumLayer>("Cumsum", {input}, {{"axis", axis}});
}

FillLayer* Network::AddFill(const Dims& dims, FillOperation operation) noexcept {
  return expect_short(impl_->add<FillLayer>("Fill", {}, {{"dims", list(dims)}, {"kind", integer(operation)}}),
                      {{"dims", &dims}});
}

GatherLayer* Network::AddGather(Tensor* data, Tensor* indices, int64_t axis, GatherOperation mode) noexcept {
  return impl_->add<GatherLayer>("Gather", {data, indices}, {{"axis", axis}, {"mode", integer(mode)}});
}

NormalizationLayer* Network::AddNormalization(Tensor* input, Tensor* scale, Tensor* bias, uint32_t axes) noexcept {
  std::vector<Tensor*> operands{input};
  if (scale) operands.push_back(scale);
  if (bias) operands.push_back(bias);
  return impl_->add<NormalizationLayer>("Normalization", std::move(operands),
                                        {{"axes", int64_t{axes}}, {"scale", int64_t{scale != nullptr}}});
}

QuantizeLayer* Network::AddQuantize(Tensor* input, double scale) noexcept {
  auto* const layer = impl_->add<QuantizeLayer>("Quantize", {input}, {{"scale", scale}});
  const bool allowed = std::isfinite(scale) && scale != 0;
  return refuse(layer, "scale", allowed ? "" : "got " + text_of(scale) + ", allowed are finite numbers other than 0");
}

ScaleLayer* Network::AddScaleNd(Tensor* input, ScaleMode mode, const WeightsBuf& shift, const WeightsBuf& scale,
                                int32_t channelAxis) noexcept {
  std::vector<Tensor*> operands{input};
  for (const WeightsBuf* values : {&scale, &shift}) {
    if (values->count) operands.push_back(impl_->constant({static_cast<int64_t>(values->count)}, *values));
  }
  return impl_->add<ScaleLayer>(
      "Scale", std::move(operands),
      {{"mode", integer(mode)}, {"axis", int64_t{channelAxis}}, {"scale", int64_t{scale.count != 0}}});
}

ScatterLayer* Network::AddScatter(Tensor* data, Tensor* indices, Tensor* updates, ScatterMode mode) noexcept {
  return impl_->add<ScatterLayer>("Scatter", {data, indices, updates}, {{"mode", integer(mode)}});
}

SelectLayer* Network::AddSelect(Tensor* condition, Tensor* a, Tensor* b) noexcept {
  return impl_->add<SelectLayer>("Select", {condition, a, b}, {});
}

ShapeLayer* Network::AddShape(Tensor* input) noexcept { return impl_->add<ShapeLayer>("Shape", {input}, {}); }

ShuffleLayer* Network::AddShuffle(Tensor* input) noexcept { return impl_->add<ShuffleLayer>("Shuffle", {input}, {}); }

SoftMaxLayer* Network::AddSoftMax(Tensor* input) noexcept { return impl_->add<SoftMaxLayer>("SoftMax", {input}, {}); }

SliceLayer* Network::AddSlice(Tensor* input, const Dims& start, const Dims& size, const Dims& stride) noexcept {
  return expect_short(impl_->add<SliceLayer>("Slice", {input},
                                             {{"start", list(start)}, {"size", list(size)}, {"stride", list(stride)}}),
                      {{"start", &start}, {"size", &size}, {"stride", &stride}});
}

TopKLayer* Network::AddTopK(Tensor* input, TopKOperation operation, int64_t k, int64_t axes) noexcept {
  return impl_->add<TopKLayer>("TopK", {input}, {{"kind", integer(operation)}, {"k", k}, {"axes", axes}});
}

OperationLayer* Network::AddOperation(const char* operation, const std::vector<Tensor*>& inputs,
                                      Attributes attributes) noexcept {
  return impl_->add<OperationLayer>(operation ? operation : "", inputs, std::move(attributes));
}

UnaryLayer* Network::AddUnary(Tensor* input, UnaryOperation operation) noexcept {
  return impl_->add<UnaryLayer>("Unary", {input}, {{"kind", integer(operation)}});
}

}  // namespace AscendIE

// aie/tests/network_test.cpp: what a network infers, and what its layers compute.
// `program NAME` runs one check.
#include <cmath>
#include <numeric>
#include <vector>

#include "check.h"

namespace {

void layers_infer_shapes_and_types() {
  Example e;
  EXPECT(e.net->AddCumsum(e.x, 1)->GetOutput(0)->GetDimensions() == Dims{2, 4, 6, 6});
  Tensor* const less = e.net->AddElementWise(e.x, e.x, ElementWiseOperation::LESS)->GetOutput(0);
  EXPECT(less->GetType() == DataType::BOOL);
  EXPECT(e.net->AddReduce(e.x, ReduceOperation::AVG, {}, false)->GetOutput(0)->GetDimensions().Empty());
  EXPECT(e.net->AddReduce(e.x, ReduceOperation::PROD, {1, -1}, true)->GetOutput(0)->GetDimensions() ==
         Dims{2, 1, 6, 1});
  EXPECT(e.net->AddShape(e.x)->GetOutput(0)->GetType() == DataType::INT32);
  EXPECT(e.net->AddQuantize(e.x, 2.0)->GetOutput(0)->GetType() == DataType::INT8);
  EXPECT(e.net->AddPooling(e.x, PoolingKind::MAX, {2, 2})->GetOutput(0)->GetDimensions() == Dims{2, 4, 3, 3});
  EXPECT(e.net->GetErrorsNum() == 0);
}

void setters_infer_again() {
  Example e;
  const std::vector<float> weights(8 * 2 * 3 * 3);
  const WeightsBuf buffer{DataType::FLOAT, weights.data(), weights.size()};
  auto* const layer = e.net->AddConvolutionLayer(e.x, 8, {3, 3}, buffer, {});
  layer->SetGroupNum(2);
  layer->SetStrides({2, 2});
  layer->SetPaddings({1, 1});
  EXPECT(layer->GetOutput(0)->GetDimensions() == Dims{2, 8, 3, 3});
  EXPECT(e.net->GetErrorsNum() == 0);
}

void models_are_built_from_what_outputs_need() {
  Example e;
  Tensor* const y = e.net->AddUnary(e.x, UnaryOperation::EXP)->GetOutput(0);
  e.net->SetAsOutput(y);
  const size_t size = e.builder->BuildModel(e.net.get(), {}).size;
  e.net->AddUnary(y, UnaryOperation::LOG);
  EXPECT(size > 0);
  EXPECT(e.builder->BuildModel(e.net.get(), {}).size == size);
}

/// A network of one input 0, 1, 2 ... and what it computes.
struct Computed {
  explicit Computed(const Dims& shape, DataType type = DataType::FLOAT) : x(net->AddInput("x", type, shape)) {
    size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  }

  Tensor* numbers(const std::vector<int32_t>& values) const {
    const WeightsBuf buffer{DataType::INT32, values.data(), values.size()};
    return net->AddConstant({static_cast<int64_t>(values.size())}, buffer)->GetOutput(0);
  }
  Tensor* reals(const Dims& shape, const std::vector<float>& values) const {
    return net->AddConstant(shape, {DataType::FLOAT, values.data(), values.size()})->GetOutput(0);
  }

  /// The values of `output`, for an input of `In` and an output of `Out`.
  template <class Out = float, class In = float>
  std::vector<Out> of(Tensor* output, BuilderFlag flag = BuilderFlag::FP32) {
    output->SetName("y");
    net->SetAsOutput(output);
    BuilderConfig config;
    config.SetFlag(flag);
    const ModelData model = builder->BuildModel(net.get(), config);
    if (!model.data) {
      std::printf("%s\n", net->GetErrorsNum() ? net->GetErrorByIndex(0) : "no model and no error");
      ++failures;
      return {};
    }
    const std::unique_ptr<Engine> engine(
        Runtime::GetInstance()->DeserializeEngineFromMem(model.data.get(), model.size));
    const std::unique_ptr<Context> context(engine->CreateContext());
    std::vector<In> in(size);
    std::iota(in.begin(), in.end(), In(0));
    const Dims shape = engine->GetShape("y");
    std::vector<Out> out(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
    EXPECT(context->SetTensorAddress("x", in.data()) && context->SetTensorAddress("y", out.data()));
    if (!context->Enqueue(nullptr)) {
      std::printf("%s\n", context->GetErrorByIndex(0));
      ++failures;
    }
    return out;
  }

  Builder* builder = Builder::CreateInferBuilder("Ascend310P3");
  std::unique_ptr<Network> net{builder->CreateNetwork()};
  Tensor* x;
  size_t size;
};

bool near(const std::vector<float>& a, const std::vector<float>& b, float tolerance = 1e-5F) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::fabs(a[i] - b[i]) <= tolerance)) return false;
  }
  return true;
}

void top_k_has_values_and_indices() {
  Computed largest({2, 3});
  EXPECT(near(largest.of(largest.net->AddTopK(largest.x, TopKOperation::MAX, 2, 1 << 1)->GetOutput(0)), {2, 1, 5, 4}));
  Computed least({2, 3});
  Tensor* const indices = least.net->AddTopK(least.x, TopKOperation::MIN, 1, {1 << 0})->GetOutput(1);
  EXPECT(indices->GetType() == DataType::INT32);
  EXPECT((least.of<int32_t>(indices) == std::vector<int32_t>{0, 0, 0}));
}

void slices_have_strides_of_either_sign() {
  Computed forward({2, 4});
  EXPECT(near(forward.of(forward.net->AddSlice(forward.x, {0, 1}, {2, 2}, {1, 2})->GetOutput(0)), {1, 3, 5, 7}));
  Computed backward({4});
  EXPECT(near(backward.of(backward.net->AddSlice(backward.x, {3}, {2}, {-2})->GetOutput(0)), {3, 1}));
  Computed repeated({4});
  EXPECT(near(repeated.of(repeated.net->AddSlice(repeated.x, {2}, {3}, {0})->GetOutput(0)), {2, 2, 2}));
  Example e;
  e.net->AddSlice(e.x, {0, 0, 0, 0}, {2, 4, 6, 7}, {1, 1, 1, 1});
  EXPECT(e.has_error("axis 3 of size 6: elements 0 to 6 are asked for"));
}

void layers_do_not_need_themselves() {
  Example e;
  auto* const first = e.net->AddElementWise(e.x, e.x, ElementWiseOperation::ADD);
  Tensor* const second = e.net->AddUnary(first->GetOutput(0), UnaryOperation::NEG)->GetOutput(0);
  first->SetInput(1, second);
  e.net->SetAsOutput(second);
  EXPECT(e.builder->BuildModel(e.net.get(), {}).size == 0);
  EXPECT(e.has_error("needs its own output"));
}

void shapes_may_be_tensors() {
  Computed slice({2, 4});
  auto* const part = slice.net->AddSlice(slice.x, {0, 0}, {0, 0}, {1, 1});
  part->SetInput(1, slice.numbers({1, 1}));
  part->SetInput(2, slice.numbers({1, 2}));
  EXPECT(near(slice.of(part->GetOutput(0)), {5, 6}));
  Computed shuffle({2, 2});
  auto* const reshaped = shuffle.net->AddShuffle(shuffle.x);
  reshaped->SetInput(1, shuffle.numbers({4}));
  EXPECT(reshaped->GetOutput(0)->GetDimensions() == Dims{4});
  Computed fill({1});
  auto* const filled = fill.net->AddFill({});
  filled->SetInput(0, fill.numbers({3}));
  filled->SetInput(1, fill.reals({}, {5}));
  filled->SetInput(2, fill.reals({}, {-1}));
  EXPECT(near(fill.of(filled->GetOutput(0)), {5, 4, 3}));
}

void gathers_have_three_modes() {
  Computed rows({3, 2});
  EXPECT(near(rows.of(rows.net->AddGather(rows.x, rows.numbers({2, 0}), 0)->GetOutput(0)), {4, 5, 0, 1}));
  Computed tuples({3, 2});
  Tensor* const pair = tuples.numbers({2, 1});
  EXPECT(near(tuples.of(tuples.net->AddGather(tuples.x, pair, 0, GatherOperation::ND)->GetOutput(0)), {5}));
  Computed elements({3});
  auto* const layer = elements.net->AddGather(elements.x, elements.numbers({1, 1}), 0, GatherOperation::ELEMENT);
  EXPECT(near(elements.of(layer->GetOutput(0)), {1, 1}));
}

void scatters_replace_elements() {
  Computed elements({4});
  Tensor* const updates = elements.reals({2}, {9, 8});
  auto* const layer = elements.net->AddScatter(elements.x, elements.numbers({3, 1}), updates, ScatterMode::ELEMENT);
  layer->SetAxis(0);
  EXPECT(near(elements.of(layer->GetOutput(0)), {0, 8, 2, 9}));
  Computed rows({2, 2});
  auto* const row = rows.net->AddScatter(rows.x, rows.numbers({1}), rows.reals({2}, {7, 6}), ScatterMode::ND);
  EXPECT(near(rows.of(row->GetOutput(0)), {0, 1, 7, 6}));
}

void scales_belong_to_tensors_channels_or_elements() {
  const std::vector<float> scale{1, 10};
  const std::vector<float> shift{0, 100};
  const WeightsBuf scales{DataType::FLOAT, scale.data(), 2};
  const WeightsBuf shifts{DataType::FLOAT, shift.data(), 2};
  Computed channels({1, 2, 2});
  auto* const layer = channels.net->AddScaleNd(channels.x, ScaleMode::KCHANNEL, shifts, scales, 1);
  EXPECT(near(channels.of(layer->GetOutput(0)), {0, 1, 120, 130}));
  Computed elements({2});
  auto* const each = elements.net->AddScaleNd(elements.x, ScaleMode::KELEMENTWISE, shifts, {}, 0);
  EXPECT(near(elements.of(each->GetOutput(0)), {0, 101}));
  Example e;
  e.net->AddScaleNd(e.x, ScaleMode::KCHANNEL, {}, scales, 1);
  EXPECT(e.has_error("got 2 values for 4 channels"));
}

void normalization_is_over_the_axes_of_its_mask() {
  Computed last({2, 2});
  auto* const layer = last.net->AddNormalization(last.x, last.reals({2}, {2, 2}), last.reals({2}, {1, 1}), 1U << 1);
  layer->SetEpsilon(1e-6F);
  EXPECT(near(last.of(layer->GetOutput(0)), {-1, 3, -1, 3}, 1e-4F));
  Computed first({2, 2});
  auto* const columns = first.net->AddNormalization(first.x, nullptr, nullptr, 1U << 0);
  EXPECT(near(first.of(columns->GetOutput(0)), {-1, -1, 1, 1}, 1e-4F));
}

void fills_are_ranges() {
  Computed c({1});
  auto* const layer = c.net->AddFill({3});
  layer->SetAlpha(2);
  layer->SetBeta(0.5);
  EXPECT(near(c.of(layer->GetOutput(0)), {2, 2.5F, 3}));
}

void shuffles_transpose_reshape_and_transpose() {
  Computed c({2, 3});
  auto* const layer = c.net->AddShuffleLayer(c.x);
  layer->SetFirstTranspose({2, {1, 0}});
  layer->SetReshapeDimensions({2, 3});
  layer->SetSecondTranspose({2, {1, 0}});
  EXPECT(near(c.of(layer->GetOutput(0)), {0, 4, 3, 2, 1, 5}));
}

void poolings_pad_as_their_mode_says() {
  const auto shape = [](PaddingMode mode) {
    Example e;
    auto* const layer = e.net->AddPoolingLayer(e.x, PoolingKind::AVERAGE, {3, 3});
    layer->SetStride({2, 2});
    layer->SetPaddingMode(mode);
    return layer->GetOutput(0)->GetDimensions();
  };
  EXPECT(shape(PaddingMode::EXPLICIT_ROUND_DOWN) == Dims{2, 4, 2, 2});
  EXPECT(shape(PaddingMode::EXPLICIT_ROUND_UP) == Dims{2, 4, 3, 3});
  EXPECT(shape(PaddingMode::SAME_UPPER) == Dims{2, 4, 3, 3});
  Computed upper({1, 1, 4});
  auto* const after = upper.net->AddPooling(upper.x, PoolingKind::MAX, {2});
  after->SetStride({1});
  after->SetPaddingMode(PaddingMode::SAME_UPPER);
  EXPECT(near(upper.of(after->GetOutput(0)), {1, 2, 3, 3}));
  Computed lower({1, 1, 4});
  auto* const before = lower.net->AddPooling(lower.x, PoolingKind::AVERAGE, {2});
  before->SetStride({1});
  before->SetPaddingMode(PaddingMode::SAME_LOWER);
  before->SetAverageCountExcludesPadding(true);
  EXPECT(near(lower.of(before->GetOutput(0)), {0, 0.5F, 1.5F, 2.5F}));
}

void clips_keep_the_type() {
  Computed c({4}, DataType::INT32);
  Tensor* const y = c.net->AddClip(c.x, 1, 2)->GetOutput(0);
  EXPECT(y->GetType() == DataType::INT32);
  EXPECT((c.of<int32_t, int32_t>(y) == std::vector<int32_t>{1, 1, 2, 2}));
}

void outputs_have_the_type_that_is_asked_for() {
  Computed c({2});
  Tensor* const y = c.net->AddUnary(c.x, UnaryOperation::NEG)->GetOutput(0);
  y->SetType(DataType::INT32);
  EXPECT(y->GetType() == DataType::INT32);
  EXPECT((c.of<int32_t>(y) == std::vector<int32_t>{0, -1}));
  Example e;
  Tensor* const inside = e.net->AddUnary(e.x, UnaryOperation::NEG)->GetOutput(0);
  inside->SetType(DataType::INT32);
  e.net->SetAsOutput(e.net->AddUnary(inside, UnaryOperation::EXP)->GetOutput(0));
  EXPECT(e.builder->BuildModel(e.net.get(), {}).size == 0);
  EXPECT(e.has_error("SetType cannot change the type of a tensor inside the network: add a cast"));
}

void mixed_precision_keeps_sums_in_full() {
  const auto sum = [](BuilderFlag flag) {
    Computed c({64});  // the sum of squares is 85344: above FP16's greatest value, half of it is below
    Tensor* const squares = c.net->AddElementWise(c.x, c.x, ElementWiseOperation::MUL)->GetOutput(0);
    Tensor* const total = c.net->AddReduce(squares, ReduceOperation::SUM, {0}, false)->GetOutput(0);
    Tensor* const scaled = c.net->AddElementWise(total, c.reals({}, {0.5F}), ElementWiseOperation::MUL)->GetOutput(0);
    return c.of(scaled, flag).at(0);
  };
  EXPECT(sum(BuilderFlag::FP32) == 42672);
  EXPECT(sum(BuilderFlag::MIX_FP32_WITH_FP16) == 42672);
  EXPECT(std::isinf(sum(BuilderFlag::FP16)));
  // The variance of 0 to 999 is above it too.
  const auto last = [](BuilderFlag flag) {
    Computed c({1000, 1});
    return c.of(c.net->AddNormalization(c.x, nullptr, nullptr, 1U << 0)->GetOutput(0), flag).at(999);
  };
  EXPECT(last(BuilderFlag::FP16) == 0);
  EXPECT(std::fabs(last(BuilderFlag::MIX_FP16) - 1.73F) < 1e-2F);
}

void operations_have_names() {
  Computed c({2, 3});
  auto* const layer = c.net->AddOperation("Variance", {c.x}, {{"dim", std::vector<int64_t>{1}}});
  EXPECT(near(c.of(layer->GetOutput(0)), {1, 1}));
  Example e;
  auto* const unknown = e.net->AddOperation("Nonsense", {e.x});
  EXPECT(unknown->GetOutput(3) != nullptr);
  EXPECT(e.has_error("Nonsense: this engine has no layer of that name"));
  e.net->AddOperation("Select", {e.x});
  EXPECT(e.has_error("Select: got 1 inputs, allowed are at least 3"));
}

const Checks kChecks{
    {"layers_infer_shapes_and_types", layers_infer_shapes_and_types},
    {"setters_infer_again", setters_infer_again},
    {"models_are_built_from_what_outputs_need", models_are_built_from_what_outputs_need},
    {"top_k_has_values_and_indices", top_k_has_values_and_indices},
    {"slices_have_strides_of_either_sign", slices_have_strides_of_either_sign},
    {"layers_do_not_need_themselves", layers_do_not_need_themselves},
    {"shapes_may_be_tensors", shapes_may_be_tensors},
    {"gathers_have_three_modes", gathers_have_three_modes},
    {"scatters_replace_elements", scatters_replace_elements},
    {"scales_belong_to_tensors_channels_or_elements", scales_belong_to_tensors_channels_or_elements},
    {"normalization_is_over_the_axes_of_its_mask", normalization_is_over_the_axes_of_its_mask},
    {"fills_are_ranges", fills_are_ranges},
    {"shuffles_transpose_reshape_and_transpose", shuffles_transpose_reshape_and_transpose},
    {"poolings_pad_as_their_mode_says", poolings_pad_as_their_mode_says},
    {"clips_keep_the_type", clips_keep_the_type},
    {"outputs_have_the_type_that_is_asked_for", outputs_have_the_type_that_is_asked_for},
    {"mixed_precision_keeps_sums_in_full", mixed_precision_keeps_sums_in_full},
    {"operations_have_names", operations_have_names},
};

}  // namespace

int main(int argc, char** argv) { return run_check(kChecks, argc, argv); }

// aie/tests/errors_test.cpp: which errors networks and the builder record. `program NAME` runs one check.
#include <cmath>
#include <vector>

#include "check.h"

namespace {

void a_layer_with_an_error_is_recorded_and_not_null() {
  Example e;
  auto* const layer = e.net->AddCumsum(e.x, 9);
  EXPECT(layer != nullptr);
  layer->SetName("wrong");
  Tensor* const poisoned = layer->GetOutput(0);
  EXPECT(poisoned != nullptr && poisoned->GetType() == DataType::UNKNOWN);
  EXPECT(e.net->AddUnary(poisoned, UnaryOperation::EXP)->GetOutput(0)->GetType() == DataType::UNKNOWN);
  EXPECT(e.net->GetErrorsNum() == 1);  // what follows from an error is none
  EXPECT(e.has_error("Cumsum 'wrong': ") && e.has_error("Dimension out of range"));
  e.net->SetAsOutput(poisoned);
  EXPECT(e.builder->BuildModel(e.net.get(), {}).size == 0);
}

void null_inputs_and_wrong_names_are_recorded() {
  Example e;
  EXPECT(e.net->AddElementWise(e.x, nullptr, ElementWiseOperation::ADD) != nullptr);
  EXPECT(e.has_error("ElementWise: input 1 is null"));
  e.net->AddInput("", DataType::FLOAT, {1});
  EXPECT(e.has_error("the name is empty"));
  e.net->AddInput("a\nb", DataType::FLOAT, {1});
  EXPECT(e.has_error("control characters"));
  const float value = 1;
  e.net->AddConstant({3}, {DataType::FLOAT, &value, 1});
  EXPECT(e.has_error("got 1 values"));
}

void wrong_axes_and_missing_tensors_are_recorded() {
  Example e;
  EXPECT(e.net->AddConcatenation(nullptr, 2)->GetOutput(0) != nullptr);
  EXPECT(e.has_error("Concatenation: got 0 inputs, allowed are at least 1"));
  e.net->AddReduce(e.x, ReduceOperation::PROD, {1, -3}, false);
  EXPECT(e.has_error("name one axis twice"));
  e.net->AddSoftMax(e.x)->SetAxes(3);
  EXPECT(e.has_error("the mask of axes 3 has to have one bit set"));
  e.net->AddCast(e.x, DataType::STRING);
  EXPECT(e.has_error("data type 13 is none that a tensor can have"));
}

void inputs_and_outputs_have_their_own_names() {
  Example twice;
  twice.net->AddInput("x", DataType::FLOAT, {1});
  EXPECT(twice.has_error("AddInput('x'): another input has this name"));
  Example e;
  Tensor* const y = e.net->AddUnary(e.x, UnaryOperation::EXP)->GetOutput(0);
  y->SetName("x");
  e.net->SetAsOutput(y);
  EXPECT(e.builder->BuildModel(e.net.get(), {}).size == 0);
  EXPECT(e.has_error("BuildModel: two inputs or outputs are named 'x'"));
  y->SetName("y");
  e.net->SetAsOutput(e.x);  // what is both has one name
  e.net->SetAsOutput(y);
  EXPECT(e.builder->BuildModel(e.net.get(), {}).size > 0 && e.net->GetErrorsNum() == 0);
  Tensor* const z = e.net->AddUnary(e.x, UnaryOperation::NEG)->GetOutput(0);
  z->SetName("y");
  e.net->SetAsOutput(z);
  EXPECT(e.builder->BuildModel(e.net.get(), {}).size == 0 && e.has_error("are named 'y'"));
}

void networks_keep_to_their_own_tensors() {
  Example mine;
  Example other;
  mine.net->AddElementWise(mine.x, other.x, ElementWiseOperation::ADD);
  EXPECT(mine.has_error("ElementWise: input 1 is a tensor of another network"));
  auto* const layer = other.net->AddUnary(other.x, UnaryOperation::EXP);
  other.net->SetAsOutput(mine.net->AddUnary(mine.x, UnaryOperation::EXP)->GetOutput(0));
  EXPECT(other.net->GetErrorsNum() == 1 && other.has_error("SetAsOutput(''): it is a tensor of another network"));
  EXPECT(other.net->GetOutputNum() == 0);
  layer->SetInput(0, mine.x);
  EXPECT(other.has_error("Unary: input 0 is a tensor of another network"));
}

void numbers_without_a_meaning_are_recorded() {
  Example e;
  e.net->AddClip(e.x, 2, 1.5F);
  EXPECT(e.has_error("Clip: low: got 2 above high, which is 1.5"));
  e.net->AddClip(e.x, 1, 1);
  EXPECT(e.net->GetErrorsNum() == 1);
  e.net->AddQuantize(e.x, 0);
  EXPECT(e.has_error("Quantize: scale: got 0, allowed are finite numbers other than 0"));
  e.net->AddQuantize(e.x, std::nan(""));
  EXPECT(e.net->GetErrorsNum() == 3);
}

void layers_have_so_many_inputs() {
  Example e;
  auto* const exp = e.net->AddUnary(e.x, UnaryOperation::EXP);
  exp->SetInput(4000000000U, e.x);
  EXPECT(exp->GetInputCount() == 1);
  EXPECT(e.has_error("Unary: SetInput: got index 4000000000, the layer has at most 1 inputs"));
  exp->SetInput(0, e.x);  // right again
  EXPECT(e.net->GetErrorsNum() == 0 && exp->GetOutput(0)->GetType() == DataType::FLOAT);
  const float value = 1;
  e.net->AddConstant({1}, {DataType::FLOAT, &value, 1})->SetInput(0, e.x);
  EXPECT(e.has_error("Constant: SetInput: got index 0, the layer has at most 0 inputs"));
  e.net->AddConcatenation(&e.x, 1)->SetInput(5000000, e.x);
  EXPECT(e.has_error("Concatenation: SetInput: got index 5000000, the layer has at most 1024 inputs"));
  const int32_t axis = 1;
  Example named;  // an attribute of an operation may be one of its inputs
  auto* const sum = named.net->AddOperation("Cumsum", {named.x}, {{"axis", ValueOfInput(1)}});
  sum->SetInput(1, named.net->AddConstant({1}, {DataType::INT32, &axis, 1})->GetOutput(0));
  EXPECT(named.net->GetErrorsNum() == 0 && sum->GetOutput(0)->GetDimensions() == Dims{2, 4, 6, 6});
}

void shapes_have_at_most_eight_sizes() {
  const Dims nine{1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT(nine.TooLong() && nine.Given() == 9 && nine.Size() == 8 && nine.end() == nine.Data() + 8);
  EXPECT(nine != Dims{1, 1, 1, 1, 1, 1, 1, 1} && !Dims{1}.TooLong() && sizeof(Dims) == 9 * sizeof(int64_t));
  const char* const error = "got 9 sizes, allowed are at most 8";
  const float value = 1;
  const WeightsBuf one{DataType::FLOAT, &value, 1};
  const auto records = [&](auto add) {
    Example e;
    add(e);
    return e.net->GetErrorsNum() == 1 && e.has_error(error) && e.builder->BuildModel(e.net.get(), {}).size == 0;
  };
  EXPECT(records([&](Example& e) { e.net->AddInput("y", DataType::FLOAT, nine); }));
  EXPECT(records([&](Example& e) { e.net->AddInput("y", DataType::FLOAT, {{Dims{1}, nine}}, {}); }));
  EXPECT(records([&](Example& e) { e.net->AddInput("y", DataType::FLOAT, {{Dims{1}, Dims{1}}}, {nine}); }));
  EXPECT(records([&](Example& e) { e.net->AddConstant(nine, one); }));
  EXPECT(records([&](Example& e) { e.net->AddConvolution(e.x, 1, nine, one, {}); }));
  EXPECT(records([&](Example& e) { e.net->AddPooling(e.x, PoolingKind::MAX, nine); }));
  EXPECT(records([&](Example& e) { e.net->AddPooling(e.x, PoolingKind::MAX, {2, 2}, nine); }));
  EXPECT(records([&](Example& e) { e.net->AddFill(nine); }));
  EXPECT(records([&](Example& e) { e.net->AddSlice(e.x, {0, 0, 0, 0}, nine, {1, 1, 1, 1}); }));
  EXPECT(records([&](Example& e) { e.net->AddShuffle(e.x)->SetReshapeDimensions(nine); }));
  EXPECT(records([&](Example& e) { e.net->AddShuffle(e.x)->SetFirstTranspose({9, {}}); }));
  Example e;
  auto* const layer = e.net->AddFill(nine);
  EXPECT(e.has_error("Fill: dims: got 9 sizes"));
  layer->SetDimensions({3});
  EXPECT(e.net->GetErrorsNum() == 0 && layer->GetOutput(0)->GetDimensions() == Dims{3});
}

void errors_name_layers_and_escape_names() {
  Example e;
  auto* const layer = e.net->AddCumsum(e.x, 9);
  layer->SetName("a\nb\x1b\t");
  EXPECT(e.has_error("Cumsum 'a\\nb\\x1b\\t': "));
  layer->SetInput(0, nullptr);  // a new error has the name too
  EXPECT(e.has_error("Cumsum 'a\\nb\\x1b\\t': input 0 is null"));
  e.net->AddInput("a\nb", DataType::FLOAT, {1});
  EXPECT(e.has_error("AddInput('a\\nb'): the name has control characters"));
  e.net->AddOperation("Non\nsense", {e.x})->SetName("third");
  EXPECT(e.has_error("Non\\nsense 'third': this engine has no layer"));
}

void builders_tell_of_a_missing_network() {
  Builder* const builder = Builder::CreateInferBuilder("Ascend310P3");
  const size_t before = builder->GetErrorsNum();
  EXPECT(builder->BuildModel(nullptr, {}).size == 0 && builder->GetErrorsNum() == before + 1);
  EXPECT(std::strstr(builder->GetErrorByIndex(before), "BuildModel: the network is null"));
  EXPECT(builder->GetErrorByIndex(before + 1) == nullptr);
}

void convolutions_tell_ranks_and_channels() {
  const std::vector<float> weights(8 * 3 * 3 * 3);
  const auto records = [&](const Dims& shape, size_t count, const char* error) {
    Example e;
    Tensor* const x = e.net->AddInput("image", DataType::FLOAT, shape);
    e.net->AddConvolution(x, 8, {3, 3}, {DataType::FLOAT, weights.data(), count}, {});
    return e.has_error(error);
  };
  EXPECT(records({2, 5, 6, 6}, weights.size(), "the weights are for 3 channels, got 5"));
  EXPECT(records({2, 3, 6, 6}, 215, "got 215 weights, allowed are 216, of the shape [8, 3, 3, 3]"));
  EXPECT(records({6, 6}, weights.size(), "a kernel of rank 2 needs an input of rank 4"));
  EXPECT(!records({2, 3, 6, 6}, weights.size(), "Convolution"));
}

const Checks kChecks{
    {"a_layer_with_an_error_is_recorded_and_not_null", a_layer_with_an_error_is_recorded_and_not_null},
    {"null_inputs_and_wrong_names_are_recorded", null_inputs_and_wrong_names_are_recorded},
    {"wrong_axes_and_missing_tensors_are_recorded", wrong_axes_and_missing_tensors_are_recorded},
    {"inputs_and_outputs_have_their_own_names", inputs_and_outputs_have_their_own_names},
    {"networks_keep_to_their_own_tensors", networks_keep_to_their_own_tensors},
    {"numbers_without_a_meaning_are_recorded", numbers_without_a_meaning_are_recorded},
    {"layers_have_so_many_inputs", layers_have_so_many_inputs},
    {"shapes_have_at_most_eight_sizes", shapes_have_at_most_eight_sizes},
    {"errors_name_layers_and_escape_names", errors_name_layers_and_escape_names},
    {"builders_tell_of_a_missing_network", builders_tell_of_a_missing_network},
    {"convolutions_tell_ranks_and_channels", convolutions_tell_ranks_and_channels},
};

}  // namespace

int main(int argc, char** argv) { return run_check(kChecks, argc, argv); }

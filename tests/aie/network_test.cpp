// tests/aie/network_test.cpp: what a network infers and which errors it records. `program NAME` runs one check.
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "AscendIE.h"

using namespace AscendIE;

namespace {

int failures = 0;

void expect(bool holds, const char* text, int line) {
  if (holds) return;
  std::printf("line %d: %s\n", line, text);
  ++failures;
}
#define EXPECT(...) expect((__VA_ARGS__), #__VA_ARGS__, __LINE__)

struct Example {
  Builder* builder = Builder::CreateInferBuilder("Ascend310P3");
  std::unique_ptr<Network> net{builder->CreateNetwork()};
  Tensor* x = net->AddInput("x", DataType::FLOAT, {2, 4, 6, 6});

  bool has_error(const char* part) const {
    for (size_t i = 0; i < net->GetErrorsNum(); ++i) {
      if (std::strstr(net->GetErrorByIndex(i), part)) return true;
    }
    return false;
  }
};

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

void a_layer_with_an_error_is_recorded_and_not_null() {
  Example e;
  auto* const layer = e.net->AddCumsum(e.x, 9);
  EXPECT(layer != nullptr);
  layer->SetName("wrong");
  Tensor* const poisoned = layer->GetOutput(0);
  EXPECT(poisoned != nullptr && poisoned->GetType() == DataType::UNKNOWN);
  EXPECT(e.net->AddUnary(poisoned, UnaryOperation::EXP)->GetOutput(0)->GetType() == DataType::UNKNOWN);
  EXPECT(e.net->GetErrorsNum() == 1);  // what follows from an error is none
  EXPECT(e.has_error("Cumsum: Dimension out of range"));
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

void models_are_built_from_what_outputs_need() {
  Example e;
  Tensor* const y = e.net->AddUnary(e.x, UnaryOperation::EXP)->GetOutput(0);
  e.net->SetAsOutput(y);
  const size_t size = e.builder->BuildModel(e.net.get(), {}).size;
  e.net->AddUnary(y, UnaryOperation::LOG);
  EXPECT(size > 0);
  EXPECT(e.builder->BuildModel(e.net.get(), {}).size == size);
}

const std::map<std::string, void (*)()> kChecks{
    {"layers_infer_shapes_and_types", layers_infer_shapes_and_types},
    {"setters_infer_again", setters_infer_again},
    {"a_layer_with_an_error_is_recorded_and_not_null", a_layer_with_an_error_is_recorded_and_not_null},
    {"null_inputs_and_wrong_names_are_recorded", null_inputs_and_wrong_names_are_recorded},
    {"models_are_built_from_what_outputs_need", models_are_built_from_what_outputs_need},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) kChecks.at(argv[1])();
  return failures;
}

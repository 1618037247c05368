// tests/aie/runtime_test.cpp: engines and contexts, and what they say of wrong calls. `program NAME` runs one check.
#include "check.h"

namespace {

void contexts_tell_what_is_missing() {
  Example e;
  Tensor* const y = e.net->AddUnary(e.x, UnaryOperation::NEG)->GetOutput(0);
  e.net->SetAsOutput(y);
  const ModelData model = e.builder->BuildModel(e.net.get(), {});
  Runtime* const runtime = Runtime::GetInstance();
  const std::unique_ptr<Engine> engine(runtime->DeserializeEngineFromMem(model.data.get(), model.size));
  EXPECT(engine->GetInputNum() == 1 && engine->GetOutputNum() == 1);
  EXPECT(std::string(engine->GetInputName(0)) == "x" && std::string(engine->GetOutputName(0)) == "output_0");
  EXPECT(engine->GetDataType("x") == DataType::FLOAT && engine->GetShape("output_0") == Dims{2, 4, 6, 6});
  EXPECT(engine->GetInputName(1) == nullptr && engine->GetDataType("z") == DataType::UNKNOWN);
  const std::unique_ptr<Context> context(engine->CreateContext());
  EXPECT(!context->Enqueue(nullptr) && std::strstr(context->GetErrorByIndex(0), "has no memory"));
  EXPECT(!context->SetTensorAddress("z", nullptr) &&
         std::strstr(context->GetErrorByIndex(1), "no input or output 'z'"));
  const size_t errors = runtime->GetErrorsNum();
  model.data.get()[model.size - 1] ^= 1;
  EXPECT(runtime->DeserializeEngineFromMem(model.data.get(), model.size) == nullptr);
  EXPECT(runtime->DeserializeEngineFromMem(nullptr, 0) == nullptr);
  EXPECT(runtime->GetErrorsNum() == errors + 2 && std::strstr(runtime->GetErrorByIndex(errors), "damaged"));
}

void streams_are_made_and_ended() {
  aieStream stream = nullptr;
  EXPECT(CreateStream(&stream) == 0 && stream);
  EXPECT(SynchronizeStream(stream) == 0);
  EXPECT(DestroyStream(stream) == 0);
  EXPECT(CreateStream(nullptr) != 0);
}

void smart_pointers_may_hold_the_only_ones() {
  {
    const std::unique_ptr<Builder> builder(Builder::CreateInferBuilder("Ascend910A"));
  }
  {
    const std::unique_ptr<Runtime> runtime(Runtime::GetInstance());
  }
  const std::unique_ptr<Network> net(Builder::CreateInferBuilder("Ascend910A")->CreateNetwork());
  EXPECT(net != nullptr);
}

const Checks kChecks{
    {"contexts_tell_what_is_missing", contexts_tell_what_is_missing},
    {"streams_are_made_and_ended", streams_are_made_and_ended},
    {"smart_pointers_may_hold_the_only_ones", smart_pointers_may_hold_the_only_ones},
};

}  // namespace

int main(int argc, char** argv) { return run_check(kChecks, argc, argv); }

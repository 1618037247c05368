// aie/tests/runtime_test.cpp: engines and contexts, and what they say of wrong calls. `program NAME` runs one check.
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

void models_that_were_cut_are_too_short() {
  Example e;
  e.net->SetAsOutput(e.net->AddUnary(e.x, UnaryOperation::NEG)->GetOutput(0));
  const ModelData model = e.builder->BuildModel(e.net.get(), {});
  Runtime* const runtime = Runtime::GetInstance();
  const auto error = [&](const void* data, size_t size) {
    EXPECT(runtime->DeserializeEngineFromMem(data, size) == nullptr);
    return std::string(runtime->GetErrorByIndex(runtime->GetErrorsNum() - 1));
  };
  for (const size_t size : {model.size - 1, size_t{40}, size_t{12}, size_t{3}}) {
    EXPECT(error(model.data.get(), size).find("too short") != std::string::npos);
  }
  const std::string longer(reinterpret_cast<const char*>(model.data.get()), model.size);
  EXPECT(error((longer + "!").data(), model.size + 1).find("too long") != std::string::npos);
  EXPECT(error("no model", 8).find("the bytes are no model") != std::string::npos);
  EXPECT(error("", 0).find("the bytes are no model") != std::string::npos);
}

void shapes_of_contexts_have_at_most_eight_sizes() {
  Example e;
  e.net->SetAsOutput(e.net->AddUnary(e.x, UnaryOperation::NEG)->GetOutput(0));
  const ModelData model = e.builder->BuildModel(e.net.get(), {});
  const std::unique_ptr<Engine> engine(Runtime::GetInstance()->DeserializeEngineFromMem(model.data.get(), model.size));
  const std::unique_ptr<Context> context(engine->CreateContext());
  EXPECT(!context->SetInputShape("x", {2, 4, 6, 6, 1, 1, 1, 1, 1}));
  EXPECT(std::strstr(context->GetErrorByIndex(0), "got 9 sizes, allowed are at most 8"));
  EXPECT(context->GetTensorShape("x") == Dims{2, 4, 6, 6});
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
    {"models_that_were_cut_are_too_short", models_that_were_cut_are_too_short},
    {"shapes_of_contexts_have_at_most_eight_sizes", shapes_of_contexts_have_at_most_eight_sizes},
    {"streams_are_made_and_ended", streams_are_made_and_ended},
    {"smart_pointers_may_hold_the_only_ones", smart_pointers_may_hold_the_only_ones},
};

}  // namespace

int main(int argc, char** argv) { return run_check(kChecks, argc, argv); }

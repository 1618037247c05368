// tests/native/graph_run_test.cpp
// Sessions and runs of graphs, on an engine that is written here.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ge/allocator.h"
#include "ge/graph.h"
#include "ge/runtime_tensor.h"
#include "ge/session.h"
#include "ge/tensor.h"
#include "graph_engine/engine.h"
#include "graph_model.h"
#include "streams.h"

using opwright::test::kFailed;
using opwright::test::model;
using opwright::test::new_stream;

extern "C" {
ge::Status GeSessionLoadGraph(ge::Session& session, uint32_t id, const ge::Options& options, void* stream);
ge::Status GeSessionExecuteGraphWithStreamAsync(ge::Session& session, uint32_t id, void* stream,
                                                const std::vector<gert::Tensor>& inputs,
                                                std::vector<gert::Tensor>& outputs);
}

namespace {

// An engine whose graphs add 1 to two floats, and fail for 13.
namespace adding {

std::atomic<int> programs{0};
std::atomic<int> prepared{0};

void answer_output(void* answer) {
  const int64_t sizes[] = {2};
  opwright_engine_output(answer, ge::DT_FLOAT, 1, sizes, 8);
}

void configure(const char*, const char* options, void* answer) {
  if (std::string(options).find("wrong") != std::string::npos) opwright_engine_fail(answer, "option 'wrong'");
}

void compile(uint64_t, uint64_t, const char*, uint64_t, const char* inherited, const char*, void* answer) {
  configure("", inherited, answer);
  opwright_engine_compiled(answer, 1, 1, 1, 1);
  answer_output(answer);
}

void load(uint64_t, const char* options, void* answer) { configure("", options, answer); }

void prepare(uint64_t, const opwright::graph_engine::EngineTensor* inputs, uint64_t count, void* answer) {
  if (count != 1 || inputs[0].rank != 1 || inputs[0].sizes[0] != 2) {
    opwright_engine_fail(answer, "inputs of another shape");
    return;
  }
  ++prepared;
  opwright_engine_program(answer, static_cast<uint64_t>(++programs), 0);
  answer_output(answer);
}

void run(uint64_t, void* const* addresses, uint64_t, int32_t, void* answer) {
  const auto* const given = static_cast<const float*>(addresses[0]);
  auto* const result = static_cast<float*>(addresses[1]);
  if (given[0] == 13) opwright_engine_fail(answer, "not 13");
  for (int i = 0; i < 2; ++i) result[i] = given[i] + 1;
}

void ignore(uint64_t) {}
void forget(uint64_t) { --programs; }
void describe(uint64_t, const char*, void* answer) { opwright_engine_text(answer, "graph"); }
int threads() { return 1; }

void start() {
  static const opwright::graph_engine::Engine engine{configure, compile, load,   prepare,  run,
                                                     ignore,    forget,  ignore, describe, threads};
  opwright_engine_register(&engine);
  opwright::test::start();
}

ge::Graph graph() {
  const std::string bytes = model();
  ge::Graph result;
  CHECK_EQ(result.LoadFromSerializedModelArray(bytes.data(), bytes.size()), ge::GRAPH_SUCCESS);
  return result;
}

}  // namespace adding

// Memory of the device with two floats.
void* device_floats(float value) {
  void* data = nullptr;
  OK(aclrtMalloc(&data, 8, ACL_MEM_MALLOC_HUGE_FIRST));
  const float values[] = {value, value * 2};
  OK(aclrtMemcpy(data, 8, values, 8, ACL_MEMCPY_HOST_TO_DEVICE));
  return data;
}

float first_of(const void* data) {
  float values[2] = {};
  OK(aclrtMemcpy(values, 8, data, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  return values[0];
}

gert::Tensor runtime_tensor(void* data, int64_t size = 2) {
  gert::Tensor tensor;
  CHECK(tensor.set_shape({size}));
  tensor.set_type(ge::DT_FLOAT);
  tensor.data().set(data, nullptr, static_cast<size_t>(size) * 4);
  tensor.data().set_placement(gert::kOnDeviceHbm);
  return tensor;
}

std::vector<gert::Tensor> one(gert::Tensor tensor) {
  std::vector<gert::Tensor> result;
  result.push_back(std::move(tensor));
  return result;
}

// Counts the blocks that it gives.
class CountingAllocator final : public ge::Allocator {
 public:
  ge::MemBlock* Malloc(size_t size) override {
    void* data = nullptr;
    if (aclrtMalloc(&data, size, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
    ++live;
    return new ge::MemBlock(*this, data, size);
  }
  void Free(ge::MemBlock* block) override {
    OK(aclrtFree(block->address()));
    --live;
    delete block;
  }
  ge::MemBlock* MallocAdvise(size_t size, void*) override { return Malloc(size); }

  std::atomic<int> live{0};
};

}  // namespace

SCENARIO(the_fast_path_runs_in_stream_order_with_memory_of_the_caller) {
  adding::start();
  {
    ge::Session session({});
    CHECK_EQ(session.AddGraph(1, adding::graph(), {}), ge::SUCCESS);
    CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
    const aclrtStream stream = new_stream();
    CHECK_EQ(GeSessionLoadGraph(session, 1, {}, stream), ge::SUCCESS);
    void* const data = device_floats(20);
    const auto inputs = one(runtime_tensor(data));
    auto outputs = one(runtime_tensor(data));  // the graph writes its input
    for (int i = 0; i < 20; ++i) {
      CHECK_EQ(GeSessionExecuteGraphWithStreamAsync(session, 1, stream, inputs, outputs), ge::SUCCESS);
    }
    OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(first_of(data), 40.0F);
    CHECK_EQ(adding::prepared.load(), 1);
    CHECK(outputs[0].shape().storage.dims() == std::vector<int64_t>{2});
    OK(aclrtDestroyStream(stream));
    OK(aclrtFree(data));
  }
  CHECK_EQ(adding::programs.load(), 0);
}

SCENARIO(outputs_without_memory_come_from_the_allocator_of_the_stream) {
  adding::start();
  const auto allocator = std::make_shared<CountingAllocator>();
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, adding::graph(), {}), ge::SUCCESS);
  const aclrtStream stream = new_stream();
  CHECK_EQ(session.RegisterExternalAllocator(stream, allocator), ge::SUCCESS);
  void* const data = device_floats(3);
  {
    const auto inputs = one(runtime_tensor(data));
    std::vector<gert::Tensor> outputs(1);
    CHECK_EQ(GeSessionExecuteGraphWithStreamAsync(session, 1, stream, inputs, outputs), ge::SUCCESS);
    OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(allocator->live.load(), 1);
    CHECK_EQ(first_of(outputs[0].address()), 4.0F);
    const gert::Tensor moved = std::move(outputs[0]);
    CHECK(outputs[0].address() == nullptr);
    CHECK_EQ(first_of(moved.address()), 4.0F);
  }
  CHECK_EQ(allocator->live.load(), 0);
  ge::Tensor input(ge::TensorDesc(ge::Shape({2})));
  input.ResetData(static_cast<uint8_t*>(data), 8, [](uint8_t*) {});
  std::vector<ge::Tensor> results;
  CHECK_EQ(session.RunGraphWithStreamAsync(1, stream, {input}, results), ge::SUCCESS);
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(allocator->live.load(), 1);
  CHECK_EQ(first_of(results[0].GetData()), 4.0F);
  results.clear();
  CHECK_EQ(allocator->live.load(), 0);
}

SCENARIO(an_error_of_a_run_is_reported_when_its_stream_is_waited_for) {
  adding::start();
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, adding::graph(), {}), ge::SUCCESS);
  const aclrtStream stream = new_stream();
  void* const bad = device_floats(13);
  void* const good = device_floats(1);
  void* const result = device_floats(0);
  auto outputs = one(runtime_tensor(result));
  CHECK_EQ(GeSessionExecuteGraphWithStreamAsync(session, 1, stream, one(runtime_tensor(bad)), outputs), ge::SUCCESS);
  REFUSED(aclrtSynchronizeStream(stream), kFailed, "not 13");
  CHECK_EQ(GeSessionExecuteGraphWithStreamAsync(session, 1, stream, one(runtime_tensor(good)), outputs), ge::SUCCESS);
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(first_of(result), 2.0F);
}

SCENARIO(an_output_in_host_memory_is_there_when_the_call_returns) {
  adding::start();
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, adding::graph(), {}), ge::SUCCESS);
  const aclrtStream stream = new_stream();
  float values[2] = {};
  auto outputs = one(runtime_tensor(values));
  const auto execute = [&](float value) {
    const auto inputs = one(runtime_tensor(device_floats(value)));
    return static_cast<int>(GeSessionExecuteGraphWithStreamAsync(session, 1, stream, inputs, outputs));
  };
  OK(execute(1));
  CHECK_EQ(values[0], 2.0F);
  CHECK_EQ(outputs[0].data().placement(), gert::kOnHost);
  REFUSED(execute(13), kFailed, "not 13");
}

SCENARIO(tensors_that_do_not_fit_are_refused_at_the_call) {
  adding::start();
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, adding::graph(), {}), ge::SUCCESS);
  const aclrtStream stream = new_stream();
  void* const data = device_floats(1);
  const auto execute = [&](gert::Tensor input, std::vector<gert::Tensor>& outputs) {
    return static_cast<int>(GeSessionExecuteGraphWithStreamAsync(session, 1, stream, one(std::move(input)), outputs));
  };
  auto outputs = one(runtime_tensor(data));
  REFUSED(execute(runtime_tensor(data, 1), outputs), kFailed, "inputs of another shape");
  auto small = one(runtime_tensor(data, 1));
  REFUSED(execute(runtime_tensor(data), small), kFailed, "E19025", "output 0 has 4 bytes");
  std::vector<gert::Tensor> none;
  REFUSED(execute(runtime_tensor(data), none), kFailed, "1 outputs, but there are 0");
  OK(aclrtFree(data));
  REFUSED(execute(runtime_tensor(data), outputs), kFailed, "input");
  REFUSED(static_cast<int>(GeSessionLoadGraph(session, 2, {}, stream)), kFailed, "no graph 2");
  REFUSED(static_cast<int>(GeSessionLoadGraph(session, 1, {{"wrong", "1"}}, stream)), kFailed, "option 'wrong'");
  REFUSED(static_cast<int>(session.AddGraph(2, adding::graph(), {{"wrong", "1"}})), kFailed, "option 'wrong'");
  const ge::Options wrong = {{"wrong", "1"}};
  ge::Session refused(wrong);
  CHECK_EQ(refused.AddGraph(1, adding::graph(), {}), ge::SUCCESS);
  REFUSED(static_cast<int>(refused.CompileGraph(1)), kFailed, "option 'wrong'");
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
}

SCENARIO(options_of_the_engine_are_refused_where_a_graph_is_compiled) {
  adding::start();
  CHECK_EQ(ge::GEInitialize({{"wrong", "1"}}), ge::SUCCESS);
  {
    ge::Session session({});
    CHECK_EQ(session.AddGraph(1, adding::graph(), {}), ge::SUCCESS);
    REFUSED(static_cast<int>(session.CompileGraph(1)), kFailed, "option 'wrong'");
  }
  CHECK_EQ(ge::GEFinalize(), ge::SUCCESS);
  CHECK_EQ(ge::GEInitialize({}), ge::SUCCESS);
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, adding::graph(), {}), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
}

SCENARIO(memory_for_a_graph_has_to_be_live) {
  adding::start();
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, adding::graph(), {}), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
  bool refreshable = false;
  CHECK_EQ(session.GetCompiledGraphSummary(1)->GetFeatureMemoryBaseRefreshable(refreshable), ge::SUCCESS);
  CHECK(refreshable);
  void* const data = device_floats(1);
  CHECK_EQ(session.SetGraphConstMemoryBase(1, data, 8), ge::SUCCESS);
  CHECK_EQ(session.SetGraphFixedFeatureMemoryBase(1, data, 8), ge::SUCCESS);
  CHECK_EQ(session.UpdateGraphRefreshableFeatureMemoryBase(1, data, 8), ge::SUCCESS);
  OK(aclrtFree(data));
  REFUSED(static_cast<int>(session.UpdateGraphFeatureMemoryBase(1, data, 8)), kFailed,
          "ge::Session::UpdateGraphFeatureMemoryBase", "memory for the graph");
}

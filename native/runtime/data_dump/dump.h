// native/runtime/data_dump/dump.h
// Dumps of operators: what is configured in this process, and who writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/data_dump/config.h"
#include "runtime/data_dump/file.h"
#include "runtime/error.h"

namespace opwright::data_dump {

// aclInit's file; it holds until the process ends, and no other configuration is taken beside it.
void set_initial(Config config);
// aclmdlInitDump, aclmdlSetDump, aclmdlFinalizeDump. Throw 100044 and 100045 out of order. TorchAir hands the first
// configuration's file to aclmdlSetDump for every later graph until that succeeds, so a dump that the twin cannot make
// is taken, and refuses the graph or the operator that comes next.
void open();
void set(Config config);
void close();
// aclFinalize.
void forget() noexcept;

extern OPWRIGHT_API std::atomic<bool> dumps_operators;

// Where single operators are dumped to, or nullptr. Throws ACL_ERROR_FEATURE_UNSUPPORTED once for a dump that the twin
// cannot make.
OPWRIGHT_API std::shared_ptr<const Config> single_operators();

// Writes what an operator that runs on its own took and gave.
OPWRIGHT_API void write_operator(const Target& target, const char* function, std::vector<Tensor> inputs,
                                 std::vector<Tensor> outputs) noexcept;

}  // namespace opwright::data_dump

extern "C" {

// For the graph engine, which is written in Python (opwright/graph_engine/running/dumping.py).
struct OpwrightDumpTensor {
  int32_t dtype;  // aclDataType
  int32_t rank;
  const int64_t* sizes;
  const void* data;
  uint64_t bytes;
};

struct OpwrightDumpNode {
  const char* folder;
  const char* graph;
  uint64_t graph_id;
  uint64_t step;
  const char* type;
  const char* name;
  uint64_t task;
  int32_t statistics;
  uint64_t input_count;
  uint64_t output_count;
  const OpwrightDumpTensor* tensors;  // the inputs and then the outputs
};

// The part of the configuration for a graph that is compiled now, as JSON; empty for nothing; once {"refusal": TEXT}
// for a dump that the twin cannot make. Valid until the calling thread asks again.
OPWRIGHT_API const char* opwright_dump_plan(const char* graph);
// `folder` and a name for the present time, or, with `*failed` set, why it cannot be used. Valid as above.
OPWRIGHT_API const char* opwright_dump_folder(const char* folder, int32_t* failed);
// Called by the thread that runs the graph.
OPWRIGHT_API void opwright_dump_node(const OpwrightDumpNode* node);
}

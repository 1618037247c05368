// native/abi/ge/session.h
// Starting the graph engine, compiling and running graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ge/ascend_string.h"
#include "ge/graph.h"
#include "ge/tensor.h"
#include "ge/types.h"

#pragma GCC visibility push(default)
namespace ge {

class Allocator;
class SummaryData;
struct SummaryAccess;

using Options = std::map<AscendString, AscendString>;

// Findings of compiling a graph.
class CompiledGraphSummary {
 public:
  explicit CompiledGraphSummary(std::shared_ptr<SummaryData> data);
  ~CompiledGraphSummary();
  CompiledGraphSummary(const CompiledGraphSummary&) = delete;
  CompiledGraphSummary& operator=(const CompiledGraphSummary&) = delete;

  bool IsStatic() const;
  Status GetConstMemorySize(size_t& size) const;
  Status GetFeatureMemorySize(size_t& size) const;
  Status GetFixedFeatureMemorySize(size_t& size) const;
  Status GetFeatureMemoryBaseRefreshable(bool& refreshable) const;
  Status GetOutputShapes(std::vector<Shape>& shapes) const;
  Status GetOutputDtypes(std::vector<DataType>& types) const;

 private:
  friend struct SummaryAccess;
  std::shared_ptr<SummaryData> data_;
};

static_assert(sizeof(CompiledGraphSummary) == 16);

class Session {
 public:
  explicit Session(const Options& options);
  ~Session();

  Status AddGraph(uint32_t id, const Graph& graph, const Options& options);
  Status CompileGraph(uint32_t id);
  std::shared_ptr<CompiledGraphSummary> GetCompiledGraphSummary(uint32_t id);
  Status RemoveGraph(uint32_t id);
  Status RunGraph(uint32_t id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  Status RunGraphWithStreamAsync(uint32_t id, void* stream, const std::vector<Tensor>& inputs,
                                 std::vector<Tensor>& outputs);
  Status RegisterExternalAllocator(const void* stream, std::shared_ptr<Allocator> allocator) const;
  Status SetGraphConstMemoryBase(uint32_t id, const void* memory, size_t size);
  Status UpdateGraphFeatureMemoryBase(uint32_t id, const void* memory, size_t size);
  Status SetGraphFixedFeatureMemoryBase(uint32_t id, const void* memory, size_t size);
  Status UpdateGraphRefreshableFeatureMemoryBase(uint32_t id, const void* memory, size_t size);

 private:
  uint64_t id_;  // CANN's own size: callers allocate sessions
};

static_assert(sizeof(Session) == 8);

Status GEInitialize(const Options& options);
Status GEFinalize();
AscendString GEGetWarningMsgV2();

}  // namespace ge
#pragma GCC visibility pop

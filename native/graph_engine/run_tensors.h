// native/graph_engine/run_tensors.h
// The tensors of a run as the engine gets them, with what they point to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph_engine/engine.h"
#include "runtime/streams/task.h"

namespace opwright::graph_engine {

// An input, whatever kind of tensor the caller has.
struct Given {
  ge::DataType type;
  std::vector<int64_t> sizes;
  const void* data;
  size_t bytes;  // as the caller says
};

class RunTensors {
 public:
  // Host memory is copied: its owner may reuse it as soon as an asynchronous call returns.
  void add(const Given& given);
  void add_output(const Answer::Output& output, const void* data);
  size_t size() const noexcept { return views_.size(); }
  const EngineTensor* views();
  // The memory of a tensor on the device, as `what` of a task; no bytes if it is on the host.
  MemoryRange range(size_t index, bool read, bool written, const char* what) const;
  void append_addresses(std::vector<void*>& addresses);
  // The properties that a program depends on: types, shapes, and values on the host if there are any when it is made.
  std::string key(bool with_values) const;

 private:
  std::vector<EngineTensor> views_;
  std::vector<const void*> addresses_;  // as the caller gave them; null of host memory
  std::vector<std::vector<int64_t>> sizes_;
  std::vector<std::vector<uint8_t>> copies_;
};

// How many bytes the elements of a tensor take; `otherwise` if that cannot be said.
size_t bytes_of(ge::DataType type, const std::vector<int64_t>& sizes, size_t otherwise);

}  // namespace opwright::graph_engine

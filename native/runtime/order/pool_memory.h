// native/runtime/order/pool_memory.h
// Contents of memory that captured graphs share: tensors that are made in a capture keep their places in the graphs'
// pool when they are freed, and a later graph may read there what an earlier one has computed, until a third one has
// written something else to the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace opwright::order {

class PoolMemory {
 public:
  // A replay has written the tensor that these bytes had in its capture.
  void write(uintptr_t begin, size_t bytes, uint64_t tensor);
  // Whether some of the bytes were written for another tensor since.
  bool is_overwritten(uintptr_t begin, size_t bytes, uint64_t tensor) const;
  // Memory that was freed.
  void forget(uintptr_t begin, size_t bytes);

 private:
  struct Segment {
    uintptr_t end;
    uint64_t tensor;
  };
  void split(uintptr_t at);

  std::map<uintptr_t, Segment> segments_;  // by begin
};

}  // namespace opwright::order

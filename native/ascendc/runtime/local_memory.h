// native/ascendc/runtime/local_memory.h
// The local memories of one core, each between pages without access rights. Kept for the next core that needs some.
#pragma once

#include <array>
#include <memory>

#include "core/machine.h"

namespace AscendC::machine {

class LocalMemory {
 public:
  LocalMemory();
  ~LocalMemory();
  LocalMemory(const LocalMemory&) = delete;
  LocalMemory& operator=(const LocalMemory&) = delete;

  const std::array<MemorySpan, kMemories>& spans() const { return spans_; }
  // The memory that an address lies in or just behind, within its guard pages; kNone for other addresses.
  Memory find(const void* address) const;

 private:
  uint8_t* base_ = nullptr;
  size_t bytes_ = 0;
  std::array<MemorySpan, kMemories> spans_{};
};

// Lends memories to a core for its lifetime.
class LentMemory {
 public:
  LentMemory();
  ~LentMemory();
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;
  LocalMemory& operator*() const { return *memory_; }
  LocalMemory* operator->() const { return memory_.get(); }

 private:
  std::unique_ptr<LocalMemory> memory_;
};

}  // namespace AscendC::machine

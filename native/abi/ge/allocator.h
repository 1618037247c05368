// native/abi/ge/allocator.h
// Memory that the caller of the graph engine provides. The layouts are CANN's: its callers implement the allocator, and
// free blocks by themselves.
#pragma once

#include <cstddef>

#pragma GCC visibility push(default)
namespace ge {

class MemBlock;

class Allocator {
 public:
  Allocator() = default;
  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  virtual MemBlock* Malloc(size_t size) = 0;
  virtual void Free(MemBlock* block) = 0;
  virtual MemBlock* MallocAdvise(size_t size, void* address) = 0;
};

class MemBlock {
 public:
  MemBlock(Allocator& allocator, void* address, size_t size) : allocator_(allocator), address_(address), size_(size) {}
  virtual ~MemBlock() = default;

  void* address() const { return address_; }
  size_t size() const { return size_; }
  // Counts one user less; the last one gives the block back.
  void free() {
    if (users_ > 0 && --users_ == 0) allocator_.Free(this);
  }

 private:
  Allocator& allocator_;
  void* address_;
  size_t users_ = 1;
  size_t size_;
};

static_assert(sizeof(Allocator) == 8 && sizeof(MemBlock) == 40);

}  // namespace ge
#pragma GCC visibility pop

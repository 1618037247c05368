// memory.cpp: the host's memory under the name of the device.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <cstring>

#include "npu.h"

namespace torch_aie::device::parts {

namespace {

class Memory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    c10::DataPtr host = c10::GetCPUAllocator()->allocate(size);
    const c10::DeleterFnPtr deleter = host.get_deleter();
    void* const data = host.get();
    return {data, host.release_context(), deleter, c10::Device(kNpu, current())};
  }

  c10::DeleterFnPtr raw_deleter() const override { return c10::GetCPUAllocator()->raw_deleter(); }

  void copy_data(void* to, const void* from, std::size_t size) const override { std::memcpy(to, from, size); }
};

}  // namespace

c10::Allocator* allocator() {
  static Memory memory;
  return &memory;
}

void add_memory() { c10::SetAllocator(kNpu, allocator()); }

}  // namespace torch_aie::device::parts

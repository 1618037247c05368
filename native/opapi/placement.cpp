// native/opapi/placement.cpp
#include "opapi/placement.h"

#include <c10/core/CPUAllocator.h>

#include <utility>

#include "runtime/memory.h"

namespace opwright::opapi {
namespace {

// Below this a copy costs less than the bookkeeping.
constexpr size_t kSmallest = 64 << 10;

struct Offer {
  void* data = nullptr;
  size_t size = 0;
};

thread_local Offer offer;

void keep(void*) {}  // the memory belongs to the device

// Whether kernels reach device memory at this address.
bool in_device_memory(const void* data) {
  static const uintptr_t distance = reinterpret_cast<uintptr_t>(memory::alias_of(nullptr));
  return memory::is_device_address(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(data) - distance));
}

// torch's CPU allocator, with the thread's offer in front of it.
class PlacingAllocator final : public c10::Allocator {
 public:
  static PlacingAllocator& instance();

  explicit PlacingAllocator(c10::Allocator& torch) : torch_(torch) {}

  c10::DataPtr allocate(size_t size) override {
    if (offer.data == nullptr || size != offer.size) return torch_.allocate(size);
    void* const data = std::exchange(offer, {}).data;
    return {data, data, &keep, c10::Device(c10::kCPU)};
  }

  // oneDNN's tensors are raw allocations: whoever frees one does not know where it came from.
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t size) const override { torch_.copy_data(to, from, size); }

 private:
  static void release(void* data) {
    if (!in_device_memory(data)) instance().torch_.raw_deallocate(data);
  }

  c10::Allocator& torch_;
};

// Never destroyed: tensors that outlive the library's statics still name their allocator.
PlacingAllocator& PlacingAllocator::instance() {
  static PlacingAllocator& allocator = *new PlacingAllocator(*c10::GetCPUAllocator());
  return allocator;
}

void install() {
  static const bool installed = [] {
    c10::SetCPUAllocator(&PlacingAllocator::instance());
    return true;
  }();
  static_cast<void>(installed);
}

bool overlap(const at::Tensor& one, const at::Tensor& other) {
  const auto* const first = static_cast<const char*>(one.storage().data());
  const auto* const second = static_cast<const char*>(other.storage().data());
  return first < second + other.storage().nbytes() && second < first + one.storage().nbytes();
}

}  // namespace

Placement::Placement(const at::Tensor& out, at::TensorList read) {
  if (!out.defined() || out.nbytes() < kSmallest || !out.is_contiguous()) return;
  if (!in_device_memory(out.const_data_ptr())) return;  // a temporary has an owner already
  for (const at::Tensor& tensor : read) {
    if (tensor.defined() && overlap(out, tensor)) return;
  }
  install();
  offer = {out.mutable_data_ptr(), out.nbytes()};
}

Placement::~Placement() { offer = {}; }

}  // namespace opwright::opapi

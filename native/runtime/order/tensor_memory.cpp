#include "runtime/order/tensor_memory.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/memory/memory.h"
#include "runtime/order/order.h"
#include "runtime/order/place.h"
#include "runtime/order/python_lines.h"
#include "runtime/python.h"

namespace opwright::order {
namespace {

struct Tensors {
  std::mutex mutex;
  std::map<uintptr_t, uint64_t> numbers;                      // of those that live, by first byte
  std::unordered_map<uint64_t, std::shared_ptr<Place>> ends;  // null until the tensor is freed
  std::atomic<size_t> awaited{0};                             // how many of them will be freed yet
  uint64_t last = 0;                                          // even
};

Tensors& tensors() {
  static Tensors* const instance = new Tensors();
  return *instance;
}

// The allocator carves tensors out of blocks that it takes from the runtime. It does not say how large a tensor is, but
// none reaches into another block.
bool are_in_one_block(const void* first, const void* second) {
  const uint64_t serial = memory::serial_of(first);
  return serial != 0 && serial == memory::serial_of(second);
}

// The last bit of a tensor's number says whether its memory is in a pool.
void note_begin(const void* address, bool is_pooled) {
  const std::lock_guard<std::mutex> lock(tensors().mutex);
  tensors().last += 2;
  tensors().numbers[reinterpret_cast<uintptr_t>(address)] = tensors().last | (is_pooled ? 1 : 0);
}

void note_end(const void* address, std::unique_ptr<Place> place) {
  const std::lock_guard<std::mutex> lock(tensors().mutex);
  const auto it = tensors().numbers.find(reinterpret_cast<uintptr_t>(address));
  if (it == tensors().numbers.end()) return;
  const auto remembered = tensors().ends.find(it->second);
  if (remembered != tensors().ends.end()) {
    remembered->second = std::move(place);
    tensors().awaited.fetch_sub(1);
  }
  tensors().numbers.erase(it);
}

}  // namespace

void follow_tensors() {
  call_python("opwright.twin.order", "follow_tensors", "", ACL_ERROR_INTERNAL_ERROR,
              "the order of accesses cannot be checked: ");
}

uint64_t tensor_at(const void* address) {
  const void* begin = nullptr;
  uint64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(tensors().mutex);
    auto it = tensors().numbers.upper_bound(reinterpret_cast<uintptr_t>(address));
    if (it == tensors().numbers.begin()) return 0;
    --it;
    begin = reinterpret_cast<const void*>(it->first);
    number = it->second;
  }
  return begin == address || are_in_one_block(begin, address) ? number : 0;
}

bool is_of_pool(uint64_t tensor) { return (tensor & 1) != 0; }

uint64_t last_tensor() {
  const std::lock_guard<std::mutex> lock(tensors().mutex);
  return tensors().last | 1;
}

void remember_end_of(uint64_t tensor) {
  const std::lock_guard<std::mutex> lock(tensors().mutex);
  if (tensors().ends.try_emplace(tensor).second) tensors().awaited.fetch_add(1);
}

std::string end_of(uint64_t tensor) {
  std::shared_ptr<Place> place;
  {
    const std::lock_guard<std::mutex> lock(tensors().mutex);
    const auto it = tensors().ends.find(tensor);
    if (it != tensors().ends.end()) place = it->second;
  }
  return place == nullptr ? "" : python_lines(*place);
}

}  // namespace opwright::order

extern "C" {
OPWRIGHT_API void opwright_order_begin_tensor(const void* address, bool is_pooled) {
  opwright::order::note_begin(address, is_pooled);
}
OPWRIGHT_API bool opwright_order_asks_for_ends() { return opwright::order::tensors().awaited.load() != 0; }
// Takes the place, which may be null. Takes no lock of Python's: torch_npu's allocator waits.
OPWRIGHT_API void opwright_order_end_tensor(const void* address, opwright::order::Place* place) {
  opwright::order::note_end(address, std::unique_ptr<opwright::order::Place>(place));
}
}

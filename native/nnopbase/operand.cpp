// native/nnopbase/operand.cpp
#include "nnopbase/operand.h"

#include "nnopbase/validate.h"
#include "runtime/memory/guard/guard.h"
#include "runtime/memory/guard/windows.h"
#include "runtime/memory/memory.h"

namespace opwright {

void* storage_of(const aclTensor& tensor) {
  if (tensor.data == nullptr) return nullptr;
  if (guard::enabled()) {
    std::vector<MemoryRange> view;
    add_range(&tensor, "", {}, view);
    const MemoryRange range = view.empty() ? MemoryRange{tensor.data, 0, false, false, ""} : view.front();
    if (void* const found = guard::Windows::find(range.address, range.bytes)) {
      const auto distance = static_cast<const char*>(range.address) - static_cast<const char*>(tensor.data);
      return static_cast<char*>(found) - distance;
    }
  }
  return memory::alias_of(tensor.data);
}

}  // namespace opwright

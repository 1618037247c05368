// native/npu_memory/npu_memory.cpp
// Reports of torch_npu's caching allocator. Its hook for Python (torch_npu.utils._npu_trace) will not do: it imports a
// module while a tensor is freed, which turns an exception that is on its way into a SystemError.
#include <torch/csrc/profiler/combined_traceback.h>
#include <torch_npu/csrc/core/npu/NPUCachingAllocator.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/order/place.h"

namespace {

namespace npu = c10_npu::NPUCachingAllocator;
using opwright::order::Frame;
using opwright::order::Place;

using Begun = void (*)(const void* address, bool is_pooled);
using Ended = void (*)(const void* address, Place* place);

// Whether anybody asks where a tensor is freed.
using Asked = bool (*)();
std::atomic<Asked> is_place_asked{nullptr};

// Lines of Python are gathered by torch's recorder of memory histories, which the allocator calls before it takes its
// mutex: under that one a thread must not wait for Python's lock.
std::shared_ptr<c10::GatheredContext> gather() {
  if (!is_place_asked.load()()) return nullptr;
  return torch::CapturedTraceback::gather(/*python=*/true, /*script=*/false, /*cpp=*/false);
}

class TracebackPlace final : public Place {
 public:
  explicit TracebackPlace(std::shared_ptr<torch::CapturedTraceback> traceback) : traceback_(std::move(traceback)) {}

  std::vector<Frame> frames() override {
    const torch::SymbolizedTracebacks symbolized = torch::symbolize({traceback_.get()});
    std::vector<Frame> result;
    for (const uint64_t index : symbolized.tracebacks.at(0)) {
      const torch::unwind::Frame& frame = symbolized.all_frames.at(index);
      result.push_back({frame.filename, static_cast<int>(frame.lineno), frame.funcname});
    }
    return result;
  }

 private:
  const std::shared_ptr<torch::CapturedTraceback> traceback_;
};

// Null if the program has replaced the recorder by one without lines of Python.
std::unique_ptr<Place> place_of(const npu::TraceEntry& entry) {
  auto traceback = std::dynamic_pointer_cast<torch::CapturedTraceback>(entry.context_);
  return traceback == nullptr ? nullptr : std::make_unique<TracebackPlace>(std::move(traceback));
}

}  // namespace

// Calls `begun` with the address of memory that is given to a tensor, and whether it is from a private pool, as
// captured graphs have it and torch.npu.use_mem_pool gives it; and `ended` when the tensor gives it back with the place
// where that happens, which `ended` owns, or null if `asked` says that nobody asks for it. Both are called under the
// allocator's mutex, until the process ends. To be called when torch_npu is initialized. False if the allocator is one
// of the program's own, which reports nothing.
extern "C" __attribute__((visibility("default"))) bool opwright_follow_npu_memory(Begun begun, Ended ended,
                                                                                  Asked asked) {
  const auto note = [begun, ended](const npu::TraceEntry& entry) {
    const auto* const address = reinterpret_cast<const void*>(entry.addr_);
    if (entry.action_ == npu::TraceEntry::ALLOC) begun(address, entry.mempool_ != c10_npu::MempoolId_t{0, 0});
    if (entry.action_ == npu::TraceEntry::FREE_REQUESTED) ended(address, place_of(entry).release());
  };
  is_place_asked.store(asked);
  try {
    npu::attachAllocatorTraceTracker(note);
    npu::recordHistory(/*enabled=*/true, gather, /*alloc_trace_max_entries=*/1, npu::RecordContext::ALL);
  } catch (const c10::Error&) {
    return false;
  }
  return true;
}

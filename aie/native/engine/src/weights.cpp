// weights.cpp
#include "weights.h"

#include <ATen/Parallel.h>
#include <c10/util/ScopeExit.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "passes/onednn.h"
#include "run_mutex.h"

namespace AscendIE {

namespace {

// Threads of different numbers that run one engine in turn must not make it repack for each of them: each time it
// needs twice as many runs in succession, at most so many.
constexpr int kMostRuns = 64;

bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  static const auto layout = onednn_operator<at::Tensor(const at::Tensor&)>("mkldnn::_get_mkldnn_serialized_md");
  return layout.call(a).equal(layout.call(b));
}

}  // namespace

Weights::Weights(std::shared_ptr<Program> program)
    : program_(std::move(program)), packed_for_(at::get_num_threads()), wanted_(packed_for_) {}

void Weights::give(Tensors& values) {
  const int threads = at::get_num_threads();
  if (begin_packing(threads)) {
    // Also if an error ends it.
    const auto end = c10::make_scope_exit([&] {
      const std::lock_guard lock(run_mutex());
      packer_ = 0;
    });
    repack();
    const std::lock_guard lock(run_mutex());
    packed_for_ = threads;
    runs_needed_ = std::min(2 * runs_needed_, kMostRuns);
  }
  const std::lock_guard lock(run_mutex());
  for (const auto& [value, tensor] : program_->constants) values[value] = tensor;
}

Program Weights::snapshot() const {
  const std::lock_guard lock(run_mutex());
  return *program_;
}

/// True if this thread is to pack. Others run with what there is meanwhile.
bool Weights::begin_packing(int threads) {
  const std::lock_guard lock(run_mutex());
  if (std::exchange(wanted_, threads) != threads) runs_ = 0;
  runs_ = std::min(runs_ + 1, kMostRuns);
  if (threads == packed_for_ || runs_ < runs_needed_ || packer_ == getpid()) return false;
  packer_ = getpid();
  return true;
}

/// One after the other, so that no more than one weight is in memory twice.
void Weights::repack() {
  for (const auto& [value, pack] : program_->packed) {
    const auto is_value = [number = value](const auto& constant) { return constant.first == number; };
    const auto constant = std::find_if(program_->constants.begin(), program_->constants.end(), is_value);
    if (constant == program_->constants.end()) continue;  // no step reads it
    at::Tensor tensor = pack(constant->second);           // only this thread changes it
    if (same_layout(tensor, constant->second)) continue;
    const std::lock_guard lock(run_mutex());
    std::swap(constant->second, tensor);  // the other one dies behind the lock
  }
}

}  // namespace AscendIE

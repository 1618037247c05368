// native/opapi/dry_run.cpp
#include "opapi/dry_run.h"

#include <ATen/Context.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/AutogradState.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "opapi/declare.h"
#include "runtime/streams/consumer_thread.h"

namespace opwright::opapi {

namespace {

// Short enough to be copied without an allocation, and no text of ATen's.
constexpr char kRequest[] = "dry run";

thread_local bool running = false;

// The task itself repeats what its body warns of.
class NoWarnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

class AutogradStateGuard {
 public:
  AutogradStateGuard() : saved_(c10::AutogradState::get_tls_state()) {
    c10::AutogradState::set_tls_state(c10::AutogradState(/*grad_mode=*/false, /*inference_mode=*/false,
                                                         /*fw_grad_mode=*/true, /*multithreading_enabled=*/true));
  }
  ~AutogradStateGuard() { c10::AutogradState::set_tls_state(std::move(saved_)); }
  AutogradStateGuard(const AutogradStateGuard&) = delete;
  AutogradStateGuard& operator=(const AutogradStateGuard&) = delete;

 private:
  c10::AutogradState saved_;
};

// ATen's batched products take any exception for a failure of oneDNN, also the request for memory, and switch oneDNN
// off for the whole process. The setting that held before the first of the dry runs under way holds again after the
// last.
class OneDnnSetting {
 public:
  OneDnnSetting() {
    const std::lock_guard lock(mutex_);
    if (dry_runs_++ == 0) enabled_ = at::globalContext().userEnabledMkldnn();
  }
  ~OneDnnSetting() {
    const std::lock_guard lock(mutex_);
    if (--dry_runs_ == 0 && at::globalContext().userEnabledMkldnn() != enabled_) {
      at::globalContext().setUserEnabledMkldnn(enabled_);
    }
  }
  OneDnnSetting(const OneDnnSetting&) = delete;
  OneDnnSetting& operator=(const OneDnnSetting&) = delete;

 private:
  inline static std::mutex mutex_;
  inline static int dry_runs_ = 0;
  inline static bool enabled_ = true;
};

// The state of a worker's thread, on the caller's: no mode, no autocast, no profiler, no transformation.
class WorkerState {
 public:
  explicit WorkerState(int threads) : warnings_(&no_warnings_), run_(threads) { running = true; }
  ~WorkerState() { running = false; }
  WorkerState(const WorkerState&) = delete;
  WorkerState& operator=(const WorkerState&) = delete;

 private:
  c10::impl::ForceDispatchKeyGuard keys_{c10::default_included_set, c10::default_excluded_set};
  AutogradStateGuard autograd_;
  at::DisableRecordFunctionGuard no_profile_;
  NoWarnings no_warnings_;
  c10::WarningUtils::WarningHandlerGuard warnings_;
  RunScope run_;
  OneDnnSetting onednn_;
};

// Accepted signatures by the upper bits of their hash; a newer one displaces an older one.
constexpr unsigned kBits = 14;
std::array<std::atomic<uint64_t>, size_t{1} << kBits> accepted{};

bool spreads_to(const Dims& sizes, const Dims& target) {
  if (sizes.size() > target.size()) return false;
  const size_t missing = target.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && sizes[i] != target[missing + i]) return false;
  }
  return true;
}

// True if the shapes are those of an operator that computes element by element. Some of ATen's other kernels divide by
// a size or read a first element without a look at it: on empty tensors they would end the process.
bool is_elementwise(aclOpExecutor& executor) {
  std::vector<const Dims*> shapes;
  for (const auto& list : executor.tensors()) {
    for (const aclTensor* tensor : list) shapes.push_back(&tensor->sizes);
  }
  return std::any_of(shapes.begin(), shapes.end(), [&](const Dims* target) {
    return std::all_of(shapes.begin(), shapes.end(), [&](const Dims* sizes) { return spreads_to(*sizes, *target); });
  });
}

std::atomic<uint64_t>& slot_of(uint64_t hash) noexcept { return accepted[hash >> (64 - kBits)]; }

}  // namespace

bool is_accepted(const Signature& signature) noexcept {
  const uint64_t hash = signature.hash();
  return slot_of(hash).load(std::memory_order_relaxed) == hash;
}

void accept(const Signature& signature) noexcept {
  const uint64_t hash = signature.hash();
  slot_of(hash).store(hash, std::memory_order_relaxed);
}

bool is_request_for_memory(const c10::Error& error) { return error.msg() == kRequest; }

void end_dry_run() { TORCH_CHECK(!running, kRequest); }

bool is_dry_run() noexcept { return running; }

// Outputs begin with the caller's shapes: what has another one when the body stops, ATen has resized.
bool is_fault_of_shapes(const c10::Error&, Operands operands) { return operands != Operands::kEmpty; }

bool dry_run(Attempt attempt, void* self, int threads) {
  if (on_consumer_thread()) return false;
  const WorkerState state(threads);
  try {
    run_attempts(attempt, self, Operands::kNoMemory);
  } catch (const c10::Error&) {
    // The body asked for an element.
  }
  return true;
}

void require_kernels(Attempt attempt, void* self, int threads) {
  if (!is_elementwise(*static_cast<aclOpExecutor*>(self))) return;
  const WorkerState state(threads);
  try {
    run_attempts(attempt, self, Operands::kEmpty);
  } catch (const Error& error) {
    if (error.code() == ACLNN_ERR_INNER_KERNEL_NOT_FOUND) throw;
  }
}

namespace kind {

namespace {

at::Tensor with_storage(c10::Storage storage, at::ScalarType dtype) {
  return at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                  c10::scalarTypeToTypeMeta(dtype));
}

// Cannot grow.
at::Tensor without_elements(at::ScalarType dtype) {
  return with_storage({c10::Storage::use_byte_size_t(), 0, at::DataPtr(nullptr, at::Device(at::kCPU)), nullptr, false},
                      dtype);
}

at::Tensor input_without_memory(int64_t elements, at::ScalarType dtype) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), elements * static_cast<int64_t>(c10::elementSize(dtype)),
                       at::DataPtr(nullptr, at::Device(at::kCPU)), nullptr, /*resizable=*/false);
  storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(kRequest);
  return with_storage(std::move(storage), dtype);
}

// No storage at all: ATen looks for overlaps of outputs, which asks for the storage's address, before it looks at
// dtypes and shapes.
at::Tensor output_without_memory(at::ScalarType dtype) {
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                               c10::scalarTypeToTypeMeta(dtype), at::Device(at::kCPU));
  result.unsafeGetTensorImpl()->release_storage_and_set_meta_custom_data_ptr_error_msg_(kRequest);
  return result;
}

// Dimensions of size 1 stay, so that shapes that fit one another still do.
at::Tensor emptied(const aclTensor& desc, at::ScalarType dtype) {
  std::vector<int64_t> sizes;
  for (const int64_t size : desc.sizes) sizes.push_back(size == 1 ? 1 : 0);
  if (desc.numel() == 1) return at::zeros(sizes, dtype);
  at::Tensor result = without_elements(dtype);
  result.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return result;
}

}  // namespace

at::Tensor stand_in(const aclTensor& desc, at::ScalarType dtype, Role role, Operands operands) {
  if (operands == Operands::kEmpty) return emptied(desc, dtype);
  at::Tensor result = desc.numel() == 0 ? without_elements(dtype)
                      : role == Role::kOutput
                          ? output_without_memory(dtype)
                          : input_without_memory(std::max(desc.storage_sizes.product(), desc.numel()), dtype);
  result.unsafeGetTensorImpl()->set_sizes_and_strides(at::IntArrayRef(desc.sizes.data(), desc.sizes.size()),
                                                      at::IntArrayRef(desc.strides.data(), desc.strides.size()),
                                                      desc.offset);
  return result;
}

}  // namespace kind

namespace {

bool has_memory(const at::Tensor& tensor) {
  try {
    tensor.const_data_ptr();
    return true;
  } catch (const c10::Error& error) {
    if (!is_request_for_memory(error)) throw;
    return false;
  }
}

}  // namespace

at::Tensor stand_in_of(const at::Tensor& operand, at::ScalarType dtype) {
  if (!running || operand.numel() == 0 || has_memory(operand)) return {};
  const bool is_input = operand.has_storage();
  at::Tensor result = is_input ? kind::input_without_memory(
                                     static_cast<int64_t>(operand.storage().nbytes() / operand.itemsize()), dtype)
                               : kind::output_without_memory(dtype);
  result.unsafeGetTensorImpl()->set_sizes_and_strides(operand.sizes(), operand.strides(), operand.storage_offset());
  return result;
}

}  // namespace opwright::opapi

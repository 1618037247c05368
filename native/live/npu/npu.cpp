// native/live/npu/npu.cpp
// The flow is that of EXEC_NPU_CMD_EXT (op_plugin/utils/op_api_common_base.h of torch_npu) with these differences:
// addresses are looked up once, the cache of executors is not asked, and an object is destroyed even if its task is not
// run. Phase 1 runs on the calling thread for each value of TASK_QUEUE_ENABLE.
#include "live/npu/npu.h"

#include <op_plugin/utils/op_api_common_base.h>
#include <torch_npu/csrc/aten/NPUGeneratorImpl.h>

#include <mutex>
#include <utility>

#include "live/npu/npu_features.h"

namespace opwright::live::npu {
namespace {

template <class Function>
Function required(const char* name) {
  void* const address = GetOpApiFuncAddr(name);
  TORCH_CHECK(address != nullptr, name, " is in no library that torch_npu loads aclnn functions from");
  return reinterpret_cast<Function>(address);
}

Objects::Destroy destroyer(const char* name) { return required<Objects::Destroy>(name); }

struct Session {
  int (*begin)(void*, bool);
  void (*end)(void*, bool);
  void (*release)(void*, bool);
  void (*end_cache)();
};

// Absent functions are null, as some versions of CANN have none of them.
const Session& session() {
  static const Session instance{
      reinterpret_cast<decltype(Session::begin)>(GetOpApiFuncAddr("InitHugeMemThreadLocal")),
      reinterpret_cast<decltype(Session::end)>(GetOpApiFuncAddr("UnInitHugeMemThreadLocal")),
      reinterpret_cast<decltype(Session::release)>(GetOpApiFuncAddr("ReleaseHugeMem")),
      reinterpret_cast<decltype(Session::end_cache)>(GetOpApiFuncAddr("UnInitPTACacheThreadLocal"))};
  return instance;
}

}  // namespace

void Objects::clear() noexcept {
  for (const Entry& entry : entries_) entry.destroy(entry.object);
  entries_.clear();
}

void* Objects::keep(const void* object, Destroy destroy) {
  if (object != nullptr) entries_.push_back({object, destroy});
  return const_cast<void*>(object);
}

void* Objects::tensor(const at::Tensor& value) {
  static const Destroy destroy = destroyer("aclDestroyTensor");
  return keep(ConvertType(value), destroy);
}

void* Objects::tensors(at::TensorList values) {
  static const Destroy destroy = destroyer("aclDestroyTensorList");  // the tensors in it as well
  return keep(ConvertType(values), destroy);
}

void* Objects::scalar(const at::Scalar& value) {
  static const Destroy destroy = destroyer("aclDestroyScalar");
  return keep(ConvertType(value), destroy);
}

void* Objects::scalars(c10::ArrayRef<at::Scalar> values) {
  static const Destroy destroy = destroyer("aclDestroyScalarList");
  return keep(ConvertType(values), destroy);
}

void* Objects::ints(at::IntArrayRef values) {
  static const Destroy destroy = destroyer("aclDestroyIntArray");
  return keep(ConvertType(values), destroy);
}

void* Objects::floats(c10::ArrayRef<float> values) {
  static const auto create = required<_aclCreateFloatArray>("aclCreateFloatArray");
  static const Destroy destroy = destroyer("aclDestroyFloatArray");
  return keep(create(values.data(), values.size()), destroy);
}

void* Objects::bools(c10::ArrayRef<bool> values) {
  static const Destroy destroy = destroyer("aclDestroyBoolArray");
  return keep(ConvertType(values), destroy);
}

int64_t acl_dtype(at::ScalarType dtype) { return ConvertType(dtype); }

at::Tensor empty(at::IntArrayRef sizes, at::ScalarType dtype, at::Device device) {
  return at_npu::native::OpPreparation::apply_tensor_without_format(sizes, at::TensorOptions(device).dtype(dtype));
}

Drawn draw(const std::optional<at::Generator>& generator) {
  constexpr uint64_t kIncrement = 10;  // of the offset, as in op-plugin's adapters
  const std::optional<at::Generator> given = generator && generator->defined() ? generator : std::nullopt;
  auto* const source =
      at::get_generator_or_default<at_npu::NPUGeneratorImpl>(given, at_npu::detail::getDefaultNPUGenerator());
  const std::lock_guard<std::mutex> lock(source->mutex_);
  const auto [seed, offset] = source->philox_engine_inputs(kIncrement);
  return {static_cast<int64_t>(seed), static_cast<int64_t>(offset)};
}

at::Device current_device() { return {c10::DeviceType::PrivateUse1, c10_npu::current_device()}; }

void* find(const std::string& function) { return GetOpApiFuncAddr(function.c_str()); }

std::string recent_error() {
  const char* const text = c10_npu::c10_npu_get_error_message();
  return text == nullptr ? "" : text;
}

Phase1::Phase1() {
  if (session().begin != nullptr) session().begin(nullptr, false);
  stream_ = GetAclStream();
  features::apply_determinism();
}

Phase1::~Phase1() {
  if (session().end != nullptr) session().end(nullptr, false);
  if (session().end_cache != nullptr) session().end_cache();
}

void enqueue(const std::string& name, const Phase2& phase2, uint64_t workspace_size, aclOpExecutor* executor,
             void* stream, std::shared_ptr<Objects> objects) {
  // With TASK_QUEUE_ENABLE=2 the queue's thread owns the stream's workspace, else the calling thread.
  const bool late = OpApiGetTaskQueueEnable() == 2;
  void* const workspace = late ? nullptr : GetWorkSpaceAddr(workspace_size);
  RunAclCall(name, [=, objects = std::move(objects)]() -> int {
    InitExecSubTheadCtx(stream);
    int status;
    if (phase2.reference != nullptr) {
      status = phase2.reference(phase2.function, workspace, workspace_size, executor, stream);
    } else if (late) {
      status = ExecuteApiFuncV2(phase2.address, stream, workspace_size, executor);
    } else {
      status = ExecuteApiFunc(phase2.address, stream, workspace, workspace_size, executor);
    }
    objects->clear();
    if (session().release != nullptr) session().release(nullptr, false);
    return status;
  });
}

}  // namespace opwright::live::npu

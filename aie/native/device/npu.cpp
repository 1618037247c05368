// npu.cpp: the one registration of the process, and the way of tensors to and from the CPU.
#include "npu.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <mutex>

namespace torch_aie::device {

namespace {

std::mutex& registration() {
  static std::mutex mutex;
  return mutex;
}
std::atomic<bool> ours{false};
std::atomic<bool> deferred{false};

/// So that programs can write at::Device("npu:0"). torch_npu gives the same name, which PyTorch allows.
const bool named = [] {
  if (!c10::is_privateuse1_backend_registered()) c10::register_privateuse1_backend("npu");
  return true;
}();

/// The same memory on another device, kept alive by the new tensor.
at::Tensor same_memory(const at::Tensor& tensor, c10::Device device) {
  return at::from_blob(
      tensor.data_ptr(), tensor.sizes(), tensor.strides(), [tensor](void*) {},
      at::TensorOptions(tensor.scalar_type()).device(device), device);
}

bool is_of_host_memory(const at::Tensor& tensor) {
  return tensor.device().type() == kNpu && owner() == Owner::kTorchAie;
}

}  // namespace

Owner owner() {
  if (ours) return Owner::kTorchAie;
  return at::isPrivateUse1HooksRegistered() ? Owner::kOther : Owner::kNobody;
}

void register_npu() {
  const std::lock_guard<std::mutex> lock(registration());
  if (owner() != Owner::kNobody) return;
  const std::string name = c10::get_privateuse1_backend();
  TORCH_CHECK(name == "npu", "the device npu cannot be made: another library has named PyTorch's private device '",
              name, "', and there is only one");
  parts::add_memory();
  parts::add_guard();
  parts::add_kernels();
  parts::add_hooks();
  ours = true;
}

void defer() { deferred = true; }

void choose(int id) {
  TORCH_CHECK_VALUE(id >= 0 && id <= kLastId, "set_device: got ", id, ", allowed are 0 to ", kLastId);
  if (!deferred) register_npu();
  if (owner() == Owner::kNobody) return;
  const bool exists = owner() == Owner::kOther || id < kDevices;
  // Engines run on the CPU whatever the id: one that tensors cannot have leaves theirs as it is.
  if (exists) c10::impl::VirtualGuardImpl(kNpu).setDevice(c10::Device(kNpu, static_cast<c10::DeviceIndex>(id)));
}

at::Tensor to_host(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().is_cpu()) return tensor;
  if (!is_of_host_memory(tensor)) return tensor.to(at::kCPU);
  const c10::impl::VirtualGuardImpl guard(kNpu);
  guard.synchronizeStream(guard.getStream(tensor.device()));
  return same_memory(tensor, at::kCPU);
}

at::Tensor from_host(const at::Tensor& tensor, c10::Device device) {
  if (!tensor.defined() || tensor.device() == device) return tensor;
  if (device.type() != kNpu || owner() != Owner::kTorchAie) return tensor.to(device);
  return same_memory(tensor, device);
}

}  // namespace torch_aie::device

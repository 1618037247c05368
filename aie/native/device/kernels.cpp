// kernels.cpp: memory and views of the device; every other operator runs on the CPU, with copies.
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "npu.h"

namespace torch_aie::device::parts {

namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

c10::Device device_of(std::optional<c10::Device> device) {
  const c10::Device wanted = device.value_or(c10::Device(kNpu, current()));
  return wanted.has_index() ? wanted : c10::Device(kNpu, current());
}

Tensor empty(IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout> /*layout*/,
             std::optional<c10::Device> device, std::optional<bool> /*pin_memory*/,
             std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(device_of(device));
  return at::detail::empty_generic(size, allocator(), kKeys, at::dtype_or_default(type), format);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, std::optional<at::ScalarType> type,
                     std::optional<at::Layout> /*layout*/, std::optional<c10::Device> device,
                     std::optional<bool> /*pin_memory*/) {
  const c10::DeviceGuard guard(device_of(device));
  return at::detail::empty_strided_generic(size, stride, allocator(), kKeys, at::dtype_or_default(type));
}

Tensor copy_from(const Tensor& from, const Tensor& to, bool /*non_blocking*/) {
  to_host(to).copy_(to_host(from));
  return to;
}

Tensor copy_from_and_resize(const Tensor& from, const Tensor& to) {
  at::native::resize_(to, from.sizes(), std::nullopt);
  return copy_from(from, to, false);
}

at::Scalar scalar_of(const Tensor& tensor) { return to_host(tensor).item(); }

Tensor& set_storage(Tensor& self, at::Storage source, int64_t offset, IntArrayRef size, IntArrayRef stride) {
  return at::cpu::set_(self, std::move(source), offset, size, stride);
}

void on_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }

}  // namespace

void add_kernels() {
  // Never destroyed: the dispatcher may be gone by then.
  static auto& aten = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, 0);
  static auto& every = *new torch::Library(torch::Library::IMPL, "_", c10::DispatchKey::PrivateUse1, __FILE__, 0);
  aten.impl("empty.memory_format", empty);
  aten.impl("empty_strided", empty_strided);
  aten.impl("_copy_from", copy_from);
  aten.impl("_copy_from_and_resize", copy_from_and_resize);
  aten.impl("_local_scalar_dense", scalar_of);
  aten.impl("as_strided", at::native::as_strided_tensorimpl);
  aten.impl("view", at::native::view);
  aten.impl("_reshape_alias", at::native::_reshape_alias);
  aten.impl("resize_", at::native::resize_);
  aten.impl("set_", TORCH_FN(static_cast<Tensor& (*)(Tensor&)>(at::cpu::set_)));
  aten.impl("set_.source_Tensor", TORCH_FN(static_cast<Tensor& (*)(Tensor&, const Tensor&)>(at::cpu::set_)));
  aten.impl("set_.source_Storage", TORCH_FN(static_cast<Tensor& (*)(Tensor&, at::Storage)>(at::cpu::set_)));
  aten.impl("set_.source_Storage_storage_offset", set_storage);
  every.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>());
}

}  // namespace torch_aie::device::parts

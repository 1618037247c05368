// npu.h: the device npu of processes without torch_npu. Its memory is the host's, and all work on it has ended when a
// call returns. With torch_npu the device is torch_npu's, and nothing is registered here.
#pragma once

#include <ATen/core/TensorBody.h>
#include <c10/core/Device.h>

#include <memory>

#include "common/Common.h"

namespace torch::jit {
struct Graph;
}

namespace torch_aie::device {

constexpr c10::DeviceType kNpu = c10::DeviceType::PrivateUse1;
constexpr c10::DeviceIndex kDevices = 8;  // as many as a server has: all are this machine's CPU
constexpr int kLastId = 1024;             // the vendor's limit of set_device

/// Whose the device is: it can be taken once in a process.
enum class Owner { kNobody, kTorchAie, kOther };
ASCENDIE_API Owner owner();

/// Makes the device; does nothing if there is one. Any thread.
ASCENDIE_API void register_npu();
/// From now on set_device does not make the device: Python does, when it is first asked for.
ASCENDIE_API void defer();
/// The device that is current from now on. Throws c10::ValueError for an id outside 0 to kLastId.
ASCENDIE_API void choose(int id);

/// The tensor on the CPU. Memory of this device is taken as it is; another device's is copied, in the order of its
/// current stream.
ASCENDIE_API at::Tensor to_host(const at::Tensor& tensor);
/// A tensor of the CPU on `device`, with the same memory if the device is this one.
ASCENDIE_API at::Tensor from_host(const at::Tensor& tensor, c10::Device device);

/// Constants of the graph on a device npu are moved to the CPU, where all of the graph runs, but for operators that
/// torch_npu alone has: their inputs are taken to the device, and their outputs back.
void move_to_host(torch::jit::Graph& graph);
/// Inputs of the graph are taken to the CPU, and outputs to the device of the inputs.
void follow_inputs(torch::jit::Graph& graph);

namespace parts {  // what register_npu registers
void add_memory();
void add_guard();
void add_hooks();
void add_kernels();
/// The allocator of this device.
c10::Allocator* allocator();
c10::DeviceIndex current();
/// Throws c10::ValueError for an index outside 0 to kDevices - 1.
void set_current(c10::DeviceIndex index);
}  // namespace parts

}  // namespace torch_aie::device

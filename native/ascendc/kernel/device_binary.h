// native/ascendc/kernel/device_binary.h
// The table of kernels that a device binary exports (native/runtime/device_binary/interface.h).
#pragma once

#include <array>
#include <cstdint>

#include "ascendc/interface.h"
#include "ascendc/runtime/ascendc_launch.h"
#include "core/entry.h"
#include "core/machine.h"
#include "runtime/device_binary/interface.h"

namespace AscendC::machine {

template <auto kernel>
struct DeviceFunction;

template <class... Parameters, void (*kernel)(Parameters...)>
struct DeviceFunction<kernel> {
  static constexpr std::array<uint32_t, sizeof...(Parameters) + 1> kAlignments{alignof(Parameters)..., 1};

  static opwright_device_function_t describe(const char* expression, const char* name, KernelKind kind) {
    return {expression,
            name,
            reinterpret_cast<const void*>(kernel),
            Entry<kernel>::call,
            Entry<kernel>::kSizes.data(),
            kAlignments.data(),
            sizeof...(Parameters),
            static_cast<int32_t>(kind)};
  }
};

inline aclError launch_device_function(const opwright_device_function_t* function, uint32_t blocks, aclrtStream stream,
                                       const void* const* arguments) {
  opwright_ascendc_launch_t launch{};
  launch.size = sizeof launch;
  launch.interface = OPWRIGHT_ASCENDC_INTERFACE;
  launch.name = function->name;
  launch.entry = function->entry;
  launch.blocks = blocks;
  launch.kind = function->kind;
  launch.count = function->count;
  launch.arguments = arguments;
  launch.sizes = function->sizes;
  return opwright_ascendc_launch(&launch, stream);
}

}  // namespace AscendC::machine

// native/ascendc/kernel/launch.h
// kernel<<<blocks, l2, stream>>>(arguments): the compiler driver writes a launch as a call of opwright_launch.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "ascendc/interface.h"
#include "ascendc/runtime/ascendc_launch.h"
#include "core/entry.h"
#include "core/machine.h"

// The values between <<< and >>>. The second one is the L2 control of old sources, null or 0.
struct OpwrightConfiguration {
  uint32_t blocks;
  aclrtStream stream = nullptr;

  template <class Blocks, class L2>
  OpwrightConfiguration(Blocks count, L2) : blocks(static_cast<uint32_t>(count)) {
    static_assert(std::is_convertible_v<Blocks, uint32_t>, "the number of blocks between <<< and >>> is no number");
  }
  template <class Blocks, class L2, class Stream>
  OpwrightConfiguration(Blocks count, L2 l2, Stream on) : OpwrightConfiguration(count, l2) {
    if constexpr (std::is_pointer_v<Stream>) stream = static_cast<aclrtStream>(on);
    static_assert(std::is_convertible_v<Stream, aclrtStream> || std::is_integral_v<Stream>,
                  "the third value between <<< and >>> is no stream");
  }
};

namespace AscendC::machine {

// Calls a kernel with the values that the launch copied: the closure that names it, then its arguments.
template <class Kernel, class... Arguments>
struct LaunchedKernel {
  static void enter(void* const* values) {
    start_block();
    call(values, std::index_sequence_for<Arguments...>{});
  }

  template <size_t... I>
  static void call(void* const* values, std::index_sequence<I...>) {
    (*static_cast<Kernel*>(values[0]))(*static_cast<Arguments*>(values[I + 1])...);
  }
};

}  // namespace AscendC::machine

// Throws if the launch is refused; faults of the kernel are errors of the stream.
template <class Kernel, class... Arguments>
void opwright_launch(const char* name, AscendC::machine::KernelKind kind, Kernel kernel,
                     const OpwrightConfiguration& configuration, Arguments... arguments) {
  static_assert((std::is_trivially_copyable_v<Arguments> && ...),
                "arguments of a kernel are copied to the device byte by byte");
  const void* const values[] = {&kernel, &arguments...};
  const uint32_t sizes[] = {sizeof kernel, sizeof(Arguments)...};
  opwright_ascendc_launch_t launch{};
  launch.size = sizeof launch;
  launch.interface = OPWRIGHT_ASCENDC_INTERFACE;
  launch.name = name;
  launch.entry = AscendC::machine::LaunchedKernel<Kernel, Arguments...>::enter;
  launch.blocks = configuration.blocks;
  launch.kind = static_cast<int32_t>(kind);
  launch.count = sizeof...(Arguments) + 1;
  launch.arguments = values;
  launch.sizes = sizes;
  if (opwright_ascendc_launch(&launch, configuration.stream) != ACL_SUCCESS) {
    throw std::runtime_error(opwright_ascendc_error());
  }
}

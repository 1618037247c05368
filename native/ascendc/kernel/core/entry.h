// native/ascendc/kernel/core/entry.h
// How the runtime calls a kernel: with pointers to the values of its parameters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/machine.h"

namespace AscendC::machine {

// The beginning of each execution of a kernel: registers have their initial values. The runtime was perhaps built with
// other headers than the kernel, so that this is the kernel's part.
inline void start_block() { core().registers = Registers(); }

template <auto kernel>
struct Entry;

template <class... Parameters, void (*kernel)(Parameters...)>
struct Entry<kernel> {
  static constexpr std::array<uint32_t, sizeof...(Parameters) + 1> kSizes{sizeof(Parameters)..., 0};

  static void call(void* const* arguments) {
    start_block();
    call(arguments, std::index_sequence_for<Parameters...>());
  }

 private:
  template <size_t... I>
  static void call([[maybe_unused]] void* const* arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_reference_t<Parameters>*>(arguments[I])...);
  }
};

}  // namespace AscendC::machine

// Exports NAME_opwright_entry, which the runtime takes, and NAME_opwright_sizes: bytes of each parameter, then 0.
#define OPWRIGHT_KERNEL_ENTRY(name)                                                                      \
  extern "C" __attribute__((visibility("default"))) void name##_opwright_entry(void* const* arguments) { \
    ::AscendC::machine::Entry<name>::call(arguments);                                                    \
  }                                                                                                      \
  extern "C" __attribute__((visibility("default"))) const uint32_t* name##_opwright_sizes() {            \
    return ::AscendC::machine::Entry<name>::kSizes.data();                                               \
  }                                                                                                      \
  static_assert(true)

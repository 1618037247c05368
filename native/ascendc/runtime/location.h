// native/ascendc/runtime/location.h
// From program counters to lines of the kernel's source.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace AscendC::machine {

// The innermost calls on a thread's stack.
struct Site {
  static constexpr size_t kDepth = 8;
  std::array<uintptr_t, kDepth> calls{};

  bool operator<(const Site& other) const { return calls < other.calls; }
  bool operator==(const Site& other) const { return calls == other.calls; }
};

// The calls above `frame`, up to the frame at `outermost`: needs code with frame pointers.
Site walk(const void* frame, const void* outermost);
// The place of a core on the calling thread: up to where the runtime called the kernel.
Site here(const void* frame);
// Whether an address is in the frames of the core on the calling thread.
bool on_stack(const void* address);
// Where `here` ends on this thread.
const void* exchange_outermost_frame(const void* frame);

// "file:line" of the innermost call that is not in our own headers; "library+0x…" without debug information. Runs
// addr2line, so only for reports.
std::string place_of(const Site& site);

}  // namespace AscendC::machine

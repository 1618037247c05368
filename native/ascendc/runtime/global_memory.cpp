// native/ascendc/runtime/global_memory.cpp
#include "ascendc/runtime/global_memory.h"

#include <dlfcn.h>

#include <algorithm>

#include "ascendc/runtime/launch.h"
#include "ascendc/runtime/report.h"
#include "core/pipe.h"
#include "runtime/memory/extent.h"
#include "runtime/memory/memory.h"

namespace AscendC::machine {
namespace {

using opwright::text;

struct Span {
  uintptr_t begin = 0;
  uintptr_t end = 0;

  bool holds(uintptr_t address, uint64_t bytes) const {
    return address >= begin && address <= end && bytes <= end - address;
  }
};

// The allocation that this thread found last in this launch: a kernel uses few. Frees are rare while a kernel runs.
struct Cache {
  static constexpr size_t kSpans = 8;
  Span spans[kSpans];
  size_t next = 0;
  uint64_t releases = 0;
  uint64_t launch = 0;
};
thread_local Cache cache;

// The device's own data in global memory for a kernel: its constants and its stack.
bool is_own(const void* address) {
  Dl_info info = {};
  return on_stack(address) || dladdr(address, &info) != 0;
}

// Where the memory around an address begins and ends; empty if there is none. The extents of host memory are known only
// if the launch came with them: else it is everything.
Span span_of(uintptr_t address) {
  for (const auto& range : current_launch().program().ranges) {
    const auto begin = reinterpret_cast<uintptr_t>(range.begin);
    if (address - begin < range.bytes) return {begin, begin + range.bytes};
  }
  const opwright::memory::Windows windows = opwright::memory::windows();
  if (address - windows.front < windows.bytes) return {};  // the host does not reach it there
  const uintptr_t front = address - static_cast<uintptr_t>(windows.distance);
  if (front - windows.front >= windows.bytes) {
    const Program& program = current_launch().program();
    if (program.host_memory && program.ranges.empty()) return {0, ~uintptr_t{0}};
    return {};
  }
  const opwright::memory::Extent extent = opwright::memory::extent_of(reinterpret_cast<const void*>(front));
  const uintptr_t begin = extent.begin + static_cast<uintptr_t>(windows.distance);
  return extent.bytes == 0 ? Span{} : Span{begin, begin + extent.bytes};
}

}  // namespace

void check_global(const char* api, const char* operand, const void* address, uint64_t bytes) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  if (cache.launch != current_launch().serial() || cache.releases != opwright::memory::releases()) {
    cache = Cache{{}, 0, opwright::memory::releases(), current_launch().serial()};
  }
  for (const Span& span : cache.spans) {
    if (span.holds(value, bytes) && span.end != span.begin) return;
  }
  const Span span = span_of(value);
  if (span.end != span.begin && span.holds(value, bytes)) {
    cache.spans[cache.next++ % Cache::kSpans] = span;
    return;
  }
  if (span.end == span.begin && is_own(address)) return;
  const std::string got = span.end == span.begin
                              ? text(bytes, " bytes at ", describe_address(address))
                              : text(bytes, " bytes at offset ", value - span.begin, " of ", span.end - span.begin);
  current_launch().fail(describe({"OPW-X005", "global memory is accessed where none is", text(api, ", ", operand), got,
                                  "the bytes of one tensor or allocation", here(__builtin_frame_address(0)), ""}));
}

void check_local(const char* api, const char* operand, const void* address, uint64_t bytes) {
  const auto* const byte = static_cast<const uint8_t*>(address);
  for (size_t i = 0; i < kMemories; ++i) {
    const MemorySpan& span = core().memory[i];
    if (byte >= span.base && byte < span.base + span.bytes) {
      if (bytes <= static_cast<uint64_t>(span.base + span.bytes - byte)) return;
      current_launch().fail(
          describe({"OPW-X006", "local memory is accessed behind its end", text(api, ", ", operand),
                    text(bytes, " bytes at offset ", byte - span.base, " of the ", name_of(static_cast<Memory>(i))),
                    text("the ", span.bytes, " bytes of the ", name_of(static_cast<Memory>(i))),
                    here(__builtin_frame_address(0)), ""}));
    }
  }
  current_launch().fail(
      describe({"OPW-X006", "a local operand lies in no local memory of the core", text(api, ", ", operand),
                describe_address(address), "tensors of a queue or buffer that InitBuffer has given memory",
                here(__builtin_frame_address(0)), ""}));
}

std::string describe_address(const void* address) {
  if (address == nullptr) return "a null pointer";
  const auto* const byte = static_cast<const uint8_t*>(address);
  for (size_t i = 0; current_core != nullptr && i < kMemories; ++i) {
    constexpr ptrdiff_t kNear = 512 * 1024;  // half of the guard pages
    const MemorySpan& span = core().memory[i];
    if (byte < span.base - kNear || byte >= span.base + span.bytes + kNear) continue;
    const char* const name = name_of(static_cast<Memory>(i));
    if (byte < span.base) return text(span.base - byte, " bytes before the ", name);
    if (byte < span.base + span.bytes) return text("byte ", byte - span.base, " of the ", name);
    return text(byte - span.base - span.bytes, " bytes behind the end of the ", name, " of ", span.bytes, " bytes");
  }
  if (current_core != nullptr) {
    for (const auto& range : current_launch().program().ranges) {
      const auto at = static_cast<uint64_t>(byte - range.begin);
      if (at < range.bytes) return text("byte ", at, " of a tensor of ", range.bytes, " bytes");
    }
  }
  const opwright::memory::Windows windows = opwright::memory::windows();
  const auto value = reinterpret_cast<uintptr_t>(address);
  const uintptr_t front = value - static_cast<uintptr_t>(windows.distance);
  for (const uintptr_t at : {value, front}) {
    constexpr uintptr_t kNear = uintptr_t{1} << 30;
    const uintptr_t before = windows.front - at;
    if (before != 0 && before <= kNear) return text(before, " bytes before the memory of device 0");
  }
  if (value - windows.front < windows.bytes) return opwright::memory::describe(address);
  if (front - windows.front < windows.bytes) return opwright::memory::describe(reinterpret_cast<const void*>(front));
  return text("address ", address, ", which is neither local nor global memory");
}

}  // namespace AscendC::machine

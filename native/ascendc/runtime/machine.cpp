// native/ascendc/runtime/machine.cpp
// The functions of core/machine.h that a single core calls.
#include "core/machine.h"

#include "ascendc/runtime/checks/core_checks.h"
#include "ascendc/runtime/launch.h"
#include "ascendc/runtime/report.h"
#include "ascendc/runtime/timeline.h"

namespace AscendC::machine {

void refuse_text(const char* api, const std::string& text) {
  current_launch().fail(
      describe({"OPW-X001", "the core cannot do this", api, text, "", here(__builtin_frame_address(0)), ""}));
}

// ---- reports to the checks; nothing without them

void begin_instruction(Pipe pipe, const char* api) {
  if (Timeline* const timeline = current_timeline()) timeline->begin_instruction(pipe, api);
  if (CoreChecks* const checks = current_checks()) {
    checks->begin_instruction(pipe, api, here(__builtin_frame_address(0)));
  }
}

void access(const char* operand, const Region& region, Access kind) {
  if (Timeline* const timeline = current_timeline()) timeline->access(region);
  if (CoreChecks* const checks = current_checks()) checks->access(operand, region, kind);
}

void note_cached_write(const void* address) {
  if (CoreChecks* const checks = current_checks()) checks->note_cached_write(address);
}

void unaligned(const char* operand, const void* address, size_t bytes) {
  if (CoreChecks* const checks = current_checks()) checks->unaligned(operand, address, bytes);
}

void signal_order(const void* key, Pipe from, Pipe to) {
  if (Timeline* const timeline = current_timeline()) timeline->signal_order(key, from);
  if (CoreChecks* const checks = current_checks()) {
    checks->signal_order(key, from, to, here(__builtin_frame_address(0)));
  }
}

void await_order(const void* key, Pipe to) {
  if (Timeline* const timeline = current_timeline()) timeline->await_order(key, to);
  if (CoreChecks* const checks = current_checks()) checks->await_order(key, to);
}

void drop_order(const void* key) {
  if (CoreChecks* const checks = current_checks()) checks->drop_order(key);
}

void barrier_order(uint8_t pipe_or_all) {
  if (Timeline* const timeline = current_timeline()) timeline->barrier_order(pipe_or_all);
  if (CoreChecks* const checks = current_checks()) checks->barrier_order(pipe_or_all);
}

void note_buffer(const uint8_t* base, uint32_t bytes, BufferState state, Pipe producer) {
  if (CoreChecks* const checks = current_checks()) {
    checks->note_buffer(base, bytes, state, producer, here(__builtin_frame_address(0)));
  }
}

void forget_buffers(Memory memory) {
  if (CoreChecks* const checks = current_checks()) checks->forget_buffers(memory);
}

void note_raw_address(const void*) {
  if (CoreChecks* const checks = current_checks()) checks->note_raw_address();
}

void set_event(HardEvent event, int32_t id) {
  if (Timeline* const timeline = current_timeline()) timeline->set_event(event, id);
  if (CoreChecks* const checks = current_checks()) {
    checks->set_event(event, id, here(__builtin_frame_address(0)));
  }
}

void wait_event(HardEvent event, int32_t id) {
  if (Timeline* const timeline = current_timeline()) timeline->wait_event(event, id);
  if (CoreChecks* const checks = current_checks()) {
    checks->wait_event(event, id, here(__builtin_frame_address(0)));
  }
}

}  // namespace AscendC::machine

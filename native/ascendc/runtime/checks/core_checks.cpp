// native/ascendc/runtime/checks/core_checks.cpp
// Instructions and what they touch. Buffers, events and flags are in order_checks.cpp.
#include "ascendc/runtime/checks/core_checks.h"

#include <algorithm>

#include "ascendc/runtime/global_memory.h"
#include "core/pipe.h"
#include "runtime/error.h"

namespace AscendC::machine {

using opwright::text;

namespace {

thread_local CoreChecks* checks_of_thread = nullptr;

// They put elements elsewhere: rows that nobody has written are not rows of the result.
constexpr const char* kTranspositions[] = {"Transpose", "TransDataTo5HD", "LoadDataWithTranspose"};

template <size_t n>
bool is_one_of(const std::string& name, const char* const (&names)[n]) {
  return std::find(names, names + n, name) != names + n;
}

Memory memory_at(const uint8_t* byte) {
  for (size_t i = 0; i < kMemories; ++i) {
    const MemorySpan& span = core().memory[i];
    if (byte >= span.base && byte < span.base + span.bytes) return static_cast<Memory>(i);
  }
  return Memory::kNone;
}

}  // namespace

CoreChecks* current_checks() { return checks_of_thread; }
CoreChecks* exchange_current_checks(CoreChecks* checks) { return std::exchange(checks_of_thread, checks); }

void CoreChecks::report(const char* id, const char* title, const std::string& call, const std::string& got,
                        const std::string& allowed, const Site& site, const std::string& other,
                        const Site& other_site) {
  launch_.add(Finding{id, title, call, got, allowed, site, other, other_site});
}

std::string CoreChecks::call_text(const char* operand) const { return text(place_->api, ", operand ", operand); }

const Place* CoreChecks::place_of_moment(Moment moment) const {
  return moments_[static_cast<size_t>(moment.pipe())][moment.number() - 1];
}

void CoreChecks::begin_instruction(Pipe pipe, const char* api, const Site& site) {
  pipe_ = pipe;
  const Place*& known = known_places_[{api, site}];
  if (known == nullptr) known = &places_.emplace_back(Place{api, pipe, site, core_text()});
  place_ = known;
  moments_[static_cast<size_t>(pipe)].push_back(place_);
  PipeClock& clock = pipe_clock(pipe);
  // Scalar code issues it: what that has waited for is over.
  join(clock, pipe_clock(Pipe::kScalar));
  clock[static_cast<size_t>(pipe)] = static_cast<uint32_t>(moments_[static_cast<size_t>(pipe)].size());
  unwritten_.clear();
}

void CoreChecks::access(const char* operand, const Region& region, Access kind) {
  const uint64_t total = uint64_t{region.bytes} * region.blocks * region.repeats;
  if (total == 0) return;
  if (kind == Access::kRead) {
    unwritten_.push_back(Unwritten{total, 0, {}});
  } else {
    writing_ = total;
  }
  const auto* const base = static_cast<const uint8_t*>(region.base);
  // Later runs may lie wholly in the next buffer: all of them belong to one.
  const MemorySpan buffer = region.buffer.base != nullptr ? region.buffer : span_at(base);
  const bool joined = region.blocks == 1 || region.block_stride == region.bytes;
  uint64_t position = 0;
  for (uint32_t repeat = 0; repeat < region.repeats; ++repeat) {
    const uint8_t* const row = base + region.repeat_stride * static_cast<int64_t>(repeat);
    for (uint32_t block = 0; block < (joined ? 1 : region.blocks); ++block) {
      const uint32_t bytes = joined ? region.bytes * region.blocks : region.bytes;
      access_run(operand, row + region.block_stride * static_cast<int64_t>(block), bytes, kind, position, buffer);
      position += bytes;
    }
  }
  // Read with the instruction's results: a scalar, or what leaves the core.
  if (kind != Access::kRead || (pipe_ != Pipe::kScalar && pipe_ != Pipe::kMte3 && pipe_ != Pipe::kFix)) return;
  const Unwritten& read = unwritten_.back();
  if (read.missing == 0) return;
  report("OPW-X012", "local memory is read that nothing has written", call_text(operand),
         text(read.missing, " of ", read.bytes, " bytes were never written, the first one at byte ",
              read.parts.front().first, " of the operand"),
         "bytes that a copy or an instruction has written before", place_->site);
}

void CoreChecks::access_run(const char* operand, const uint8_t* begin, uint32_t bytes, Access kind, uint64_t position,
                            const MemorySpan& buffer) {
  const Memory memory = memory_at(begin);
  if (memory == Memory::kNone) return access_global(operand, begin, bytes, kind);
  check_local(place_->api, operand, begin, bytes);
  access_local(operand, memory, begin, bytes, kind, position, buffer);
}

void CoreChecks::access_global(const char* operand, const uint8_t* begin, uint32_t bytes, Access kind) {
  check_global(place_->api, operand, begin, bytes);
  const Touch now{index_, cores_[index_], pipe_clock(pipe_)[static_cast<size_t>(pipe_)], kind, place_};
  const auto conflict =
      launch_.global().touch(reinterpret_cast<uintptr_t>(begin), bytes, now, cores_, pipe_clock(pipe_));
  if (!conflict) return;
  const Touch& earlier = conflict->earlier;
  const char* const did = earlier.kind == Access::kRead ? "read" : "wrote";
  const std::string other = text(did, " by ", text_of(*earlier.place));
  const std::string got = text(kind == Access::kRead ? "reads" : "writes", " ",
                               describe_address(reinterpret_cast<const void*>(conflict->address)));
  if (earlier.core != index_) {
    report("OPW-X014", "two cores use the same global memory, and nothing orders them", call_text(operand), got,
           "parts of its own for each core, atomic additions, or SyncAll and flags between them", place_->site, other,
           earlier.place->site);
  } else {
    report("OPW-X011", "two pipes use the same global memory, and nothing orders them", call_text(operand), got,
           text("a queue, or SetFlag and WaitFlag, from ", name_of(earlier.place->pipe), " to ", name_of(pipe_)),
           place_->site, other);
  }
}

void CoreChecks::note_cached_write(const void* address) {
  const Touch now{index_, cores_[index_], pipe_clock(pipe_)[static_cast<size_t>(pipe_)], Access::kWrite, place_};
  const auto earlier = launch_.global().write_line(reinterpret_cast<uintptr_t>(address), now, cores_);
  if (!earlier) return;
  report("OPW-X014", "two cores write the same cache line, and nothing orders them", call_text("element"),
         text("writes ", describe_address(address), "; a core writes back all ", GlobalShadow::kLineBytes,
              " bytes of a line, with what it has found in them"),
         "whole cache lines for each core, or DataCopyPad from local memory", place_->site,
         text("wrote by ", text_of(*earlier->place)), earlier->place->site);
}

void CoreChecks::access_local(const char* operand, Memory memory, const uint8_t* begin, uint32_t bytes, Access kind,
                              uint64_t position, const MemorySpan& buffer) {
  const bool usable = check_bounds(operand, memory, begin, bytes, buffer) && check_state(operand, begin, kind);
  const auto offset = static_cast<uint32_t>(begin - core().memory[static_cast<size_t>(memory)].base);
  PipeClock& clock = pipe_clock(pipe_);
  const Moment now(pipe_, clock[static_cast<size_t>(pipe_)]);
  const auto conflict = shadow_->touch(memory, offset, bytes, kind != Access::kRead, now, clock);
  if (conflict && usable) {
    const Place& earlier = *place_of_moment(conflict->earlier);
    report("OPW-X010", "two pipes use the same local memory, and nothing orders them", call_text(operand),
           text(kind == Access::kRead ? "reads" : "writes", " byte ", conflict->offset, " of the ", name_of(memory)),
           text("EnQue and DeQue of the tensor, or SetFlag and WaitFlag, from ", name_of(earlier.pipe), " to ",
                name_of(pipe_)),
           place_->site, text(conflict->earlier_wrote ? "written" : "read", " by ", text_of(earlier)));
  }
  if (kind == Access::kRead) {
    read_definedness(memory, offset, bytes, position);
  } else {
    write_definedness(memory, offset, bytes, position);
  }
}

CoreChecks::Buffers::const_iterator CoreChecks::buffer_at(const uint8_t* byte) const {
  const auto address = reinterpret_cast<uintptr_t>(byte);
  const auto next = buffers_.upper_bound(address);
  if (next == buffers_.begin()) return buffers_.end();
  const auto before = std::prev(next);
  return address - before->first < before->second.bytes ? before : buffers_.end();
}

MemorySpan CoreChecks::span_at(const uint8_t* byte) const {
  const auto found = buffer_at(byte);
  if (found == buffers_.end()) return {};
  return {const_cast<uint8_t*>(byte) - (reinterpret_cast<uintptr_t>(byte) - found->first), found->second.bytes};
}

bool CoreChecks::check_bounds(const char* operand, Memory memory, const uint8_t* begin, uint32_t bytes,
                              const MemorySpan& buffer) {
  if (buffer.base == nullptr) return true;
  const int64_t offset = begin - buffer.base;
  if (offset >= 0 && offset + int64_t{bytes} <= int64_t{buffer.bytes}) return true;
  report("OPW-X006", "local memory is accessed behind the end of a buffer", call_text(operand),
         text(bytes, " bytes at offset ", offset, " of a buffer of ", buffer.bytes, " bytes in the ", name_of(memory)),
         text("the ", buffer.bytes, " bytes that InitBuffer gave"), place_->site);
  return false;
}

bool CoreChecks::check_state(const char* operand, const uint8_t* begin, Access kind) {
  const auto found = buffer_at(begin);
  if (found == buffers_.end()) return true;
  const Known& buffer = found->second;
  if (buffer.state == BufferState::kFree) {
    report("OPW-X008", "a tensor is used that is not allocated", call_text(operand),
           "a buffer that nobody has got with AllocTensor, or that FreeTensor has given back",
           "tensors between AllocTensor and FreeTensor", place_->site,
           buffer.changed == Site() ? "" : text("given back at ", place_of(buffer.changed)));
    return false;
  }
  if (buffer.state == BufferState::kQueued && (kind != Access::kRead || pipe_ != buffer.producer)) {
    if (pipe_ == Pipe::kScalar && kind == Access::kRead) return true;
    report("OPW-X009", "a tensor is used while it is in a queue", call_text(operand),
           text(name_of(pipe_), kind == Access::kRead ? " reads" : " writes", " it before DeQue"),
           "tensors that DeQue has returned", place_->site, text("put into the queue at ", place_of(buffer.changed)));
    return false;
  }
  return true;
}

void CoreChecks::read_definedness(Memory memory, uint32_t offset, uint32_t bytes, uint64_t position) {
  if (raw_) return;
  Unwritten& read = unwritten_.back();
  uint32_t at = 0;
  while (at < bytes) {
    at += shadow_->first_undefined(memory, offset + at, bytes - at);
    if (at >= bytes) break;
    const uint32_t length = shadow_->first_defined(memory, offset + at, bytes - at);
    read.missing += length;
    read.parts.emplace_back(position + at, position + at + length);
    at += length;
  }
}

// A result that is computed from bytes that nobody has written holds nothing either. Which of its bytes those are is
// known where operands have equally many elements, and where a reduction makes few of many.
void CoreChecks::write_definedness(Memory memory, uint32_t offset, uint32_t bytes, uint64_t position) {
  shadow_->define(memory, offset, bytes, true);
  constexpr uint64_t kMostRatio = 4;  // of element sizes
  const auto is_whole = [](const Unwritten& read) { return read.missing == 0; };
  if (std::all_of(unwritten_.begin(), unwritten_.end(), is_whole)) return;
  if (is_one_of(place_->api, kTranspositions)) {
    const auto is_missing = [](const Unwritten& read) { return read.missing == read.bytes; };
    if (std::all_of(unwritten_.begin(), unwritten_.end(), is_missing)) shadow_->define(memory, offset, bytes, false);
    return;
  }
  for (const Unwritten& read : unwritten_) {
    if (read.missing == 0) continue;
    const bool elementwise =
        pipe_ != Pipe::kMatrix && ((writing_ % read.bytes == 0 && writing_ / read.bytes <= kMostRatio) ||
                                   (read.bytes % writing_ == 0 && read.bytes / writing_ <= kMostRatio));
    if (!elementwise) {
      const bool reduces = pipe_ == Pipe::kVector && writing_ < read.bytes;
      if (read.missing == read.bytes || reduces) shadow_->define(memory, offset, bytes, false);
      continue;
    }
    for (const auto& [from, to] : read.parts) {
      const uint64_t begin = std::max(from * writing_ / read.bytes, position);
      const uint64_t end = std::min(to * writing_ / read.bytes, position + bytes);
      if (begin >= end) continue;
      shadow_->define(memory, offset + static_cast<uint32_t>(begin - position), static_cast<uint32_t>(end - begin),
                      false);
    }
  }
}

void CoreChecks::unaligned(const char* operand, const void* address, size_t bytes) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  if (value % bytes == 0) return;
  const Memory memory = memory_at(static_cast<const uint8_t*>(address));
  const char* const where = memory == Memory::kNone ? "global memory" : name_of(memory);
  report("OPW-X007", "an operand is not aligned", call_text(operand),
         text("byte ", value % bytes, " behind a multiple of ", bytes, " in the ", where),
         text("multiples of ", bytes, " bytes"), place_->site);
}

}  // namespace AscendC::machine

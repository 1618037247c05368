// native/ascendc/runtime/timeline.cpp
#include "ascendc/runtime/timeline.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "ascendc/runtime/checks/place.h"
#include "ascendc/runtime/report.h"
#include "runtime/error.h"
#include "runtime/trace.h"

namespace AscendC::machine {
namespace {

constexpr uint64_t kBytesPerUnit = 32;
constexpr uint64_t kStart = 4;  // units that an instruction takes however little it moves

// A process of its own in the trace, so that its rows stand together; real process ids are smaller.
int64_t process_of_cores() { return int64_t{1} << 24 | getpid(); }

thread_local Timeline* timeline_of_thread = nullptr;

}  // namespace

Timeline* current_timeline() { return timeline_of_thread; }
Timeline* exchange_current_timeline(Timeline* timeline) { return std::exchange(timeline_of_thread, timeline); }

void Timeline::close() {
  if (open_.api == nullptr) return;
  open_.end = open_.begin + kStart + open_.bytes / kBytesPerUnit;
  free_at(open_.pipe) = open_.end;
  if (events_.size() < kMost) {
    events_.push_back(open_);
  } else {
    ++more_;
  }
  open_.api = nullptr;
}

void Timeline::begin_instruction(Pipe pipe, const char* api) {
  close();
  // Scalar code issues the instruction, and goes on when it is itself the pipe.
  open_ = Event{api, pipe, std::max(free_at(pipe), free_at(Pipe::kScalar)), 0, 0};
}

void Timeline::access(const Region& region) {
  open_.bytes = std::max(open_.bytes, uint64_t{region.bytes} * region.blocks * region.repeats);
}

void Timeline::signal_order(const void* key, Pipe from) {
  close();
  signals_[key] = free_at(from);
}

void Timeline::await_order(const void* key, Pipe to) {
  close();
  const auto found = signals_.find(key);
  if (found != signals_.end()) free_at(to) = std::max(free_at(to), found->second);
}

void Timeline::set_event(HardEvent event, int32_t id) {
  close();
  flags_[{event, id}] = free_at(source_of(event));
}

void Timeline::wait_event(HardEvent event, int32_t id) {
  close();
  uint64_t& waits = free_at(destination_of(event));
  waits = std::max(waits, flags_[{event, id}]);
}

void Timeline::barrier_order(uint8_t pipe_or_all) {
  close();
  if (pipe_or_all != kAllPipes) return;
  std::fill(std::begin(free_), std::end(free_), *std::max_element(std::begin(free_), std::end(free_)));
}

void Timeline::write(double begin, double end) {
  using opwright::text;
  namespace trace = opwright::trace;
  close();
  const uint64_t total = *std::max_element(std::begin(free_), std::end(free_));
  if (events_.empty() || total == 0) return;
  const Core& self = core();
  const int64_t place = (self.block * 4 + (self.kind == CoreKind::kCube ? 3 : self.sub_block)) * 8;
  const std::string block = text("block ", self.block,
                                 !self.mixed                    ? ""
                                 : self.kind == CoreKind::kCube ? " cube"
                                                                : text(" vector ", self.sub_block));
  const auto row_of = [&](Pipe pipe) { return trace::Row{process_of_cores(), place + static_cast<int64_t>(pipe)}; };
  bool named[kPipes] = {};
  const double unit = (end - begin) / static_cast<double>(total);
  for (const Event& event : events_) {
    bool& done = named[static_cast<size_t>(event.pipe)];
    if (!done) trace::name_row(row_of(event.pipe), "Ascend C cores", text(block, " ", name_of(event.pipe)));
    done = true;
    trace::write_row(row_of(event.pipe), event.api, begin + unit * static_cast<double>(event.begin),
                     begin + unit * static_cast<double>(event.end), text("\"bytes\":", event.bytes));
  }
  if (more_ > 0) {
    trace::write_row(row_of(Pipe::kScalar), text("… and ", more_, " instructions more"), end, end, "");
  }
}

}  // namespace AscendC::machine

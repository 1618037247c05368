// native/ascendc/runtime/checks/global_shadow.cpp
#include "ascendc/runtime/checks/global_shadow.h"

#include <algorithm>
#include <utility>

namespace AscendC::machine {
namespace {

// Whether what another core did is over for a core that knows this of the others.
bool is_known(const Touch& earlier, const CoreClock& cores) {
  return earlier.core < cores.size() && earlier.epoch <= cores[earlier.core];
}

// Whether `earlier` is over for whoever has these clocks. Scalar code is ordered with the pipes of its core by the
// compiler, which makes it wait.
bool is_over(const Touch& earlier, const Touch& now, const CoreClock& cores, PipeClock& pipes) {
  if (earlier.core != now.core) return is_known(earlier, cores);
  const Pipe pipe = earlier.place->pipe;
  uint32_t& known = pipes[static_cast<size_t>(pipe)];
  if (pipe == now.place->pipe || pipe == Pipe::kScalar || earlier.number <= known) return true;
  if (now.place->pipe != Pipe::kScalar) return false;
  known = earlier.number;
  return true;
}

bool disturbs(const Touch& earlier, const Touch& now) {
  if (earlier.kind == Access::kRead && now.kind == Access::kRead) return false;
  return earlier.kind != Access::kAtomic || now.kind != Access::kAtomic;  // additions come in any order
}

}  // namespace

// Makes a span begin at `at` if one lies across it.
GlobalShadow::Spans::iterator GlobalShadow::split(uintptr_t at) {
  auto next = spans_.lower_bound(at);
  if (next == spans_.begin()) return next;
  const auto before = std::prev(next);
  if (before->second.end <= at) return next;
  Span rest = before->second;
  before->second.end = at;
  return spans_.emplace_hint(next, at, std::move(rest));
}

void GlobalShadow::note(Span& span, const Touch& now) {
  if (now.kind == Access::kWrite) {
    span.writer = now;
    span.since.clear();
    return;
  }
  for (Touch& other : span.since) {
    if (other.core == now.core && other.kind == now.kind && other.place->pipe == now.place->pipe) {
      other = now;
      return;
    }
  }
  span.since.push_back(now);
}

// Joins a span with the one before it if both say the same: what is copied piece by piece stays one.
void GlobalShadow::merge(Spans::iterator span) {
  if (span == spans_.begin() || span == spans_.end()) return;
  const auto before = std::prev(span);
  const Span& a = before->second;
  const Span& b = span->second;
  const auto same = [](const Touch& x, const Touch& y) {
    return x.place == y.place && x.core == y.core && x.epoch == y.epoch && x.kind == y.kind;
  };
  if (a.end != span->first || a.since.size() != b.since.size() || !same(a.writer, b.writer)) return;
  for (size_t i = 0; i < a.since.size(); ++i) {
    if (!same(a.since[i], b.since[i])) return;
  }
  before->second = b.writer.number >= a.writer.number ? Span{b.end, b.writer, b.since} : Span{b.end, a.writer, b.since};
  spans_.erase(span);
}

std::optional<GlobalShadow::Conflict> GlobalShadow::touch(uintptr_t begin, uint64_t bytes, const Touch& now,
                                                          const CoreClock& cores, PipeClock& pipes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::optional<Conflict> found;
  const uintptr_t end = begin + bytes;
  split(end);
  auto span = split(begin);
  uintptr_t cursor = begin;
  while (cursor < end) {
    if (span == spans_.end() || span->first > cursor) {  // nobody was here yet
      const uintptr_t until = span == spans_.end() ? end : std::min(end, span->first);
      span = spans_.emplace_hint(span, cursor, Span{until, Touch(), {}});
    }
    Span& present = span->second;
    const auto meet = [&](const Touch& earlier) {
      if (earlier.place == nullptr || found || !disturbs(earlier, now) || is_over(earlier, now, cores, pipes)) return;
      found = Conflict{earlier, cursor};
    };
    meet(present.writer);
    std::for_each(present.since.begin(), present.since.end(), meet);
    note(present, now);
    cursor = present.end;
    ++span;
  }
  merge(spans_.find(begin));
  return found;
}

std::optional<Touch> GlobalShadow::write_line(uintptr_t address, const Touch& now, const CoreClock& cores) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Touch earlier = std::exchange(lines_[address / kLineBytes], now);
  if (earlier.place == nullptr || earlier.core == now.core || is_known(earlier, cores)) return std::nullopt;
  return earlier;
}

}  // namespace AscendC::machine

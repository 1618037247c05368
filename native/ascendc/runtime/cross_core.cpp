// native/ascendc/runtime/cross_core.cpp
// Order between cores: SyncAll, flags, counters, and memory that the cores of a launch share.
#include <algorithm>

#include "ascendc/runtime/checks/core_checks.h"
#include "ascendc/runtime/launch.h"
#include "ascendc/runtime/report.h"
#include "runtime/error.h"

namespace AscendC::machine {
namespace {

// Names of counters: who counts, and what.
enum class Counter : uint64_t { kFlag = 1, kWaited, kCalled, kMeeting };

std::pair<uint64_t, uint64_t> key_of(Counter counter, uint64_t who, uint64_t what) {
  return {static_cast<uint64_t>(counter) << 56 | who, what};
}

// Among the flags' counters: a core, by AI core and its place in it.
uint64_t number_of(uint32_t block, CoreKind kind, uint32_t sub_block) {
  return uint64_t{block} * 4 + (kind == CoreKind::kCube ? 3 : sub_block);
}

// The checks' part of publishing to others and of learning from them; called with the launch's mutex held.
void release(Launch& launch, std::pair<uint64_t, uint64_t> key) {
  if (launch.checks() != nullptr) launch.checks()->release(current_index(), key);
}
void acquire(Launch& launch, std::pair<uint64_t, uint64_t> key) {
  if (launch.checks() != nullptr) launch.checks()->acquire(current_index(), key);
}

// The order between the pipes of a core that waits for others.
void settle_pipes() {
  if (CoreChecks* const checks = current_checks()) checks->wait_for_all_pipes();
}

}  // namespace

void sync_all(bool vector_only, uint32_t used_cores) {
  Launch& launch = current_launch();
  const uint32_t vectors = launch.cores_of(CoreKind::kVector);
  const uint32_t cubes = launch.cores_of(CoreKind::kCube);
  // In a kernel of cube cores alone, the call for vector cores means all of them.
  const bool only_vectors = vector_only && vectors > 0;
  uint32_t expected = only_vectors ? vectors : vectors + cubes;
  if (used_cores > 0) expected = std::min(expected, used_cores);
  Launch::Meeting& meeting = launch.meetings[only_vectors ? 1 : 0];
  uint64_t round = 0;
  // Each round has a key of its own: a core that is late must not learn of what others do after it.
  const auto key = [&](uint64_t number) { return key_of(Counter::kMeeting, only_vectors ? 1 : 0, number); };
  settle_pipes();
  launch.change([&] {
    round = meeting.round;
    release(launch, key(round));
    if (++meeting.arrived == expected) {
      meeting.arrived = 0;
      ++meeting.round;
    }
  });
  launch.wait_until("SyncAll", [&] { return meeting.round > round; });
  launch.change([&] { acquire(launch, key(round)); });
}

void set_cross_core(uint8_t mode, Pipe, uint16_t flag) {
  Launch& launch = current_launch();
  const Core& self = core();
  const auto raise = [&](uint32_t block, CoreKind kind, uint32_t sub_block) {
    ++launch.counters[key_of(Counter::kFlag, number_of(block, kind, sub_block), flag)];
  };
  // A group's flag rises for all of its cores as often as each of them has set it: one that is ahead does not stand for
  // another one. The members are `size` numbers from `first` on, `mine` is the place of this core among them.
  const auto meet = [&](uint64_t first, uint32_t size, uint32_t mine, const auto& raise_all) {
    const auto times = [&](uint32_t member) -> uint64_t& {
      return launch.counters[key_of(Counter::kCalled, first + member, flag)];
    };
    const uint64_t now = ++times(mine);
    for (uint32_t member = 0; member < size; ++member) {
      if (times(member) < now) return;
    }
    raise_all();
  };
  constexpr uint64_t kAllCubes = uint64_t{1} << 40;
  constexpr uint64_t kAllVectors = uint64_t{2} << 40;
  const uint64_t within_block = (uint64_t{3} << 40) + number_of(self.block, CoreKind::kVector, 0);
  const uint64_t to_cube = (uint64_t{4} << 40) + number_of(self.block, CoreKind::kVector, 0);
  launch.change([&] {
    release(launch, key_of(Counter::kFlag, 0, flag));
    if (mode == 0) {  // all cores of this kind
      const bool cube = self.kind == CoreKind::kCube;
      const uint32_t each = cube ? 1 : self.sub_blocks;
      meet(cube ? kAllCubes : kAllVectors, launch.cores_of(self.kind), self.block * each + (cube ? 0 : self.sub_block),
           [&] {
             for (uint32_t block = 0; block < self.blocks; ++block) {
               for (uint32_t i = 0; i < each; ++i) raise(block, self.kind, i);
             }
           });
    } else if (mode == 1) {  // the vector cores of this AI core
      meet(within_block, self.sub_blocks, self.sub_block, [&] {
        for (uint32_t i = 0; i < self.sub_blocks; ++i) raise(self.block, CoreKind::kVector, i);
      });
    } else if (self.kind == CoreKind::kCube) {  // from the cube core to its vector cores
      for (uint32_t i = 0; i < self.sub_blocks; ++i) raise(self.block, CoreKind::kVector, i);
    } else {  // from all vector cores to their cube core
      meet(to_cube, self.sub_blocks, self.sub_block, [&] { raise(self.block, CoreKind::kCube, 0); });
    }
  });
}

void wait_cross_core(uint16_t flag) {
  Launch& launch = current_launch();
  const Core& self = core();
  const auto mine = number_of(self.block, self.kind, self.sub_block);
  const auto flags = key_of(Counter::kFlag, mine, flag);
  const auto waits = key_of(Counter::kWaited, mine, flag);
  uint64_t wanted = 0;
  launch.change([&] { wanted = ++launch.counters[waits]; });
  launch.wait_until("CrossCoreWaitFlag", [&] { return launch.counters[flags] >= wanted; });
  launch.change([&] { acquire(launch, key_of(Counter::kFlag, 0, flag)); });
  settle_pipes();
}

void raise_counter(const void* key, uint64_t number) {
  Launch& launch = current_launch();
  const std::pair<uint64_t, uint64_t> name{reinterpret_cast<uint64_t>(key), number};
  settle_pipes();
  launch.change([&] {
    release(launch, name);
    ++launch.counters[name];
  });
}

// Each wait takes one raise.
void await_counter(const void* key, uint64_t number, const char* api) {
  Launch& launch = current_launch();
  const std::pair<uint64_t, uint64_t> name{reinterpret_cast<uint64_t>(key), number};
  launch.wait_until(api, [&] { return launch.counters[name] > 0; });
  launch.change([&] {
    uint64_t& count = launch.counters[name];
    if (count > 0) --count;
    acquire(launch, name);
  });
  settle_pipes();
}

void* shared_memory(uint64_t key, size_t bytes) {
  Launch& launch = current_launch();
  void* result = nullptr;
  launch.change([&] {
    auto& memory = launch.shared[key];
    if (memory == nullptr) memory = std::make_unique<uint64_t[]>((bytes + 7) / 8);
    result = memory.get();
  });
  return result;
}

}  // namespace AscendC::machine

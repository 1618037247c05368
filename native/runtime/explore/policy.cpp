#include "runtime/explore/policy.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <tuple>

#include "runtime/error.h"

namespace opwright::explore {
namespace {

constexpr int32_t kHost = INT32_MAX;

// SplitMix64 (Steele, Lea and Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  size_t below(size_t limit) noexcept { return static_cast<size_t>(next() % limit); }

 private:
  uint64_t state_;
};

// A function of the seed and the stream, whichever stream is seen first.
uint64_t draw_for(uint64_t seed, int32_t stream) {
  return Random(seed * 0x100000001b3u + static_cast<uint32_t>(stream)).next();
}

template <class Better>
size_t best(const std::vector<Candidate>& candidates, const Better& better) {
  const auto found = std::min_element(candidates.begin(), candidates.end(), better);
  return static_cast<size_t>(found - candidates.begin());
}

// Nothing runs before the host waits; then the tasks that it waits for, or all of them.
class Late final : public Policy {
 public:
  enum class First { kOldStream, kNewStream };
  Late(First first, bool only_needed) : first_(first), only_needed_(only_needed) {}

  std::optional<size_t> choose(const std::vector<Candidate>& candidates, bool host_may_go_on, const History&) override {
    if (host_may_go_on) return std::nullopt;
    return best(candidates, [this](const Candidate& left, const Candidate& right) { return is_before(left, right); });
  }

 private:
  bool is_before(const Candidate& left, const Candidate& right) const {
    if (only_needed_ && left.needed != right.needed) return left.needed;
    return first_ == First::kOldStream ? left.step.stream < right.step.stream : left.step.stream > right.step.stream;
  }

  const First first_;
  const bool only_needed_;
};

// Streams and the host have random priorities, which fall at random moments (Burckhardt and others: A randomized
// scheduler with probabilistic guarantees of finding bugs, ASPLOS 2010). There the moments are drawn from the length of
// the run, which is not known here: the chance that a priority falls is the same at each step, and another one for each
// seed.
class RandomPriorities final : public Policy {
 public:
  explicit RandomPriorities(uint64_t seed) : seed_(seed), random_(seed) {
    static constexpr std::array<size_t, 4> kStepsBetweenFalls = {0, 16, 64, 8};  // 0: they never fall
    steps_between_falls_ = kStepsBetweenFalls[seed / 2 % kStepsBetweenFalls.size()];
  }

  std::optional<size_t> choose(const std::vector<Candidate>& candidates, bool host_may_go_on, const History&) override {
    const size_t chosen = best(candidates, [this](const Candidate& left, const Candidate& right) {
      return priority_of(left.step.stream) > priority_of(right.step.stream);
    });
    const int32_t stream = candidates[chosen].step.stream;
    const bool host = host_may_go_on && priority_of(kHost) > priority_of(stream);
    if (steps_between_falls_ != 0 && random_.below(steps_between_falls_) == 0) {
      priorities_[host ? kHost : stream] = --lowest_;
    }
    return host ? std::nullopt : std::optional<size_t>(chosen);
  }

 private:
  int64_t priority_of(int32_t stream) {
    const auto known = priorities_.find(stream);
    if (known != priorities_.end()) return known->second;
    return priorities_[stream] = static_cast<int64_t>(draw_for(seed_, stream) >> 1);
  }

  const uint64_t seed_;
  Random random_;
  size_t steps_between_falls_;
  std::map<int32_t, int64_t> priorities_;
  int64_t lowest_ = 0;
};

// Streams go on at random speeds, of which the fastest is 64 times the slowest, and take turns at random. So one is at
// any place while another is at any other. Nothing runs before the host waits, unless the host has a speed too.
class RandomSpeeds final : public Policy {
 public:
  RandomSpeeds(uint64_t seed, bool host_is_fast) : seed_(seed), random_(seed), host_is_fast_(host_is_fast) {}

  std::optional<size_t> choose(const std::vector<Candidate>& candidates, bool host_may_go_on, const History&) override {
    if (host_may_go_on && host_is_fast_) return std::nullopt;
    uint64_t sum = host_may_go_on ? speed_of(kHost) : 0;
    for (const Candidate& each : candidates) sum += speed_of(each.step.stream);
    uint64_t drawn = random_.next() % sum;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const uint64_t speed = speed_of(candidates[i].step.stream);
      if (drawn < speed) return i;
      drawn -= speed;
    }
    return std::nullopt;
  }

 private:
  // From 16 to 1024; each doubling is as likely as the others.
  uint64_t speed_of(int32_t stream) const {
    const uint64_t drawn = draw_for(seed_, stream);
    const uint64_t power = drawn % 6;
    return (uint64_t{16} << power) + (drawn >> 8) % (uint64_t{16} << power);
  }

  const uint64_t seed_;
  Random random_;
  const bool host_is_fast_;
};

struct Hold {
  enum class Until { kRun, kLaunch, kWait } until;
  Step step;      // of kRun and kLaunch
  uint64_t wait;  // of kWait

  bool is_over(const History& history) const {
    switch (until) {
      case Until::kRun:
        return history.has_run(step);
      case Until::kLaunch:
        return history.is_launched(step.stream, step.task);
      case Until::kWait:
        break;
    }
    return history.waits() >= wait;
  }
};

class Held final : public Policy {
 public:
  explicit Held(const std::string& holds) {
    std::istringstream lines(holds);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty() && line[0] != '#') add(line);
    }
  }

  std::optional<size_t> choose(const std::vector<Candidate>& candidates, bool host_may_go_on,
                               const History& history) override {
    const size_t chosen = best(candidates, [&](const Candidate& left, const Candidate& right) {
      return std::make_pair(is_held(left, history), left.launched) <
             std::make_pair(is_held(right, history), right.launched);
    });
    if (host_may_go_on && is_held(candidates[chosen], history)) return std::nullopt;
    return chosen;
  }

 private:
  using Key = std::tuple<int32_t, uint64_t, uint64_t>;

  void add(const std::string& line) {
    std::istringstream words(line);
    std::string hold, until, event;
    Key key;
    Hold made{};
    words >> hold >> std::get<0>(key) >> std::get<1>(key) >> std::get<2>(key) >> until >> event;
    if (event == "run") {
      made.until = Hold::Until::kRun;
      words >> made.step.stream >> made.step.task >> made.step.part;
    } else if (event == "launch") {
      made.until = Hold::Until::kLaunch;
      words >> made.step.stream >> made.step.task;
    } else {
      made.until = Hold::Until::kWait;
      words >> made.wait;
    }
    const bool known = event == "run" || event == "launch" || event == "wait";
    require(!words.fail() && hold == "hold" && until == "until" && known, ACL_ERROR_INVALID_PARAM, "line '", line,
            "' of the order cannot be read; allowed: hold STREAM TASK PART until run STREAM TASK PART, … until launch "
            "STREAM TASK, … until wait NUMBER, and comments that begin with #");
    holds_[key] = made;
  }

  bool is_held(const Candidate& candidate, const History& history) const {
    const auto hold = holds_.find({candidate.step.stream, candidate.step.task, candidate.step.part});
    return hold != holds_.end() && !hold->second.is_over(history);
  }

  std::map<Key, Hold> holds_;
};

}  // namespace

std::unique_ptr<Policy> policy_of(uint64_t seed) {
  switch (seed) {
    case 0:
      return std::make_unique<Late>(Late::First::kOldStream, /*only_needed=*/true);
    case 1:
      return std::make_unique<Late>(Late::First::kNewStream, /*only_needed=*/false);
    case 2:
      return std::make_unique<Late>(Late::First::kOldStream, /*only_needed=*/false);
    case 3:
      return std::make_unique<Late>(Late::First::kNewStream, /*only_needed=*/true);
    default:
      if (seed % 2 == 1) return std::make_unique<RandomPriorities>(seed);
      return std::make_unique<RandomSpeeds>(seed, /*host_is_fast=*/seed % 8 != 0);
  }
}

std::unique_ptr<Policy> policy_with_holds(const std::string& holds) { return std::make_unique<Held>(holds); }

}  // namespace opwright::explore

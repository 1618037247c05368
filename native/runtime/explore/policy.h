// native/runtime/explore/policy.h
// Which task runs next. Pure: the same questions get the same answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace opwright::explore {

// A task, or a part of one: a task of a captured graph runs in parts.
struct Step {
  int32_t stream;
  uint64_t task;  // of the stream, from 1
  uint64_t part;  // from 0
  bool operator==(const Step& other) const noexcept {
    return stream == other.stream && task == other.task && part == other.part;
  }
};

// A step that could run now.
struct Candidate {
  Step step;
  uint64_t launched;  // its place in the order of all launches
  bool needed;        // somebody waits for its stream
};

// The past, as far as a policy asks.
class History {
 public:
  History() = default;
  virtual ~History() = default;
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  virtual bool has_run(const Step& step) const = 0;
  virtual bool is_launched(int32_t stream, uint64_t task) const = 0;
  virtual uint64_t waits() const = 0;  // of the host, that have begun
};

class Policy {
 public:
  Policy() = default;
  virtual ~Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  // The index of the candidate that runs, or nullopt for the host, if that may go on. There is at least one candidate;
  // they are sorted by stream.
  virtual std::optional<size_t> choose(const std::vector<Candidate>& candidates, bool host_may_go_on,
                                       const History& history) = 0;
};

// Seeds 0 to 3 are the orders that differ most from each other; each other seed is a random order.
std::unique_ptr<Policy> policy_of(uint64_t seed);

// In the order of the launches, each as soon as it is launched, but for the steps that are held back. Each line of
// `holds` is one: "hold STREAM TASK PART until run STREAM TASK PART", "… until launch STREAM TASK" or "… until wait
// NUMBER". A hold ends when nothing else can run and somebody waits. Throws 100000 for another line.
std::unique_ptr<Policy> policy_with_holds(const std::string& holds);

}  // namespace opwright::explore

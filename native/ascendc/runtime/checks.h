// native/ascendc/runtime/checks.h
// The checks of one launch while a kernel runs with OPWRIGHT_KERNEL_CHECKS. Each core has a CoreChecks; here is
// what they share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ascendc/runtime/checks/global_shadow.h"
#include "ascendc/runtime/report.h"

namespace AscendC::machine {

class CoreChecks;

// OPWRIGHT_KERNEL_CHECKS, unless `set_checks` has said otherwise.
bool checks_enabled();
void set_checks(bool enabled);

class Checks {
 public:
  explicit Checks(uint32_t cores);
  ~Checks();

  // The checks of one core, made when it starts. They live as long as this: findings of others name their places.
  CoreChecks& start(uint32_t core);

  // Keeps a finding of the calling thread's core, once per place.
  void add(const Finding& finding);
  // All of them as one text; empty if there are none.
  std::string findings() const;

  GlobalShadow& global() { return global_; }

  // ---- order between cores: called with the launch's mutex held

  // The core publishes its clock at a meeting, flag or counter.
  void release(uint32_t core, std::pair<uint64_t, uint64_t> key);
  // The core learns what others have published.
  void acquire(uint32_t core, std::pair<uint64_t, uint64_t> key);

 private:
  static constexpr size_t kMost = 16;  // findings that are reported

  std::vector<std::unique_ptr<CoreChecks>> cores_;
  std::map<std::pair<uint64_t, uint64_t>, CoreClock> published_;
  GlobalShadow global_;

  mutable std::mutex mutex_;  // of the members below
  std::map<std::string, bool> known_;
  std::vector<std::string> texts_;
  size_t more_ = 0;
};

}  // namespace AscendC::machine

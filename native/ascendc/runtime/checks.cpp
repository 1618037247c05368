// native/ascendc/runtime/checks.cpp
#include "ascendc/runtime/checks.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "ascendc/runtime/checks/core_checks.h"
#include "runtime/error.h"

namespace AscendC::machine {
namespace {

std::atomic<int> chosen{-1};

bool environment_asks() {
  // Read by the first launch: kernels are the only ones that look at it.
  const char* const value = std::getenv("OPWRIGHT_KERNEL_CHECKS");
  if (value == nullptr || *value == '\0' || std::string(value) == "0") return false;
  opwright::require(std::string(value) == "1", ACL_ERROR_INVALID_PARAM, "OPWRIGHT_KERNEL_CHECKS='", value,
                    "'; allowed are 0 and 1");
  return true;
}

}  // namespace

bool checks_enabled() {
  int present = chosen.load();
  if (present < 0) chosen.store(present = environment_asks() ? 1 : 0);
  return present == 1;
}

void set_checks(bool enabled) { chosen.store(enabled ? 1 : 0); }

Checks::Checks(uint32_t cores) : cores_(cores) {}
Checks::~Checks() = default;

CoreChecks& Checks::start(uint32_t core) {
  cores_[core] = std::make_unique<CoreChecks>(*this, core);
  return *cores_[core];
}

void Checks::add(const Finding& finding) {
  // A loop over tiles makes the same mistake many times.
  std::string key = opwright::text(finding.id, finding.title, place_of(finding.site), finding.call);
  if (!(finding.other_site == Site())) {  // of a pair, either one may come first
    const std::string here = place_of(finding.site);
    const std::string there = place_of(finding.other_site);
    const auto [first, second] = std::minmax(here, there);
    key = opwright::text(finding.id, first, second);
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (known_[key]) return;
    known_[key] = true;
    if (texts_.size() >= kMost) {
      ++more_;
      return;
    }
  }
  const std::string text = describe(finding);
  const std::lock_guard<std::mutex> lock(mutex_);
  texts_.push_back(text);
}

std::string Checks::findings() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string result;
  for (const std::string& text : texts_) result += (result.empty() ? "" : "\n") + text;
  if (more_ > 0) result += opwright::text("\n… and ", more_, " more");
  return result;
}

void Checks::release(uint32_t core, std::pair<uint64_t, uint64_t> key) {
  CoreClock& clock = cores_[core]->clock();
  join(published_[key], clock);
  // The instructions that follow are new to those who learn of this. Epochs begin at 1, so that 0 is known to nobody.
  ++clock[core];
}

void Checks::acquire(uint32_t core, std::pair<uint64_t, uint64_t> key) { join(cores_[core]->clock(), published_[key]); }

}  // namespace AscendC::machine

// native/runtime/explore/log.h
// The events of a run, one JSON object a line, in the file that OPWRIGHT_EXPLORE_LOG names: launches, steps, races,
// waits of the host, and copies with a digest of their bytes. `opwright run --order=explore` compares them between
// runs.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/explore/policy.h"

namespace opwright::explore {

class Log {
 public:
  Log();
  bool open() const noexcept { return file_ >= 0; }
  void write_launch(const Step& step, const std::string& name, const std::string& place) const;
  void write_run(const Step& step) const;
  void write_wait(const std::string& what, const std::string& place) const;
  // Nothing orders the two, which use the same memory.
  void write_race(const Step& earlier, const Step& later) const;
  void write_copy(const std::string& key, const char* direction, size_t bytes, uint64_t digest,
                  const std::string& place) const;

 private:
  void write_line(const std::string& members) const;

  int file_;
};

// The only one. Opened by whoever asks first.
const Log& event_log();

}  // namespace opwright::explore

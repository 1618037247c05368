#include "runtime/explore/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/settings.h"
#include "runtime/trace.h"

namespace opwright::explore {
namespace {

std::string json_of(const Step& step) { return text("[", step.stream, ",", step.task, ",", step.part, "]"); }

}  // namespace

Log::Log() : file_(-1) {
  const std::string path = explore_log_setting();
  if (path.empty()) return;
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  require(file_ >= 0, ACL_ERROR_INVALID_PARAM, "environment variable OPWRIGHT_EXPLORE_LOG: cannot write ", path, ": ",
          std::strerror(errno));
}

void Log::write_launch(const Step& step, const std::string& name, const std::string& place) const {
  std::string members;
  trace::append_member(members, "launch", json_of(step));
  trace::append_member(members, "name", trace::quote(name));
  trace::append_member(members, "place", trace::quote(place));
  write_line(members);
}

void Log::write_run(const Step& step) const {
  std::string members;
  trace::append_member(members, "run", json_of(step));
  write_line(members);
}

void Log::write_wait(const std::string& what, const std::string& place) const {
  std::string members;
  trace::append_member(members, "wait", trace::quote(what));
  trace::append_member(members, "place", trace::quote(place));
  write_line(members);
}

void Log::write_race(const Step& earlier, const Step& later) const {
  std::string members;
  trace::append_member(members, "race", json_of(earlier));
  trace::append_member(members, "with", json_of(later));
  write_line(members);
}

void Log::write_copy(const std::string& key, const char* direction, size_t bytes, uint64_t digest,
                     const std::string& place) const {
  std::string members;
  trace::append_member(members, "copy", trace::quote(key));
  trace::append_member(members, "direction", trace::quote(direction));
  trace::append_member(members, "bytes", std::to_string(bytes));
  trace::append_member(members, "digest", trace::quote(std::to_string(digest)));
  trace::append_member(members, "place", trace::quote(place));
  write_line(members);
}

// In one call, so that lines of several threads do not mix, and nothing is lost when the process ends suddenly.
void Log::write_line(const std::string& members) const {
  if (!open()) return;
  const std::string line = "{" + members + "}\n";
  (void)!write(file_, line.data(), line.size());
}

const Log& event_log() {
  static const Log* const instance = new Log();
  return *instance;
}

}  // namespace opwright::explore

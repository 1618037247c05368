// native/runtime/profiling/session.cpp
// Each start makes a folder PROF_<number>_<time>_<random> as CANN does: in it host/start_info, which ties the clocks
// together, host/data with the recording, and device_<id> for each device that is profiled.
#include "runtime/profiling/session.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>

#include "runtime/call.h"
#include "runtime/profiling/recorder.h"
#include "runtime/trace_switch.h"

namespace opwright::profiling {
namespace {

constexpr int kAlreadyRuns = 100042;  // ACL_ERROR_PROF_ALREADY_RUN
constexpr int kDoesNotRun = 100043;   // ACL_ERROR_PROF_NOT_RUN
constexpr int64_t kNanoseconds = 1'000'000'000;

struct State {
  std::mutex mutex;
  bool open = false;
  std::string results;  // of the session
  std::string folder;   // of the present recording; empty while there is none
  std::ofstream recording;
  int recordings = 0;
};

State& state() {
  static State* const instance = new State();  // calls may be noted until the process ends
  return *instance;
}

// A child of a profiled process records nothing: the mutex may have been held at the fork, and the files are its
// parent's.
const bool forks_are_silent = [] {
  pthread_atfork(nullptr, nullptr, [] { stop_recording(); });
  return true;
}();

int64_t clock_now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<int64_t>(time.tv_sec) * kNanoseconds + time.tv_nsec;
}

void make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0750) == 0 || errno == EEXIST) return;
  fail(ACL_ERROR_INVALID_FILE, "the folder '", path, "' cannot be made: ", std::strerror(errno));
}

void finish(std::ofstream& file, const std::string& path) {
  file.close();
  const bool failed = std::exchange(file, std::ofstream()).fail();
  require(!failed, ACL_ERROR_INVALID_FILE, "'", path, "' cannot be written: ", std::strerror(errno));
  chmod(path.c_str(), 0640);
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  finish(file, path);
}

std::string recording_of(const std::string& folder) { return folder + "/host/data/opwright.jsonl"; }

std::string folder_name(int number) {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  char stamp[32];
  strftime(stamp, sizeof stamp, "%Y%m%d%H%M%S", &parts);
  char counted[16];
  std::snprintf(counted, sizeof counted, "%06d", number);
  std::string random;
  std::random_device entropy;
  for (int i = 0; i < 16; ++i) random += static_cast<char>('A' + entropy() % 26);
  return text("PROF_", counted, "_", stamp, "000_", random);
}

// The time on the clocks of the recording (steady), of torch_npu's records (raw) and of the day.
std::string clocks(const char* kind) {
  return text("{\"kind\":\"", kind, "\",\"steady\":", clock_now(CLOCK_MONOTONIC),
              ",\"raw\":", clock_now(CLOCK_MONOTONIC_RAW), ",\"wall\":", clock_now(CLOCK_REALTIME),
              ",\"pid\":", getpid(), "}");
}

void write_start_info(const std::string& path) {
  const int64_t wall = clock_now(CLOCK_REALTIME);
  const int64_t raw = clock_now(CLOCK_MONOTONIC_RAW);
  write_file(path, text("{\"collectionTimeBegin\": \"", wall / 1000, "\", \"clockMonotonicRaw\": \"", raw, "\"}\n"));
}

}  // namespace

void open_session(const std::string& folder) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  require(!all.open, ACL_ERROR_REPEAT_INITIALIZE, "profiling is initialised already; call aclprofFinalize first");
  struct stat found{};
  require(stat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && access(folder.c_str(), W_OK) == 0,
          ACL_ERROR_INVALID_FILE, "parameter 'profilerResultPath' is '", folder,
          "', which is not a folder to write to");
  all.open = true;
  all.results = folder;
}

void start(const aclprofConfig& config) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  require(all.open, ACL_ERROR_UNINITIALIZE, "aclprofInit was not called");
  require(all.folder.empty(), kAlreadyRuns, "profiling runs already; call aclprofStop first");
  const std::string folder = all.results + "/" + folder_name(++all.recordings);
  make_folder(folder);
  make_folder(folder + "/host");
  make_folder(folder + "/host/data");
  for (const uint32_t device : config.devices) make_folder(text(folder, "/device_", device));
  write_start_info(folder + "/host/start_info");
  std::ofstream recording(recording_of(folder), std::ios::binary);
  require(recording.is_open(), ACL_ERROR_INVALID_FILE, "'", recording_of(folder),
          "' cannot be written: ", std::strerror(errno));
  recording << clocks("start") << '\n';
  all.recording = std::move(recording);
  all.folder = folder;
  start_recording();
  trace::listen(true);
}

void stop() {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  require(!all.folder.empty(), kDoesNotRun, "profiling does not run; call aclprofStart first");
  stop_recording();
  trace::listen(false);
  const std::string path = recording_of(std::exchange(all.folder, std::string()));
  all.recording << clocks("stop") << '\n';
  finish(all.recording, path);
}

// The session ends even if its last recording cannot be written: the next one may go elsewhere.
void close_session() {
  State& all = state();
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    require(all.open, ACL_ERROR_UNINITIALIZE, "aclprofInit was not called");
    all.open = false;
    if (all.folder.empty()) return;
  }
  stop();
}

void require_session() {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  require(all.open, ACL_ERROR_UNINITIALIZE, "aclprofInit was not called");
}

void append(const std::string& line) {
  State& all = state();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (!all.folder.empty()) all.recording << line << '\n';
}

}  // namespace opwright::profiling

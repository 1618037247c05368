// log/log.cpp: lines to the console and to a file of the process.
#include "log/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iostream>
#include <mutex>

#include "log/log_settings.h"

namespace torch_aie {

namespace {

constexpr mode_t kOwnFolder = 0700;
constexpr mode_t kOwnFile = 0600;

const LogSettings& settings() {
  static const LogSettings read = log_settings();
  return read;
}

std::string now(const char* format) {
  const std::time_t seconds = std::time(nullptr);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), format, &local);
  return text.data();
}

/// Makes the folders of a path that are missing.
bool make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), kOwnFolder) != 0 && errno != EEXIST) return false;
    if (end == std::string::npos) return true;
  }
}

/// The file of this process; a process that fork made has its own.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close_file(); }

  void write_line(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (process_ != getpid()) open_file();
    if (descriptor_ < 0) return;
    if (write(descriptor_, line.data(), line.size()) < 0) report_failure("cannot write");
  }

 private:
  void open_file() {
    close_file();
    process_ = getpid();
    const std::string& folder = settings().folder;
    if (folder.empty()) return;
    path_ = folder + "/plog_" + std::to_string(process_) + "_" + now("%Y%m%d%H%M%S") + ".log";
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    if (make_folders(folder)) descriptor_ = open(path_.c_str(), flags, kOwnFile);
    if (descriptor_ < 0) report_failure("cannot make");
  }

  void close_file() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }

  /// A program goes on without its log.
  void report_failure(const char* what) {
    std::cerr << std::string("[torch_aie] ") + what + " the log file " + path_ + ": " + std::strerror(errno) +
                     "; MINDIE_LOG_PATH chooses another folder, MINDIE_LOG_TO_FILE=0 none\n";
    close_file();
  }

  std::mutex mutex_;
  pid_t process_ = 0;
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace

bool enabled(Level level) { return level >= settings().level; }

void write_log(Level level, const std::string& text) {
  static File file;
  const std::string line = std::string("[torch_aie] ") + name_of(level) + ": " + text + "\n";
  const std::optional<bool> to_stdout = settings().to_stdout;
  if (!to_stdout.has_value()) {
    std::cerr << line;
  } else if (*to_stdout) {
    std::cout << line << std::flush;
  }
  file.write_line(now("%F %T ") + std::to_string(getpid()) + " " + line);
}

}  // namespace torch_aie

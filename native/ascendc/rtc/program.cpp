// native/ascendc/rtc/program.cpp
// The compiler is that of the toolkit beside this library, opwright/ascendc/runtime_compilation.py, in a process of its
// own: it gets the program in a folder and leaves the binary there.
#include "ascendc/rtc/program.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/device_binary/binary.h"
#include "runtime/error.h"

namespace opwright::rtc {
namespace {

using std::filesystem::path;

// Removed with all that is in it.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "opwright-rtc-XXXXXX").string();
    require(mkdtemp(pattern.data()) != nullptr, ACL_ERROR_RTC_FAILURE, "cannot make the folder ", pattern, ": ",
            std::strerror(errno));
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;  // the system cleans up temporary files that are left
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  path operator/(const std::string& name) const { return path_ / name; }
  std::string text() const { return path_.string(); }

 private:
  path path_;
};

void write(const path& file, const std::string& content) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << content;
  require(out.flush().good(), ACL_ERROR_RTC_FAILURE, "cannot write ", file.string());
}

std::string read(const path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Each text with a zero at its end.
std::string joined(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += text + '\0';
  return result;
}

// bin/bisheng of the toolkit that this library is in.
std::string compiler() {
  Dl_info info = {};
  const bool found = dladdr(reinterpret_cast<const void*>(&compiler), &info) != 0 && info.dli_fname != nullptr;
  require(found, ACL_ERROR_RTC_FAILURE, "libacl_rtc does not find its own file");
  const path library = std::filesystem::canonical(info.dli_fname);
  return (library.parent_path().parent_path() / "bin" / "bisheng").string();
}

// Runs the compiler; its messages go to a file. Returns its exit code.
int run_compiler(const Folder& folder, const path& log) {
  std::string words[] = {compiler(), "--opwright-runtime-compilation", folder.text()};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int failed = posix_spawn(&child, arguments[0], &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  require(failed == 0, ACL_ERROR_RTC_FAILURE, "cannot run ", words[0], ": ", std::strerror(failed));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    require(errno == EINTR, ACL_ERROR_RTC_FAILURE, "the compiler's end is not known: ", std::strerror(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The Outcome of opwright/ascendc/runtime_compilation.py as CANN has it.
int code_of(int outcome) {
  switch (outcome) {
    case 2:
      return ACL_ERROR_RTC_COMPILATION;
    case 3:
      return ACL_ERROR_RTC_LINKING;
    case 4:
      return ACL_ERROR_RTC_INVALID_OPTION;
    case 5:
      return ACL_ERROR_RTC_NAME_EXPR_NOT_VALID;
    default:
      return ACL_ERROR_RTC_FAILURE;
  }
}

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

Program::Program(std::string source, std::string name, std::map<std::string, std::string> headers)
    : source_(std::move(source)),
      name_(name.empty() ? "default_program" : std::move(name)),
      headers_(std::move(headers)) {
  for (const auto& header : headers_) {
    const path file = path(header.first).lexically_normal();
    require(!header.first.empty() && file.is_relative() && *file.begin() != "..", ACL_ERROR_RTC_INVALID_INPUT,
            "the name of a header, '", header.first, "', leads out of the program");
  }
}

void Program::add_expression(const std::string& expression) {
  require(binary_.empty(), ACL_ERROR_RTC_NO_NAME_EXPR_AFTER_COMPILATION, "name expression '", expression,
          "' comes behind the compilation");
  if (std::find(expressions_.begin(), expressions_.end(), expression) == expressions_.end()) {
    expressions_.push_back(expression);
  }
}

void Program::compile(const std::vector<std::string>& options) {
  const bool for_ai_cpu =
      ends_with(name_, ".aicpu") || std::find(options.begin(), options.end(), "-xaicpu") != options.end();
  if (for_ai_cpu || ends_with(name_, ".cce")) {
    log_ = "error: " + name_ + (for_ai_cpu ? ": AI CPU kernels" : ": sources in CCE") + " are not supported\n";
    fail(ACL_ERROR_RTC_COMPILATION, first_line_of(log_));
  }
  const Folder folder;
  write(folder / "source", source_);
  write(folder / "name", name_);
  write(folder / "options", joined(options));
  write(folder / "expressions", joined(expressions_));
  std::filesystem::create_directory(folder / "include");
  for (const auto& header : headers_) write((folder / "include") / header.first, header.second);
  const int outcome = run_compiler(folder, folder / "log");
  log_ = read(folder / "log");
  require(outcome == 0, code_of(outcome), first_line_of(log_));
  binary_ = read(folder / "binary");
  const std::vector<std::string> symbols = kernel_symbols(binary_.data(), binary_.size());
  for (size_t i = 0; i < expressions_.size(); ++i) symbols_[expressions_[i]] = symbols.at(i);
}

const std::string& Program::binary() const {
  require(!binary_.empty(), ACL_ERROR_RTC_INVALID_PROG, "program ", name_, " is not compiled");
  return binary_;
}

const char* Program::lowered_name(const std::string& expression) const {
  require(!binary_.empty(), ACL_ERROR_RTC_NO_LOWERED_NAMES_BEFORE_COMPILATION, "program ", name_,
          " is not compiled, and '", expression, "' has no symbol yet");
  const auto found = symbols_.find(expression);
  require(found != symbols_.end(), ACL_ERROR_RTC_NAME_EXPR_NOT_VALID, "'", expression,
          "' was not given to aclrtcAddNameExpr");
  return found->second.c_str();
}

}  // namespace opwright::rtc

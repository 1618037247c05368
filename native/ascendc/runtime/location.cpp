// native/ascendc/runtime/location.cpp
#include "ascendc/runtime/location.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

extern char** environ;

namespace AscendC::machine {
namespace {

thread_local const void* outermost_frame = nullptr;

struct Module {
  std::string file;
  uintptr_t offset;
};

Module module_of(uintptr_t code) {
  Dl_info info = {};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(code), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      info.dli_fname == nullptr || map == nullptr) {
    return {"", code};
  }
  return {info.dli_fname, code - map->l_addr};
}

// The standard output of a program; empty if it cannot be run.
std::string output_of(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";  // nobody else may keep it open
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  if (failed == 0) {
    char buffer[4096];
    ssize_t count;
    while ((count = read(ends[0], buffer, sizeof buffer)) > 0 || (count < 0 && errno == EINTR)) {
      if (count > 0) text.append(buffer, static_cast<size_t>(count));
    }
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  return text;
}

struct Line {
  std::string function;  // mangled
  std::string place;     // file:line
};

// The lines of a call and of what is inlined around it, innermost first.
std::vector<Line> lines_of(const Module& module) {
  std::ostringstream offset;
  offset << std::hex << "0x" << module.offset;
  std::istringstream output(output_of({"addr2line", "-i", "-f", "-e", module.file, offset.str()}));
  std::vector<Line> lines;
  for (Line line; std::getline(output, line.function) && std::getline(output, line.place);) {
    const size_t note = line.place.find(" (discriminator");
    if (note != std::string::npos) line.place.resize(note);
    const bool known = line.place.compare(0, 2, "??") != 0 && line.place.back() != '?' && line.place.back() != ':';
    if (known) lines.push_back(line);
  }
  return lines;
}

// Work in the API's own functions has the place of its caller.
bool is_ours(const Line& line) {
  return line.place.find("/ascendc/kernel/") != std::string::npos || line.function.compare(0, 11, "_ZN7AscendC") == 0 ||
         line.function.compare(0, 12, "_ZNK7AscendC") == 0;
}

// Code that faults there was given a bad address by its caller.
bool is_library(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  for (const char* const library : {"libascendc_runtime", "libc.so", "libm.so", "libstdc++.so"}) {
    if (name.compare(0, std::strlen(library), library) == 0) return true;
  }
  return false;
}

std::string compute_place(const Site& site) {
  std::string fallback;
  for (const uintptr_t call : site.calls) {
    if (call == 0) break;
    const Module module = module_of(call - 1);  // a return address is behind the call
    if (is_library(module.file)) continue;
    for (const Line& line : lines_of(module)) {
      if (!is_ours(line)) return line.place;
      if (fallback.empty()) fallback = line.place;
    }
    if (fallback.empty()) {
      std::ostringstream text;
      text << module.file.substr(module.file.rfind('/') + 1) << "+0x" << std::hex << module.offset;
      fallback = text.str();
    }
  }
  return fallback.empty() ? "an unknown place" : fallback;
}

}  // namespace

Site walk(const void* frame, const void* outermost) {
  Site site;
  const auto* cursor = static_cast<const uintptr_t*>(frame);
  for (uintptr_t& call : site.calls) {
    if (cursor == nullptr || cursor >= outermost) break;
    call = cursor[1];
    const auto* const next = reinterpret_cast<const uintptr_t*>(cursor[0]);
    if (next <= cursor) break;  // frames lie ever higher
    cursor = next;
  }
  return site;
}

Site here(const void* frame) { return walk(frame, outermost_frame); }

bool on_stack(const void* address) { return address > __builtin_frame_address(0) && address < outermost_frame; }

const void* exchange_outermost_frame(const void* frame) { return std::exchange(outermost_frame, frame); }

std::string place_of(const Site& site) {
  static std::mutex mutex;
  static std::map<Site, std::string>* const known = new std::map<Site, std::string>();
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known->find(site);
  if (found != known->end()) return found->second;
  return (*known)[site] = compute_place(site);
}

}  // namespace AscendC::machine

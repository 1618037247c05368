// native/runtime/memory/machine_memory.cpp
#include "runtime/memory/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace opwright {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// The number behind `name` in a file of lines "name number"; with an empty name the file's only number. Nothing if the
// file or the number is not there, or if it says "max".
std::optional<uint64_t> number_in(const std::string& path, const std::string& name = "") {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (name.empty()) return word == "max" ? std::nullopt : std::optional(std::strtoull(word.c_str(), nullptr, 10));
    if (word != name) continue;
    uint64_t value = 0;
    if (file >> value) return value;
  }
  return std::nullopt;
}

// A control group with a limit on memory, and the names that its version gives the files.
struct Group {
  std::string folder;
  const char* limit;
  const char* usage;
  const char* prefix;  // of the names in memory.stat that count the groups inside as well

  std::optional<uint64_t> allowed() const { return number_in(folder + limit); }
  uint64_t left() const {
    const auto most = allowed();
    if (!most) return kUnlimited;
    const uint64_t used = number_in(folder + usage).value_or(0);
    uint64_t cached = 0;  // contents of files, which the system gives up first
    for (const char* kind : {"inactive_file", "active_file"}) {
      cached += number_in(folder + "/memory.stat", std::string(prefix) + kind).value_or(0);
    }
    const uint64_t held = used - std::min(used, cached);
    return *most - std::min(*most, held);
  }
};

constexpr char kRoot[] = "/sys/fs/cgroup";

// The group of the process and those around it. In a container the paths of /proc can be the host's, which are not
// there; the container's own group is then the root.
void add_groups(const std::string& root, std::string path, const Group& names, std::vector<Group>& groups) {
  while (true) {
    Group group = names;
    group.folder = root + (path == "/" ? "" : path);
    if (number_in(group.folder + group.usage)) groups.push_back(group);
    const size_t parent = path.rfind('/');
    if (parent == std::string::npos || path == "/") return;
    path.resize(parent);
  }
}

std::vector<Group> find_groups() {
  std::vector<Group> groups;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:memory:/path", or "0::/path" for version 2
    const size_t controllers = line.find(':') + 1;
    const size_t path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0) continue;
    const std::string names = "," + line.substr(controllers, path - 1 - controllers) + ",";
    if (names == ",,") {
      add_groups(kRoot, line.substr(path), {"", "/memory.max", "/memory.current", ""}, groups);
    } else if (names.find(",memory,") != std::string::npos) {
      add_groups(std::string(kRoot) + "/memory", line.substr(path),
                 {"", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_"}, groups);
    }
  }
  return groups;
}

// A process seldom changes its group; one that does keeps the limits it started with.
const std::vector<Group>& groups() {
  static const auto* const found = new std::vector<Group>(find_groups());
  return *found;
}

}  // namespace

uint64_t machine_memory() {
  uint64_t most = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const Group& group : groups()) most = std::min(most, group.allowed().value_or(kUnlimited));
  return most;
}

uint64_t available_machine_memory() {
  constexpr uint64_t kKibibyte = 1024;
  const auto free = number_in("/proc/meminfo", "MemAvailable:");
  uint64_t left = free ? *free * kKibibyte : machine_memory();  // a system that does not say
  for (const Group& group : groups()) left = std::min(left, group.left());
  return left;
}

}  // namespace opwright

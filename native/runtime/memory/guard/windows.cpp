// native/runtime/memory/guard/windows.cpp
#include "runtime/memory/guard/windows.h"

#include <algorithm>
#include <cstring>

#include "aclnn/acl_meta.h"
#include "runtime/fault.h"
#include "runtime/memory/guard/arena.h"
#include "runtime/memory/guard/report.h"
#include "runtime/memory/memory.h"

namespace opwright::guard {

struct Windows::Window {
  uintptr_t address = 0;  // of the operands in memory
  std::string operands;   // names
  Room room;
  std::vector<unsigned char> before;

  size_t size() const noexcept { return before.size(); }
  unsigned char* memory() const {
    auto* const at = reinterpret_cast<void*>(address);
    return static_cast<unsigned char*>(memory::is_device_address(at) ? memory::alias_of(at) : at);
  }

  // Only what the kernel changed: another stream may work on the rest.
  void copy_back() const {
    constexpr size_t kBlock = 4096;
    unsigned char* const target = memory();
    for (size_t block = 0; block < size(); block += kBlock) {
      const size_t count = std::min(kBlock, size() - block);
      if (std::memcmp(room.begin + block, before.data() + block, count) == 0) continue;
      for (size_t i = block; i < block + count; ++i) {
        if (room.begin[i] != before[i]) target[i] = room.begin[i];
      }
    }
  }
};

namespace {

thread_local Windows* innermost = nullptr;

struct Group {
  uintptr_t begin;
  uintptr_t end;
  std::string names;
};

void add_name(std::string& names, const char* name) {
  const std::string framed = ", " + names + ", ";
  if (framed.find(text(", ", name, ", ")) != std::string::npos) return;
  names += (names.empty() ? "" : ", ") + std::string(name);
}

// Operands that overlap become one.
std::vector<Group> grouped(std::vector<MemoryRange> operands) {
  std::sort(operands.begin(), operands.end(),
            [](const MemoryRange& one, const MemoryRange& other) { return one.address < other.address; });
  std::vector<Group> result;
  for (const MemoryRange& each : operands) {
    const auto begin = reinterpret_cast<uintptr_t>(each.address);
    const uintptr_t end = begin + each.bytes;
    if (result.empty() || result.back().end <= begin) {
      result.push_back({begin, end, ""});
    }
    result.back().end = std::max(result.back().end, end);
    add_name(result.back().names, each.what);
  }
  return result;
}

Fault fault_of(const char* function, const std::string& operand, size_t size) {
  Fault fault;
  fault.function = function;
  fault.operand = operand;
  fault.operand_bytes = size;
  return fault;
}

// Bytes written beside an operand, in pages that it shares with the pattern.
std::vector<Fault> beside(const Room& room, Fault fault) {
  std::vector<Fault> result;
  const unsigned char* const end = room.begin + room.size;
  const unsigned char* const last = room.first_page + room.pages_size;
  for (const auto& [from, to] :
       {std::pair(const_cast<const unsigned char*>(room.first_page), const_cast<const unsigned char*>(room.begin)),
        std::pair(end, last)}) {
    const Changed changed = changed_in(from, static_cast<size_t>(to - from), room.mode);
    if (changed.count == 0) continue;
    fault.written = 1;
    fault.offset = changed.first - room.begin;
    fault.bytes = changed.count;
    result.push_back(fault);
  }
  return result;
}

}  // namespace

Windows::Windows(const char* function, const std::vector<MemoryRange>& operands)
    : function_(function), outer_(std::exchange(innermost, this)) {
  install_fault_handler();
  report_strays(nullptr);
  for (const Group& group : grouped(operands)) {
    Window window;
    window.address = group.begin;
    window.operands = group.names;
    const unsigned char* const memory = window.memory();
    window.room = open_room(group.end - group.begin, mode(), function, group.names.c_str());
    if (window.room.cell == nullptr) continue;  // too large: the kernel gets the memory itself
    window.before.assign(memory, memory + (group.end - group.begin));
    std::memcpy(window.room.begin, window.before.data(), window.size());
    // The rest of its pages.
    fill(window.room.first_page, static_cast<size_t>(window.room.begin - window.room.first_page), window.room.mode);
    unsigned char* const end = window.room.begin + window.size();
    fill(end, static_cast<size_t>(window.room.first_page + window.room.pages_size - end), window.room.mode);
    windows_.push_back(std::move(window));
  }
}

Windows::~Windows() {
  innermost = outer_;
  for (const Window& window : windows_) close_room(window.room);
}

std::string Windows::close() {
  std::string first;
  const auto note = [&](const Fault& fault) {
    report(fault);
    if (first.empty()) first = describe(fault);
  };
  for (const Window& window : windows_) {
    window.copy_back();
    std::vector<Fault> found = beside(window.room, fault_of(function_, window.operands, window.size()));
    const Closed closed = close_room(window.room);
    for (const Hit& hit : closed.hits) {
      Fault fault = fault_of(function_, window.operands, window.size());
      fault.written = hit.written;
      fault.offset = static_cast<int64_t>(hit.address - reinterpret_cast<uintptr_t>(window.room.begin));
      fault.bytes = hit.written == 0 ? 0 : closed.written_outside;
      fault.place = place_of(hit.code);
      found.push_back(std::move(fault));
    }
    std::for_each(found.begin(), found.end(), note);
  }
  windows_.clear();
  for (const Fault& fault : report_strays(function_)) {
    if (first.empty()) first = describe(fault);
  }
  return first;
}

void* Windows::find_here(uintptr_t address, size_t size) {
  for (const Window& window : windows_) {
    if (window.address <= address && address + size <= window.address + window.size()) {
      return window.room.begin + (address - window.address);
    }
  }
  return nullptr;
}

void* Windows::find(const void* address, size_t size) {
  if (innermost == nullptr) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  if (size > 0) return innermost->find_here(begin, size);
  Window empty;
  empty.operands = "an empty tensor";
  empty.room = open_room(0, mode(), innermost->function_, empty.operands.c_str());
  if (empty.room.cell == nullptr) return nullptr;
  innermost->windows_.push_back(std::move(empty));
  return innermost->windows_.back().room.begin;
}

void run_guarded(Task& task) {
  Windows windows(task.name(), task.memory_ranges());
  try {
    task.run();
  } catch (...) {
    windows.close();  // reported; the task's own error comes first
    throw;
  }
  const std::string found = windows.close();
  require(found.empty(), ACLNN_ERR_INNER, found);
}

}  // namespace opwright::guard

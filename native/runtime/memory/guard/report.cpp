// native/runtime/memory/guard/report.cpp
#include "runtime/memory/guard/report.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>

#include "runtime/call.h"
#include "runtime/memory/guard/arena.h"
#include "runtime/memory/guard/device_memory.h"
#include "runtime/memory/memory.h"

namespace opwright::guard {
namespace {

constexpr size_t kMostKept = 1024;

struct Reports {
  std::mutex mutex;
  std::deque<Fault> kept;  // oldest first
};

Reports& reports() {
  static Reports* const instance = new Reports();
  return *instance;
}

std::string where(const Fault& fault) {
  const auto size = static_cast<int64_t>(fault.operand_bytes);
  if (fault.offset < 0) return text(-fault.offset, " bytes before the start of ", fault.operand);
  if (fault.offset == size) return text("just behind the end of ", fault.operand);
  return text(fault.offset - size, " bytes behind the end of ", fault.operand);
}

}  // namespace

void report(const Fault& fault) {
  const std::lock_guard<std::mutex> lock(reports().mutex);
  if (reports().kept.size() == kMostKept) return;  // the first ones say most
  reports().kept.push_back(fault);
}

std::vector<Fault> report_strays(const char* function) {
  std::vector<Fault> result;
  for (const Stray& stray : take_strays()) {
    Fault fault;
    fault.what = What::kStale;
    fault.written = stray.hit.written;
    fault.offset = stray.offset;
    fault.operand_bytes = stray.size;
    fault.function = stray.hit.function != nullptr ? stray.hit.function : function != nullptr ? function : "";
    fault.operand = text(stray.operand, " of an earlier call of ", stray.function);
    fault.place = place_of(stray.hit.code);
    report(fault);
    result.push_back(std::move(fault));
  }
  return result;
}

std::string describe(const Fault& fault) {
  const std::string count = fault.written == 1 && fault.bytes > 0 ? text(fault.bytes, " bytes ") : std::string();
  const char* const did = fault.written == 1 ? "wrote " : fault.written == 0 ? "read " : "touched memory ";
  const std::string at = fault.place.empty() ? "" : ", at " + fault.place;
  if (fault.what == What::kStale) {
    return text("it ", did, "memory that it was not given, where ", fault.operand, " was (byte ", fault.offset, " of ",
                fault.operand_bytes, ")", at);
  }
  return text("it ", did, count, where(fault), " (", fault.operand_bytes, " bytes)", at);
}

std::string place_of(uintptr_t code) {
  Dl_info info = {};
  if (code == 0 || dladdr(reinterpret_cast<void*>(code), &info) == 0 || info.dli_fname == nullptr) return "";
  const char* const slash = std::strrchr(info.dli_fname, '/');
  const std::string library = slash != nullptr ? slash + 1 : info.dli_fname;
  const auto offset = reinterpret_cast<void*>(code - reinterpret_cast<uintptr_t>(info.dli_fbase));
  return text(library, "+", offset, info.dli_sname != nullptr ? text(" (", info.dli_sname, ")") : std::string());
}

}  // namespace opwright::guard

using namespace opwright;

// Has a counterpart in opwright/twin/guard.py.
struct opwright_guard_fault {
  int32_t what;
  int32_t written;
  int64_t offset;
  uint64_t bytes;
  uint64_t operand_bytes;
  char function[96];
  char operand[160];
  char place[160];
};

namespace {

template <size_t kSize>
void put(char (&target)[kSize], const std::string& source) {
  const size_t count = std::min(source.size(), kSize - 1);
  std::memcpy(target, source.data(), count);
  target[count] = '\0';
}

opwright_guard_fault plain(const guard::Fault& fault) {
  opwright_guard_fault result = {};
  result.what = static_cast<int32_t>(fault.what);
  result.written = fault.written;
  result.offset = fault.offset;
  result.bytes = fault.bytes;
  result.operand_bytes = fault.operand_bytes;
  put(result.function, fault.function);
  put(result.operand, fault.operand);
  put(result.place, fault.place);
  return result;
}

}  // namespace

extern "C" {

// The present mode; 0 if memory is not guarded.
OPWRIGHT_API int32_t opwright_guard_mode() { return static_cast<int32_t>(guard::mode()); }

// Memory allocated and tasks run from now on have this mode, 1 or 2. Works only in a process that was started guarded.
OPWRIGHT_API int32_t opwright_guard_set_mode(int32_t mode) {
  return call("opwright_guard_set_mode", [&] { guard::set_mode(static_cast<guard::Mode>(mode)); });
}

// Fills device memory that nobody uses at present: blocks that a caching allocator keeps.
OPWRIGHT_API int32_t opwright_guard_fill(void* address, uint64_t size) {
  return call(
      "opwright_guard_fill", [&] { guard::fill(memory::checked_alias(address, size, "address"), size, guard::mode()); },
      arg("address", address), arg("size", size));
}

// Takes at most `room` of the faults that were found, oldest first, and answers how many. Looks at the padding of
// device memory first.
OPWRIGHT_API uint64_t opwright_guard_take(opwright_guard_fault* faults, uint64_t room) {
  guard::report_strays(nullptr);
  guard::check_padding();
  const std::lock_guard<std::mutex> lock(guard::reports().mutex);
  uint64_t count = 0;
  for (; count < room && !guard::reports().kept.empty(); ++count) {
    faults[count] = plain(guard::reports().kept.front());
    guard::reports().kept.pop_front();
  }
  return count;
}
}

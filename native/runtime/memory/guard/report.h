// native/runtime/memory/guard/report.h
// Findings of guarded memory, kept until somebody takes them (opwright_guard_take).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/memory/guard/guard.h"

namespace opwright::guard {

enum class What : int32_t {
  kOutside = 0,  // of an operand of the call
  kStale = 1,    // where an operand of an earlier call was, or nothing at all
  kPadding = 2,  // device memory behind what was asked for was written
};

struct Fault {
  What what = What::kOutside;
  int written = 1;     // 1: a write, 0: a read, -1: not known
  int64_t offset = 0;  // bytes from the start of the operand or allocation
  size_t bytes = 0;    // that were written, if that is known
  size_t operand_bytes = 0;
  std::string function;  // empty: outside of kernels
  std::string operand;   // of an earlier call: with its function
  std::string place;     // "libcust_opapi.so+0x1234 (function)"
};

void report(const Fault& fault);

// Reports accesses outside of every running kernel's memory; `function` runs now, or nullptr.
std::vector<Fault> report_strays(const char* function);

// Of a kernel that is named before: "it read just behind the end of x (12 bytes), at libcust_opapi.so+0x1234".
std::string describe(const Fault& fault);

// The library and, if it is exported, the function of an instruction.
std::string place_of(uintptr_t code);

}  // namespace opwright::guard

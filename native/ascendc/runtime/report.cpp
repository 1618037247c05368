// native/ascendc/runtime/report.cpp
#include "ascendc/runtime/report.h"

#include <csignal>

#include "ascendc/runtime/global_memory.h"
#include "ascendc/runtime/launch.h"
#include "runtime/error.h"

namespace AscendC::machine {

std::string core_text() {
  const Core& self = core();
  std::string result = opwright::text("block ", self.block, " of ", self.blocks);
  if (!self.mixed) return result;
  if (self.kind == CoreKind::kCube) return result + ", cube core";
  return result + opwright::text(", vector core ", self.sub_block);
}

std::string describe(const Finding& finding) {
  std::string result =
      opwright::text(finding.id, " ", finding.title, "\n  where:   ", place_of(finding.site), ", ", core_text());
  if (!finding.call.empty()) result += "\n  call:    " + finding.call;
  if (!finding.got.empty()) result += "\n  got:     " + finding.got;
  if (!finding.other.empty()) result += "\n  other:   " + finding.other;
  if (!finding.allowed.empty()) result += "\n  allowed: " + finding.allowed;
  return result;
}

std::string describe_signal(const FaultFrame& frame) {
  Finding finding{"OPW-X002", "the kernel made an invalid memory access", "", "", "", frame.site, ""};
  if (frame.stack_used_up) {
    finding.title = "the kernel has used up its stack";
    finding.allowed = "small local variables, and no recursion without end: devices have 32 KiB";
    return describe(finding);
  }
  switch (frame.number) {
    case SIGFPE:
      finding.title = "the kernel divided an integer by zero, or the quotient does not fit";
      break;
    case SIGILL:
      finding.title = "the kernel ran into an instruction that stops it (Trap, or an unreachable place)";
      break;
    case SIGABRT:
      finding.title = "the kernel called abort, or has overwritten its stack";
      break;
    case SIGBUS:
    case SIGSEGV:
      finding.got = frame.address_known ? describe_address(reinterpret_cast<const void*>(frame.address))
                                        : "an address that no memory has; a local array may have been overrun";
      finding.allowed = "the kernel's tensors, and the local memory of its core";
      break;
    default:
      finding.title = opwright::text("the kernel caused signal ", frame.number);
  }
  return describe(finding);
}

}  // namespace AscendC::machine

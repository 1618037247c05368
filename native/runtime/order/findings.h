// native/runtime/order/findings.h
// Findings: accesses that nothing orders. Each pair of places in the program is written to standard error once, and
// kept until somebody takes it (opwright_order_take). A process that ends with status 0 although nobody has taken a
// finding ends with kExitStatus instead, unless its orders are explored, which has exit statuses of its own. A process
// that was forked may end without handlers of the end: what is found in it counts in the one it was forked from too.
#pragma once

#include <string>

#include "runtime/error.h"
#include "runtime/order/shadow.h"

namespace opwright::order {

constexpr int kExitStatus = 66;  // ThreadSanitizer's

// `last_wait` is what the later one's stream has waited for instead, as lines of a report, or empty.
void report(const Access& earlier, const Access& later, const std::string& last_wait = "");
struct OtherRank {
  std::string name;   // in words
  std::string lines;  // of Python, where it launched the second one; empty if that is not known any more
};
// Two collectives of two communicators: this rank launches the first one first, the other rank the second one. This
// rank may not have launched the second one yet: then it has no stream and no lines.
OPWRIGHT_API void report_entries(const Launch& first, const Launch& second, const OtherRank& other);
// Whether the clear of a flag comes before the set is left open: behind it, it would take the set away.
void report_lost_set(const Launch& clear, const Launch& set);
// A replayed task uses memory of a tensor that was freed after the capture, at these lines of Python.
void report_freed(const Access& access, const std::string& freed_at);

}  // namespace opwright::order

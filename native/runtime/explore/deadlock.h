// native/runtime/explore/deadlock.h
// The report of a host that waits for what cannot happen: each wait, and the chain of streams that keeps it from
// ending.
#pragma once

#include <list>
#include <string>

#include "runtime/explore/lane.h"

namespace opwright::explore {

// The caller holds the scheduler's mutex.
std::string describe_deadlock(const Lanes& lanes, const std::list<Host*>& hosts);

}  // namespace opwright::explore

// native/collective/entry_order.h
// Whether ranks enter the collectives of several communicators in the same order (OPWRIGHT_ORDER=1).
//
// Each member notes the collectives that it launches in memory that the others can read. With each launch a rank
// compares, for each other member of the communicator, what both have launched on the communicators that they share.
// So a difference is found before the ranks wait for each other. Sends and receives may come in any order.
#pragma once

#include <string>

#include "collective/rendezvous.h"
#include "runtime/streams/stream.h"

namespace opwright::collective {

class Communicator;

// Who this process is with a device, or with none (-1), in a communicator that it is about to join.
Member join_order(const std::string& communicator, int device);

// To be called on the thread that launches a collective.
void note_entry(const Communicator& communicator, const char* function, const Stream& stream);

}  // namespace opwright::collective

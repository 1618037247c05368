// native/collective/rendezvous.h
// How the ranks of a communicator meet: one process listens at a name, each rank connects to it and says who it is, and
// when all have come each gets one connected socket to every other rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/socket.h"
#include "runtime/memory/shared_file.h"

namespace opwright::collective {

constexpr uint32_t kMostRanks = 128;

// A process with one of its devices, in all of its communicators: the file in which it notes the collectives that it
// launches (entry_order.h). {} if nobody checks their order.
using Member = memory::FileName;

// Another rank, and the socket to it.
struct Connection {
  Fd socket;
  Member member = {};
};
// By rank; the own entry is not open.
using Links = std::vector<Connection>;

// A name that nobody else has, in this process or in others.
std::string new_name(const char* purpose);

// A new name at which a thread of this process waits for the ranks, for as long as HCCL_CONNECT_TIMEOUT.
std::string open_rendezvous();

// Meets the others at a name that open_rendezvous gave to one of them. Throws HCCL_E_TIMEOUT with the missing ranks.
Links meet(const std::string& name, uint32_t ranks, uint32_t rank, Member self);

// The same for a name that all ranks know: the first one waits for the others.
Links meet_at_known_name(const std::string& name, uint32_t ranks, uint32_t rank, Member self);

// Connects communicators of one process, by the members of the ranks: element i is what rank i gets.
std::vector<Links> connect_all(const std::vector<Member>& members);

}  // namespace opwright::collective

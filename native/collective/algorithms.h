// native/collective/algorithms.h
// The collectives on an exchange. Pointers are where the host reaches device memory; counts are elements. Every
// reduction is computed once, in the order of the ranks, and copied: all ranks get the same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "collective/communicator.h"

namespace opwright::collective {

// A piece of a buffer: bytes from its begin, and how many.
struct Piece {
  size_t offset;
  size_t bytes;
};
using Pieces = std::vector<Piece>;  // by rank

void barrier(Exchange& exchange);
void broadcast(Exchange& exchange, void* data, size_t bytes, uint32_t root);
// pieces[r] of `target` is what rank r sends.
void all_gather(Exchange& exchange, const void* source, void* target, const Pieces& pieces);
// pieces[root's r] of `source` goes to rank r.
void scatter(Exchange& exchange, const void* source, void* target, size_t bytes, uint32_t root);
void all_to_all(Exchange& exchange, const void* source, const Pieces& sent, void* target, const Pieces& received);
// pieces[r] of everybody's `source` are reduced into the target of rank r.
void reduce_scatter(Exchange& exchange, const void* source, void* target, const Pieces& pieces);
void reduce_to_root(Exchange& exchange, const void* source, void* target, size_t count, uint32_t root);
void all_reduce(Exchange& exchange, const void* source, void* target, size_t count);

}  // namespace opwright::collective

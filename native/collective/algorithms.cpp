// native/collective/algorithms.cpp
#include "collective/algorithms.h"

#include <cstring>

#include "collective/data_type.h"

namespace opwright::collective {
namespace {

const char* at(const void* base, const Piece& piece) { return static_cast<const char*>(base) + piece.offset; }
char* at(void* base, const Piece& piece) { return static_cast<char*>(base) + piece.offset; }

void copy(void* target, const void* source, size_t bytes) {
  if (bytes > 0 && target != source) std::memmove(target, source, bytes);
}

template <class Visit>
void for_peers(const Exchange& exchange, Visit visit) {
  // Each rank begins with its right neighbour, so that not all of them write to rank 0 first.
  for (uint32_t step = 1; step < exchange.size(); ++step) visit((exchange.rank() + step) % exchange.size());
}

// The parts of one piece that the ranks have sent, in the order of the ranks, and the memory for them.
class Contributions {
 public:
  Contributions(const Exchange& exchange, const void* own, size_t bytes)
      : received_(bytes * (exchange.size() - 1)), own_(own), bytes_(bytes), rank_(exchange.rank()) {}

  void* place_of(uint32_t peer) { return received_.data() + bytes_ * (peer - (peer > rank_ ? 1 : 0)); }
  std::vector<const void*> in_order(uint32_t ranks) {
    std::vector<const void*> inputs;
    for (uint32_t r = 0; r < ranks; ++r) inputs.push_back(r == rank_ ? own_ : place_of(r));
    return inputs;
  }

 private:
  std::vector<char> received_;
  const void* const own_;
  const size_t bytes_;
  const uint32_t rank_;
};

void reduce_into(const Exchange& exchange, Contributions& contributions, void* target, size_t bytes) {
  const Agreement& agreement = exchange.agreement();
  reduce(agreement.type, static_cast<HcclReduceOp>(agreement.op), contributions.in_order(exchange.size()), target,
         bytes / size_of(agreement.type));
}

// Shares of about the same size: rank r reduces share r.
Pieces shares(size_t count, size_t element, uint32_t ranks) {
  Pieces pieces;
  for (uint32_t r = 0; r < ranks; ++r) {
    const size_t begin = count * r / ranks;
    const size_t end = count * (r + 1) / ranks;
    pieces.push_back({begin * element, (end - begin) * element});
  }
  return pieces;
}

}  // namespace

void barrier(Exchange& exchange) {
  for_peers(exchange, [&](uint32_t peer) {
    exchange.send(peer, nullptr, 0);
    exchange.receive(peer, nullptr, 0);
  });
  exchange.finish();
}

void broadcast(Exchange& exchange, void* data, size_t bytes, uint32_t root) {
  if (exchange.rank() == root) {
    for_peers(exchange, [&](uint32_t peer) { exchange.send(peer, data, bytes); });
  } else {
    exchange.receive(root, data, bytes);
  }
  exchange.finish();
}

void all_gather(Exchange& exchange, const void* source, void* target, const Pieces& pieces) {
  const size_t own = pieces[exchange.rank()].bytes;
  for_peers(exchange, [&](uint32_t peer) {
    exchange.send(peer, source, own);
    exchange.receive(peer, at(target, pieces[peer]), pieces[peer].bytes);
  });
  exchange.finish();
  copy(at(target, pieces[exchange.rank()]), source, own);
}

void scatter(Exchange& exchange, const void* source, void* target, size_t bytes, uint32_t root) {
  if (exchange.rank() != root) {
    exchange.receive(root, target, bytes);
    return exchange.finish();
  }
  for_peers(exchange, [&](uint32_t peer) { exchange.send(peer, at(source, {peer * bytes, bytes}), bytes); });
  exchange.finish();
  copy(target, at(source, {root * bytes, bytes}), bytes);
}

void all_to_all(Exchange& exchange, const void* source, const Pieces& sent, void* target, const Pieces& received) {
  const uint32_t self = exchange.rank();
  for_peers(exchange, [&](uint32_t peer) {
    exchange.send(peer, at(source, sent[peer]), sent[peer].bytes);
    exchange.receive(peer, at(target, received[peer]), received[peer].bytes);
  });
  exchange.finish();
  copy(at(target, received[self]), at(source, sent[self]), sent[self].bytes);
}

void reduce_scatter(Exchange& exchange, const void* source, void* target, const Pieces& pieces) {
  const Piece& own = pieces[exchange.rank()];
  Contributions contributions(exchange, at(source, own), own.bytes);
  for_peers(exchange, [&](uint32_t peer) {
    exchange.send(peer, at(source, pieces[peer]), pieces[peer].bytes);
    exchange.receive(peer, contributions.place_of(peer), own.bytes);
  });
  exchange.finish();
  reduce_into(exchange, contributions, target, own.bytes);
}

void reduce_to_root(Exchange& exchange, const void* source, void* target, size_t count, uint32_t root) {
  const size_t bytes = count * size_of(exchange.agreement().type);
  if (exchange.rank() != root) {
    exchange.send(root, source, bytes);
    return exchange.finish();
  }
  Contributions contributions(exchange, source, bytes);
  for_peers(exchange, [&](uint32_t peer) { exchange.receive(peer, contributions.place_of(peer), bytes); });
  exchange.finish();
  reduce_into(exchange, contributions, target, bytes);
}

void all_reduce(Exchange& exchange, const void* source, void* target, size_t count) {
  const Pieces pieces = shares(count, size_of(exchange.agreement().type), exchange.size());
  const Piece& own = pieces[exchange.rank()];
  // The first half ends before anything is written, so source and target may be the same.
  reduce_scatter(exchange, source, at(target, own), pieces);
  all_gather(exchange, at(target, own), target, pieces);
}

}  // namespace opwright::collective

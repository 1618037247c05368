// native/collective/rank_group.cpp
#include "collective/rank_group.h"

#include <cstring>
#include <utility>

#include "collective/algorithms.h"
#include "collective/communicator.h"
#include "collective/data_type.h"
#include "runtime/device.h"

namespace opwright::collective {
namespace {

int device_of_caller() {
  const Stream* const stream = Stream::current();
  return stream != nullptr ? stream->device() : current_device().id();
}

// Null if there is none.
std::shared_ptr<Communicator> find_communicator(const std::string& name, int device) {
  std::shared_ptr<Communicator> found;
  for (auto& communicator : communicators().all()) {
    const bool fits = communicator->name() == name && (communicator->device() == device || communicator->device() < 0);
    // A broken one may not be destroyed yet when its successor is there.
    if (fits && (found == nullptr || found->failure())) found = std::move(communicator);
  }
  return found;
}

thread_local const char* running_operator = "";

Agreement agreement_on(Call call, HcclDataType type, int32_t op) {
  Agreement agreement{call, type, op, Agreement::kNone, 0};
  std::strncpy(agreement.operator_name, running_operator, sizeof agreement.operator_name - 1);
  return agreement;
}

Agreement bytes_of(Call call) { return agreement_on(call, HCCL_DATA_TYPE_INT8, Agreement::kNone); }
Agreement sum_of(Call call, HcclDataType type) {
  require_reducible(type, HCCL_REDUCE_SUM);
  return agreement_on(call, type, HCCL_REDUCE_SUM);
}

// Pieces that lie one after the other.
Pieces pieces_of(const std::vector<size_t>& bytes) {
  Pieces pieces;
  size_t begin = 0;
  for (const size_t each : bytes) {
    pieces.push_back({begin, each});
    begin += each;
  }
  return pieces;
}

}  // namespace

RankGroup::RankGroup(const std::string& name, int unknown) {
  const int device = device_of_caller();
  communicator_ = find_communicator(name, device);
  require(communicator_ != nullptr, unknown, "there is no communicator '", name, "' of device ", device,
          " in this process; allowed: a name that HcclGetCommName answers, in torch_npu that of "
          "get_hccl_comm_name(rank)");
  communicator_->used_by_operators();
}

void RankGroup::run(const std::function<void()>& body) const {
  const Communicator::Turn turn = communicator_->take_turn();
  body();
}

size_t RankGroup::rank() const noexcept { return communicator_->rank(); }
size_t RankGroup::size() const noexcept { return communicator_->size(); }

void RankGroup::barrier() const {
  communicator_->run(bytes_of(Call::kBarrier), [](Exchange& exchange) { collective::barrier(exchange); });
}

void RankGroup::all_gather(const void* source, void* target, size_t bytes) const {
  const Pieces pieces = pieces_of(std::vector<size_t>(size(), bytes));
  communicator_->run(bytes_of(Call::kAllGather),
                     [&](Exchange& exchange) { collective::all_gather(exchange, source, target, pieces); });
}

void RankGroup::all_to_all(const void* source, const std::vector<size_t>& sent, void* target,
                           const std::vector<size_t>& received) const {
  communicator_->run(bytes_of(Call::kAlltoAllV), [&](Exchange& exchange) {
    collective::all_to_all(exchange, source, pieces_of(sent), target, pieces_of(received));
  });
}

void RankGroup::all_reduce(const void* source, void* target, size_t count, HcclDataType type) const {
  communicator_->run(sum_of(Call::kAllReduce, type),
                     [&](Exchange& exchange) { collective::all_reduce(exchange, source, target, count); });
}

void RankGroup::reduce_scatter(const void* source, void* target, size_t count, HcclDataType type) const {
  const Pieces pieces = pieces_of(std::vector<size_t>(size(), count * size_of(type)));
  communicator_->run(sum_of(Call::kReduceScatter, type),
                     [&](Exchange& exchange) { collective::reduce_scatter(exchange, source, target, pieces); });
}

OperatorScope::OperatorScope(const char* name) noexcept : before_(std::exchange(running_operator, name)) {}
OperatorScope::~OperatorScope() { running_operator = before_; }

void give_up(const std::string& communicator, const char* operator_name, const std::string& reason) {
  if (const auto found = find_communicator(communicator, device_of_caller())) found->give_up(operator_name, reason);
}

}  // namespace opwright::collective

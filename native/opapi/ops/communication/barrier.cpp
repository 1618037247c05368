// native/opapi/ops/communication/barrier.cpp
// Waiting for the other ranks of a communicator. The tensor only orders the call among others.
#include "opapi/ops/common/refusal.h"
#include "opapi/ops/communication/ranks.h"

namespace {

void wait_for_ranks(const std::string& group, int64_t size) {
  communicate(group, [&](const RankGroup& ranks) {
    require(static_cast<int64_t>(ranks.size()) == size, ACLNN_ERR_PARAM_INVALID, "worldSize is ", size,
            ", but the communicator has ", ranks.size(), " ranks");
    wait_for_all(ranks);
  });
}

}  // namespace

ACLNN(DistributeBarrier, (Ref, xRef)(Group, group)(Int, worldSize), wait_for_ranks(group, worldSize))
// HCCL's own limit holds for the wait (HCCL_EXEC_TIMEOUT).
ACLNN(DistributeBarrierV2, (Ref, xRef)(OptIn, timeOut)(OptIn, elasticInfo)(Group, group)(Int, worldSize),
      refuse({{timeOut, "timeOut"}, {elasticInfo, "elasticInfo"}});
      wait_for_ranks(group, worldSize))

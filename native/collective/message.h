// native/collective/message.h
// Messages between two ranks: a header, then `bytes` of data. The header says which call the data belongs to,
// so that ranks that disagree about the next collective get an error that names both, instead of each other's data.
#pragma once

#include <cstdint>
#include <string>

#include "hccl/hccl_types.h"

namespace opwright::collective {

enum class Call : int32_t {
  kAllGather,
  kAllGatherV,
  kAllReduce,
  kAlltoAll,
  kAlltoAllV,
  kAlltoAllVC,
  kBarrier,
  kBroadcast,
  kPointToPoint,
  kReduce,
  kReduceScatter,
  kReduceScatterV,
  kScatter,
};

// A header may have come from another version of the library.
constexpr bool exists(Call call) { return call >= Call::kAllGather && call <= Call::kScatter; }
// The function's name without "Hccl".
const char* name_of(Call call);

// Properties on which all ranks of one collective, or both sides of a send, have to agree.
struct Agreement {
  Call call;
  HcclDataType type;
  int32_t op;       // HcclReduceOp, or kNone
  int32_t root;     // or kNone
  uint64_t number;  // of the collective in its communicator, from 1; 0 for point to point
  // Of the operator that exchanges data in this way (aclnnMatmulAllReduce), cut where it is longer; else empty. Ranks
  // may reach one exchange by different versions of an operator.
  char operator_name[48] = {};

  static constexpr int32_t kNone = -1;
  std::string shown() const;
  bool operator==(const Agreement& other) const {
    return call == other.call && type == other.type && op == other.op && root == other.root && number == other.number;
  }
};

enum class Kind : uint32_t {
  kData = 0x6f706864,
  kFarewell,  // the sender has destroyed its communicator
  kFailure,   // the sender's communicator is broken; the data are the reason
};

struct Header {
  Kind kind;
  Agreement agreement;
  uint64_t bytes;
};

}  // namespace opwright::collective

// native/collective/message.cpp
#include "collective/message.h"

#include "collective/data_type.h"
#include "runtime/error.h"

namespace opwright::collective {

const char* name_of(Call call) {
  static constexpr const char* kNames[] = {
      "AllGather", "AllGatherV", "AllReduce", "AlltoAll",      "AlltoAllV",      "AlltoAllVC", "Barrier",
      "Broadcast", "SendRecv",   "Reduce",    "ReduceScatter", "ReduceScatterV", "Scatter",
  };
  return kNames[static_cast<size_t>(call)];
}

std::string Agreement::shown() const {
  std::string detail = name_of(type);
  if (op != kNone) detail += text(", ", name_of(static_cast<HcclReduceOp>(op)));
  if (root != kNone) detail += text(", root ", root);
  const std::string shown = text("Hccl", name_of(call), "(", detail, ")");
  const std::string numbered = number == 0 ? shown : text(shown, " as collective ", number);
  return operator_name[0] == '\0' ? numbered : text(operator_name, ", by ", numbered);
}

}  // namespace opwright::collective

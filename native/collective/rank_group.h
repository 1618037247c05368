// native/collective/rank_group.h
// The ranks of a communicator for operators that communicate (libopapi). An exchange runs at once, as a part of the
// operator's task; its order, limits and errors are those of the communicator's other calls.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hccl/hccl_types.h"
#include "runtime/error.h"

namespace opwright::collective {

class Communicator;

class OPWRIGHT_API RankGroup {
 public:
  // `name` is what HcclGetCommName answers. Ranks on several devices of one process share it: then the communicator is
  // that of the running task's device. Throws `unknown` for a name without a communicator.
  RankGroup(const std::string& name, int unknown);

  // Calls `body`; this rank's other calls on the communicator wait meanwhile.
  void run(const std::function<void()>& body) const;

  size_t rank() const noexcept;
  size_t size() const noexcept;

  void barrier() const;
  // `bytes` of each rank, in the order of the ranks.
  void all_gather(const void* source, void* target, size_t bytes) const;
  // Bytes to and from each rank; those of one buffer lie one after the other, in the order of the ranks.
  void all_to_all(const void* source, const std::vector<size_t>& sent, void* target,
                  const std::vector<size_t>& received) const;
  // Sums of `count` elements; float16 and bfloat16 are added in float32 and rounded once.
  void all_reduce(const void* source, void* target, size_t count, HcclDataType type) const;
  // Of size() times `count` elements, this rank's share.
  void reduce_scatter(const void* source, void* target, size_t count, HcclDataType type) const;

 private:
  std::shared_ptr<Communicator> communicator_;
};

// While it lives, the errors of this thread's exchanges name the operator.
class OPWRIGHT_API OperatorScope {
 public:
  explicit OperatorScope(const char* name) noexcept;  // of static storage
  ~OperatorScope();
  OperatorScope(const OperatorScope&) = delete;
  OperatorScope& operator=(const OperatorScope&) = delete;

 private:
  const char* const before_;
};

// For an operator that fails where the other ranks of the communicator wait for it: they learn why it does not come.
OPWRIGHT_API void give_up(const std::string& communicator, const char* operator_name, const std::string& reason);

}  // namespace opwright::collective

// native/atb/operation.h
// The part that all operations of ATB share: Setup checks the operands and makes an executor of the aclnn layer
// (nnopbase), which Execute puts on the context's stream.
//
// torch_npu calls both on its consumer thread, where an error would end its queue for the rest of the process. There an
// error of Setup is left to the stream (runtime/streams/consumer_thread.h). Elsewhere the caller gets ATB's number, and
// torch_npu's bridge, which says no more of an error than that there was one, an exception with the text.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atb/abi.h"
#include "nnopbase/executor.h"

namespace opwright::atb_library {

// The status as `caller` needs it: torch_npu's bridge, which drops it, gets an exception with the text, but for its
// consumer thread.
atb::Status answer(atb::Status status, const void* caller);

// ATB's number for a code of the twin.
atb::Status status_of(int code) noexcept;

// Throws 1 naming the parameter, its value and what is allowed.
template <class Value>
void require_param(bool condition, const char* name, const Value& value, const char* allowed) {
  require(condition, atb::ERROR_INVALID_PARAM, "parameter '", name, "' is ", value, "; allowed: ", allowed);
}

template <class Param>
void require_no_reserved(const Param& param) {
  for (const uint8_t byte : param.reserved) {
    require(byte == 0, atb::ERROR_INVALID_PARAM,
            "the reserved bytes of the parameters are not 0: they are those of another release of ATB");
  }
}

// Makes the executor of one call; throws or answers what phase 1 of an aclnn function does.
using Prepare = std::function<aclnnStatus(uint64_t* workspace_size, aclOpExecutor** executor)>;

// An operation that keeps the executor of its last set up call. Threads may share it: torch_npu asks for the workspace
// on the caller's thread while its consumer thread runs a call before.
class PreparedOperation : public atb::Operation {
 public:
  // `name` has static storage.
  explicit PreparedOperation(const char* name) : name_(name) {}

  std::string GetName() const override { return name_; }
  const char* name() const noexcept { return name_; }

  atb::Status set_up(const char* function, uint64_t* workspace_size, const Prepare& prepare) noexcept;
  atb::Status launch(const char* function, void* workspace, uint64_t workspace_size, atb::Context* context) noexcept;

 private:
  const char* const name_;
  std::mutex mutex_;
  std::unique_ptr<aclOpExecutor> executor_;
};

// The operation that atb::CreateOperation makes of parameters.
struct Form {
  const char* name;  // static storage
  uint32_t inputs, outputs;
  std::function<aclnnStatus(const atb::VariantPack& pack, uint64_t* workspace_size, aclOpExecutor** executor)> prepare;
  // The descriptions of the outputs for those of the inputs.
  std::function<void(const atb::SVector<atb::TensorDesc>& inputs, atb::SVector<atb::TensorDesc>& outputs)> infer;
};

// Makes the operation and answers for atb::CreateOperation; `caller` is where that returns to.
atb::Status create(const char* function, const std::function<Form()>& form_of, atb::Operation** operation,
                   const void* caller);

}  // namespace opwright::atb_library

// atb::CreateOperation for one type of parameters; `FORM_OF` checks them and makes the operation's form.
#define ATB_OPERATION(PARAM, FORM_OF)                                                                                \
  template <>                                                                                                        \
  OPWRIGHT_API atb::Status atb::CreateOperation(const atb::infer::PARAM& param, atb::Operation** operation) {        \
    return ::opwright::atb_library::create(                                                                          \
        "atb::CreateOperation<" #PARAM ">", [&] { return FORM_OF(param); }, operation, __builtin_return_address(0)); \
  }

// native/atb/operation.cpp
#include "atb/operation.h"

#include <dlfcn.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "runtime/call.h"
#include "runtime/streams/consumer_thread.h"

namespace opwright::atb_library {

namespace {

// Stands for a call that Setup refuses where it must not answer an error; it fails on the stream.
class Refusal final : public aclOpExecutor {
 public:
  Refusal(const char* operation, Error error) : operation_(operation), error_(std::move(error)) {}

  void run() override { throw Error(error_); }
  const char* name() const noexcept override { return operation_; }
  std::unique_ptr<aclOpExecutor> clone() const override { return std::make_unique<Refusal>(operation_, error_); }
  std::vector<std::vector<aclTensor*>> tensors() override { return {}; }
  size_t input_count() const override { return 0; }
  const Error* failure() const noexcept override { return &error_; }

 private:
  const char* const operation_;
  const Error error_;
};

bool has_same_tensors(const std::vector<atb::Tensor>& kept, const atb::SVector<atb::Tensor>& given) {
  const auto are_equal = [](const atb::Tensor& a, const atb::Tensor& b) {
    return a.deviceData == b.deviceData && a.hostData == b.hostData && a.desc.dtype == b.desc.dtype &&
           a.desc.format == b.desc.format && a.desc.shape.dimNum == b.desc.shape.dimNum &&
           std::equal(a.desc.shape.dims,
                      a.desc.shape.dims + std::min<uint64_t>(a.desc.shape.dimNum, atb::kMostDimensions),
                      b.desc.shape.dims);
  };
  return std::equal(kept.begin(), kept.end(), given.begin(), given.end(), are_equal);
}

bool is_torch_npus_bridge(const void* address) noexcept {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  const std::string_view file = info.dli_fname;
  return file.substr(file.rfind('/') + 1) == "libop_plugin_atb.so";
}

// An operation with parameters. The addresses that count are those of Execute.
class FormOperation final : public PreparedOperation {
 public:
  explicit FormOperation(Form form) : PreparedOperation(form.name), form_(std::move(form)) {}

  uint32_t GetInputNum() const override { return form_.inputs; }
  uint32_t GetOutputNum() const override { return form_.outputs; }

  atb::Status InferShape(const atb::SVector<atb::TensorDesc>& inputs,
                         atb::SVector<atb::TensorDesc>& outputs) const override {
    return status_of(call("atb::Operation::InferShape", [&] {
      require(inputs.size() == form_.inputs, atb::ERROR_INVALID_IN_TENSOR_NUM, name(), " has ", form_.inputs,
              " inputs, but ", inputs.size(), " are given");
      require(outputs.size() == form_.outputs, atb::ERROR_INVALID_TENSOR_NUM, name(), " has ", form_.outputs,
              " outputs, but ", outputs.size(), " are given");
      form_.infer(inputs, outputs);
    }));
  }

  atb::Status Setup(const atb::VariantPack& pack, uint64_t& workspace_size, atb::Context* context) override {
    if (context == nullptr) return answer(no_context(), __builtin_return_address(0));
    const std::lock_guard<std::mutex> lock(setup_mutex_);
    return answer(prepare(pack, &workspace_size), __builtin_return_address(0));
  }

  atb::Status Execute(const atb::VariantPack& pack, uint8_t* workspace, uint64_t workspace_size,
                      atb::Context* context) override {
    const void* const caller = __builtin_return_address(0);
    if (context == nullptr) return answer(no_context(), caller);
    const std::lock_guard<std::mutex> lock(setup_mutex_);
    if (!has_same_tensors(inputs_, pack.inTensors) || !has_same_tensors(outputs_, pack.outTensors)) {
      uint64_t needed = 0;
      const atb::Status status = prepare(pack, &needed);
      if (status != atb::NO_ERROR) return answer(status, caller);
    }
    return answer(launch("atb::Operation::Execute", workspace, workspace_size, context), caller);
  }

 private:
  static atb::Status no_context() noexcept {
    return call("atb::Operation", [] { fail(atb::ERROR_INVALID_CONTEXT_ADDR, "the context is null"); });
  }

  atb::Status prepare(const atb::VariantPack& pack, uint64_t* workspace_size) {
    inputs_.assign(pack.inTensors.begin(), pack.inTensors.end());
    outputs_.assign(pack.outTensors.begin(), pack.outTensors.end());
    return set_up("atb::Operation::Setup", workspace_size,
                  [&](uint64_t* size, aclOpExecutor** executor) { return form_.prepare(pack, size, executor); });
  }

  const Form form_;
  std::mutex setup_mutex_;
  std::vector<atb::Tensor> inputs_, outputs_;  // of the executor
};

}  // namespace

atb::Status answer(atb::Status status, const void* caller) {
  const bool may_throw = status != atb::NO_ERROR && !on_consumer_thread() && is_torch_npus_bridge(caller);
  if (may_throw) throw std::runtime_error(take_recent_message());
  return status;
}

atb::Status status_of(int code) noexcept {
  constexpr int kMostOfAtb = 63;  // codes of CANN have six digits
  if (code == ACL_SUCCESS || (0 < code && code <= kMostOfAtb)) return code;
  switch (code) {
    case ACLNN_ERR_PARAM_NULLPTR:
      return atb::ERROR_INVALID_TENSOR_ADDR;
    case ACLNN_ERR_PARAM_INVALID:
      return atb::ERROR_INVALID_PARAM;
    default:
      return atb::ERROR_INTERNAL_ERROR;
  }
}

atb::Status PreparedOperation::set_up(const char* function, uint64_t* workspace_size, const Prepare& prepare) noexcept {
  const int code = call(function, [&] {
    uint64_t& size = out(workspace_size, "workspaceSize", atb::ERROR_INVALID_PARAM);
    size = 0;
    const std::lock_guard<std::mutex> lock(mutex_);
    executor_.reset();
    aclOpExecutor* made = nullptr;
    std::optional<Error> refused;
    try {
      prepare(&size, &made);
      executor_.reset(made);
      if (made == nullptr) fail(atb::ERROR_OUT_OF_HOST_MEMORY, "there is no memory for the call");
      if (const Error* const failure = made->failure()) refused = *failure;
    } catch (const Error& error) {
      refused = error;
    }
    if (!refused) {
      executor_->repeatable = true;
      return;
    }
    executor_.reset();
    const std::string reason = text(name_, ": ", refused->text());
    if (!on_consumer_thread()) throw Error(refused->code(), reason);
    executor_ = std::make_unique<Refusal>(name_, Error(ACLNN_ERR_PARAM_INVALID, refused->text()));
    executor_->repeatable = true;
  });
  return status_of(code);
}

atb::Status PreparedOperation::launch(const char* function, void* workspace, uint64_t workspace_size,
                                      atb::Context* context) noexcept {
  const int code = call(function, [&] {
    require(context != nullptr, atb::ERROR_INVALID_CONTEXT_ADDR, "the context is null");
    const std::lock_guard<std::mutex> lock(mutex_);
    require(executor_ != nullptr, atb::ERROR_OPERATION_NULL_RUNNER, name_, ": Setup was not called, or failed");
    const int status = execute(name_, workspace, workspace_size, executor_.get(), context->GetExecuteStream());
    if (status != ACL_SUCCESS) throw Error(status, take_recent_message());
  });
  return status_of(code);
}

atb::Status create(const char* function, const std::function<Form()>& form_of, atb::Operation** operation,
                   const void* caller) {
  const int code = call(function, [&] {
    atb::Operation*& result = out(operation, "operation", atb::ERROR_INVALID_PARAM);
    result = nullptr;
    result = new FormOperation(form_of());
  });
  return answer(status_of(code), caller);
}

}  // namespace opwright::atb_library

namespace atb {

OPWRIGHT_API Status DestroyOperation(Operation* operation) {
  return opwright::atb_library::status_of(opwright::call("atb::DestroyOperation", [&] {
    opwright::require(operation != nullptr, ERROR_INVALID_OPERATION_ADDR, "the operation is null");
    delete operation;
  }));
}

}  // namespace atb

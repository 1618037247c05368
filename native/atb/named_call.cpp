// native/atb/named_call.cpp
#include "atb/named_call.h"

#include "runtime/call.h"

namespace opwright::atb_library {

namespace {

// Knows nothing but the call that it was set up for.
class NamedOperation final : public PreparedOperation {
 public:
  using PreparedOperation::PreparedOperation;

  uint32_t GetInputNum() const override { return 0; }
  uint32_t GetOutputNum() const override { return 0; }
  atb::Status InferShape(const atb::SVector<atb::TensorDesc>&, atb::SVector<atb::TensorDesc>&) const override {
    return refuse("atb::Operation::InferShape");
  }
  atb::Status Setup(const atb::VariantPack&, uint64_t&, atb::Context*) override {
    return refuse("atb::Operation::Setup");
  }
  atb::Status Execute(const atb::VariantPack&, uint8_t*, uint64_t, atb::Context*) override {
    return refuse("atb::Operation::Execute");
  }

 private:
  atb::Status refuse(const char* function) const noexcept {
    return call(function, [&] {
      fail(atb::ERROR_INVALID_OPERATION_ADDR, "the operation was made by ", name(), "GetWorkspaceSize; call ", name(),
           " with it");
    });
  }
};

PreparedOperation& prepared(atb::Operation* operation) {
  auto* const result = dynamic_cast<PreparedOperation*>(operation);
  require(result != nullptr, atb::ERROR_INVALID_OPERATION_ADDR, "the operation is null, or none of this library");
  return *result;
}

}  // namespace

atb::Status set_up_named(const char* name, const char* function, uint64_t* workspace_size, atb::Operation** operation,
                         const Prepare& prepare, const void* caller) {
  atb::Status status = atb::NO_ERROR;
  const int code = call(function, [&] {
    atb::Operation*& result = out(operation, "op", atb::ERROR_INVALID_OPERATION_ADDR);
    if (result == nullptr) result = new NamedOperation(name);
    status = prepared(result).set_up(function, workspace_size, prepare);
  });
  return answer(code == ACL_SUCCESS ? status : status_of(code), caller);
}

atb::Status launch_named(const char* name, void* workspace, uint64_t workspace_size, atb::Operation* operation,
                         atb::Context* context, const void* caller) {
  atb::Status status = atb::NO_ERROR;
  const int code = call(name, [&] { status = prepared(operation).launch(name, workspace, workspace_size, context); });
  return answer(code == ACL_SUCCESS ? status : status_of(code), caller);
}

}  // namespace opwright::atb_library

// native/atb/context.cpp
// atb::Context, which says on which stream operations run, and the sizes of tensors.
#include <algorithm>
#include <atomic>

#include "atb/operation.h"
#include "runtime/call.h"
#include "runtime/descriptors/data_type.h"

namespace atb {

namespace {

// torch_npu has one for all its threads.
class StreamContext final : public Context {
 public:
  Status SetExecuteStream(aclrtStream stream) override {
    stream_ = stream;
    return NO_ERROR;
  }
  aclrtStream GetExecuteStream() const override { return stream_; }
  // Where the device gets its tiling from has no meaning here.
  Status SetAsyncTilingCopyStatus(bool enable) override {
    copies_tiling_ = enable;
    return NO_ERROR;
  }
  bool GetAsyncTilingCopyStatus() const override { return copies_tiling_; }

 private:
  std::atomic<aclrtStream> stream_{nullptr};
  std::atomic<bool> copies_tiling_{false};
};

}  // namespace

OPWRIGHT_API Status CreateContext(Context** context) {
  return opwright::atb_library::status_of(opwright::call(
      "atb::CreateContext", [&] { opwright::out(context, "context", ERROR_INVALID_PARAM) = new StreamContext(); }));
}

OPWRIGHT_API Status DestroyContext(Context* context) {
  return opwright::atb_library::status_of(opwright::call("atb::DestroyContext", [&] {
    opwright::require(context != nullptr, ERROR_INVALID_CONTEXT_ADDR, "the context is null");
    delete context;
  }));
}

uint64_t Utils::GetTensorSize(const Tensor& tensor) {
  uint64_t elements = 1;
  const uint64_t rank = std::min<uint64_t>(tensor.desc.shape.dimNum, kMostDimensions);
  for (uint64_t i = 0; i < rank; ++i) elements *= static_cast<uint64_t>(tensor.desc.shape.dims[i]);
  return elements * aclDataTypeSize(tensor.desc.dtype);
}

}  // namespace atb

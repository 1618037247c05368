// native/graph/session.cpp
// The graph engine: refused by name. GEInitialize fails first, so TorchAir stops there and shows its text.
#include "ge/session.h"

#include <string>

#include "graph/error_message.h"
#include "runtime/call.h"

OPWRIGHT_MARK_REFUSED(_ZN2ge12GEInitializeERKSt3mapINS_12AscendStringES1_St4lessIS1_ESaISt4pairIKS1_S1_EEE);
OPWRIGHT_MARK_REFUSED(_ZN2ge7SessionC1ERKSt3mapINS_12AscendStringES2_St4lessIS2_ESaISt4pairIKS2_S2_EEE);
OPWRIGHT_MARK_REFUSED(
    _ZN2ge7Session8AddGraphEjRKNS_5GraphERKSt3mapINS_12AscendStringES5_St4lessIS5_ESaISt4pairIKS5_S5_EEE);
OPWRIGHT_MARK_REFUSED(_ZN2ge7Session12CompileGraphEj);
OPWRIGHT_MARK_REFUSED(_ZN2ge7Session23GetCompiledGraphSummaryEj);
OPWRIGHT_MARK_REFUSED(_ZN2ge7Session11RemoveGraphEj);
OPWRIGHT_MARK_REFUSED(_ZN2ge7Session8RunGraphEjRKSt6vectorINS_6TensorESaIS2_EERS4_);
OPWRIGHT_MARK_REFUSED(_ZN2ge7Session23RunGraphWithStreamAsyncEjPvRKSt6vectorINS_6TensorESaIS3_EERS5_);
OPWRIGHT_MARK_REFUSED(_ZNK2ge7Session25RegisterExternalAllocatorEPKvSt10shared_ptrINS_9AllocatorEE);
OPWRIGHT_MARK_REFUSED(_ZN2ge7Session23SetGraphConstMemoryBaseEjPKvm);
OPWRIGHT_MARK_REFUSED(_ZN2ge7Session28UpdateGraphFeatureMemoryBaseEjPKvm);
OPWRIGHT_MARK_REFUSED(_ZN2ge7Session30SetGraphFixedFeatureMemoryBaseEjPKvm);
OPWRIGHT_MARK_REFUSED(_ZN2ge7Session39UpdateGraphRefreshableFeatureMemoryBaseEjPKvm);

namespace opwright::graph {
namespace {

ge::Status refused(const char* function) {
  const trace::Span span(function);
  refuse(function, "the graph engine (TorchAir's max-autotune mode) is not part of this version; run the model eagerly",
         static_cast<int>(ge::FAILED));
  return ge::FAILED;
}

}  // namespace

const char* take_error_message() {
  thread_local std::string message;
  message = take_recent_message();
  return message.c_str();
}

}  // namespace opwright::graph

namespace ge {

using opwright::graph::refused;

Status GEInitialize(const Options&) { return refused("ge::GEInitialize"); }

// Succeeds as in CANN when the engine was not initialised: there is nothing to release.
Status GEFinalize() { return SUCCESS; }

// Nothing warns.
AscendString GEGetWarningMsgV2() { return {}; }

// A constructor returns no status; every function of the session fails.
Session::Session(const Options&) : id_(0) { refused("ge::Session::Session"); }

Session::~Session() = default;

Status Session::AddGraph(uint32_t, const Graph&, const Options&) { return refused("ge::Session::AddGraph"); }

Status Session::CompileGraph(uint32_t) { return refused("ge::Session::CompileGraph"); }

std::shared_ptr<CompiledGraphSummary> Session::GetCompiledGraphSummary(uint32_t) {
  refused("ge::Session::GetCompiledGraphSummary");
  return nullptr;
}

Status Session::RemoveGraph(uint32_t) { return refused("ge::Session::RemoveGraph"); }

Status Session::RunGraph(uint32_t, const std::vector<Tensor>&, std::vector<Tensor>&) {
  return refused("ge::Session::RunGraph");
}

Status Session::RunGraphWithStreamAsync(uint32_t, void*, const std::vector<Tensor>&, std::vector<Tensor>&) {
  return refused("ge::Session::RunGraphWithStreamAsync");
}

Status Session::RegisterExternalAllocator(const void*, std::shared_ptr<Allocator>) const {
  return refused("ge::Session::RegisterExternalAllocator");
}

Status Session::SetGraphConstMemoryBase(uint32_t, const void*, size_t) {
  return refused("ge::Session::SetGraphConstMemoryBase");
}

Status Session::UpdateGraphFeatureMemoryBase(uint32_t, const void*, size_t) {
  return refused("ge::Session::UpdateGraphFeatureMemoryBase");
}

Status Session::SetGraphFixedFeatureMemoryBase(uint32_t, const void*, size_t) {
  return refused("ge::Session::SetGraphFixedFeatureMemoryBase");
}

Status Session::UpdateGraphRefreshableFeatureMemoryBase(uint32_t, const void*, size_t) {
  return refused("ge::Session::UpdateGraphRefreshableFeatureMemoryBase");
}

}  // namespace ge

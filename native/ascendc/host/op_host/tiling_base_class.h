// op_host/tiling_base_class.h
// TilingBaseClass: the steps of a tiling, which a class per way of computing fills in.
#pragma once

#include <cstdint>
#include <string>

#include "exe_graph/runtime/tiling_context.h"
#include "graph/utils/type_utils.h"
#include "log/log.h"
#include "platform/soc_spec.h"
#include "tiling/platform/platform_ascendc.h"

#ifndef ASCENDC_EXTERN_C
#define ASCENDC_EXTERN_C
#endif

namespace Ops::Base {

// Bytes, but for the numbers of cores.
struct AiCoreParams {
  uint64_t ubSize = 0;
  uint64_t numBlocks = 0;
  uint64_t aicNum = 0;
  uint64_t l1Size = 0;
  uint64_t l0aSize = 0;
  uint64_t l0bSize = 0;
  uint64_t l0cSize = 0;
};
struct CompileInfoCommon {
  uint32_t aivNum;
  uint32_t aicNum;
  uint64_t ubSize;
  uint64_t l1Size;
  uint64_t l0aSize;
  uint64_t l0bSize;
  uint64_t l0cSize;
  uint64_t l2CacheSize;
  int64_t coreNum;
  int32_t socVersion;
  uint32_t rsvd;
};

class TilingBaseClass {
 public:
  explicit TilingBaseClass(gert::TilingContext* context) : context_(context) {}
  virtual ~TilingBaseClass() = default;

  // GRAPH_PARAM_INVALID: this class does not compute such operands, the next one may.
  ge::graphStatus DoTiling() {
    if (context_ == nullptr) {
      OP_LOGE("TilingBaseClass", "%s", "the context is null");
      return ge::GRAPH_FAILED;
    }
    using Step = ge::graphStatus (TilingBaseClass::*)();
    constexpr Step kBefore[] = {&TilingBaseClass::GetShapeAttrsInfo, &TilingBaseClass::GetPlatformInfo};
    constexpr Step kAfter[] = {&TilingBaseClass::DoOpTiling, &TilingBaseClass::DoLibApiTiling,
                               &TilingBaseClass::GetWorkspaceSize, &TilingBaseClass::PostTiling};
    for (const Step step : kBefore) {
      if (const ge::graphStatus status = (this->*step)(); status != ge::GRAPH_SUCCESS) return status;
    }
    if (!IsCapable()) return ge::GRAPH_PARAM_INVALID;
    for (const Step step : kAfter) {
      if (const ge::graphStatus status = (this->*step)(); status != ge::GRAPH_SUCCESS) return status;
    }
    context_->SetTilingKey(GetTilingKey());
    DumpTilingInfo();
    return ge::GRAPH_SUCCESS;
  }
  virtual void Reset(gert::TilingContext* context) { context_ = context; }

 protected:
  virtual bool IsCapable() = 0;
  virtual ge::graphStatus GetPlatformInfo() = 0;
  virtual ge::graphStatus GetShapeAttrsInfo() = 0;
  virtual ge::graphStatus DoOpTiling() = 0;
  virtual ge::graphStatus DoLibApiTiling() = 0;
  [[nodiscard]] virtual uint64_t GetTilingKey() const = 0;
  virtual ge::graphStatus GetWorkspaceSize() = 0;
  virtual ge::graphStatus PostTiling() = 0;
  virtual void DumpTilingInfo() {}

  gert::TilingContext* context_ = nullptr;
  uint32_t numBlocks_ = 0;
  uint64_t workspaceSize_ = 0;
  uint64_t tilingKey_ = 0;
  AiCoreParams aicoreParams_;
};

}  // namespace Ops::Base

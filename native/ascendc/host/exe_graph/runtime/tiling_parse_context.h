// exe_graph/runtime/tiling_parse_context.h
// The context that a TilingParse function fills in once: an object of the operator, for all its tilings.
#pragma once

#include "exe_graph/runtime/extended_kernel_context.h"

namespace gert {

class TilingParseContext : public ExtendedKernelContext {
 public:
  TilingParseContext(opwright::ascendc::Node& node, void* compiled)
      : ExtendedKernelContext(node), compiled_(compiled) {}

  template <class T>
  auto GetCompiledInfo() -> T* {
    return static_cast<T*>(compiled_);
  }
  // The vendor's compiler describes a kernel here; there is nothing to say about ours.
  const char* GetCompiledJson() const { return "{}"; }
  fe::PlatFormInfos* GetPlatformInfo() const { return node().platform; }

 private:
  void* compiled_;
};

}  // namespace gert

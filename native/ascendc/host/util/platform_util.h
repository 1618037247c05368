// util/platform_util.h
// Questions of tiling about the chip, answered by a context. Source: asc-devkit's opbase,
// op_common/op_host/util/platform_util.h.
#pragma once

#include <cstdint>

#include "exe_graph/runtime/tiling_context.h"
#include "exe_graph/runtime/tiling_parse_context.h"
#include "log/log.h"
#include "tiling/platform/platform_ascendc.h"

namespace Ops::Base {
namespace detail {

// `read` of the platform, or 0.
template <class Context, class Read>
uint32_t ask_platform(const char* what, const Context* context, const Read& read) {
  auto* const platform = context == nullptr ? nullptr : context->GetPlatformInfo();
  if (platform == nullptr) {
    OP_LOGE(what, "the context has no platform");
    return 0;
  }
  return static_cast<uint32_t>(read(platform_ascendc::PlatformAscendC(platform)));
}

}  // namespace detail

template <class Context>
uint32_t GetAivCoreNum(const Context* context) {
  return detail::ask_platform("GetAivCoreNum", context, [](auto platform) { return platform.GetCoreNumAiv(); });
}
template <class Context>
uint32_t GetAicCoreNum(const Context* context) {
  return detail::ask_platform("GetAicCoreNum", context, [](auto platform) { return platform.GetCoreNumAic(); });
}
template <class Context>
uint32_t GetUbSize(const Context* context) {
  return detail::ask_platform("GetUbSize", context, [](auto platform) {
    uint64_t bytes = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, bytes);
    return bytes;
  });
}
template <class Context>
uint32_t GetWorkspaceSize(const Context* context) {
  return detail::ask_platform("GetWorkspaceSize", context,
                              [](auto platform) { return platform.GetLibApiWorkSpaceSize(); });
}
// Bytes that do not depend on the chip.
template <class Context>
uint32_t GetUbBlockSize(const Context*) {
  return 32;
}
template <class Context>
uint32_t GetVRegSize(const Context*) {
  return 256;
}
template <class Context>
uint32_t GetCacheLineSize(const Context*) {
  return 256;
}
template <class Context>
uint32_t GetSectorCacheLineSize(const Context*) {
  return 128;
}
template <class Context>
uint32_t GetSimtMaxThreadNum(const Context*) {
  return 2048;
}
template <class Context>
uint32_t GetSimtMaxDCacheSize(const Context*) {
  return 131072;
}
template <class Context>
uint32_t GetNddmaDcacheSize(const Context*) {
  return 8192;
}

}  // namespace Ops::Base

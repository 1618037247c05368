// native/ascendc/package/platform.cpp
#include "ascendc/package/platform.h"

#include "acl/acl_rt.h"
#include "ascendc/runtime/soc_memory.h"
#include "runtime/device.h"
#include "runtime/soc.h"
#include "tiling/platform/platform_ascendc.h"

namespace opwright::ascendc {
namespace {

using platform_ascendc::CoreMemType;

fe::PlatFormInfos facts_of(const Soc& soc) {
  fe::PlatFormInfos result;
  result.soc = soc.name;
  result.family = soc.short_name;
  result.split = result.family != "ascend910" && result.family != "ascend310p";
  result.cube_cores = static_cast<uint32_t>(soc.cube_cores);
  result.vector_cores = static_cast<uint32_t>(soc.vector_cores);
  const AscendC::machine::Capacities sizes = AscendC::machine::capacities_of(soc.short_name);
  const auto bytes = [&](AscendC::machine::Memory memory) { return sizes[static_cast<size_t>(memory)]; };
  using AscendC::machine::Memory;
  const std::pair<CoreMemType, uint64_t> memories[] = {
      {CoreMemType::L0_A, bytes(Memory::kL0A)}, {CoreMemType::L0_B, bytes(Memory::kL0B)},
      {CoreMemType::L0_C, bytes(Memory::kL0C)}, {CoreMemType::L1, bytes(Memory::kL1)},
      {CoreMemType::L2, soc.l2_cache},          {CoreMemType::UB, bytes(Memory::kUnified)},
      {CoreMemType::HBM, soc.memory},           {CoreMemType::FB, bytes(Memory::kFixpipe)},
      {CoreMemType::BT, bytes(Memory::kBias)},
  };
  for (const auto& [memory, size] : memories) result.memories[static_cast<int>(memory)] = size;
  result.entries = {
      {{"version", "SoC_version"}, soc.name},
      {{"version", "Short_SoC_version"}, soc.short_name},
      {{"SoCInfo", "ai_core_cnt"}, std::to_string(soc.cube_cores)},
      {{"SoCInfo", "cube_core_cnt"}, std::to_string(soc.cube_cores)},
      {{"SoCInfo", "vector_core_cnt"}, std::to_string(soc.vector_cores)},
      {{"SoCInfo", "l2_size"}, std::to_string(soc.l2_cache)},
      {{"AICoreSpec", "ub_size"}, std::to_string(bytes(Memory::kUnified))},
      {{"AICoreSpec", "l1_size"}, std::to_string(bytes(Memory::kL1))},
  };
  return result;
}

// The limit of the stream or the device for this thread; all, where no device is in use: ACL is not asked there, since
// its error would be one that nobody reads.
uint32_t limit_of(aclrtDevResLimitType type, uint32_t all) {
  uint32_t limit = 0;
  if (!has_thread_limits()) return all;
  return aclrtGetResInCurrentThread(type, &limit) == ACL_SUCCESS ? limit : all;
}

}  // namespace

fe::PlatFormInfos& platform() {
  static const fe::PlatFormInfos facts = facts_of(soc());
  thread_local fe::PlatFormInfos limited = facts;
  limited.cube_cores = limit_of(ACL_RT_DEV_RES_CUBE_CORE, facts.cube_cores);
  limited.vector_cores = limit_of(ACL_RT_DEV_RES_VECTOR_CORE, facts.vector_cores);
  return limited;
}

}  // namespace opwright::ascendc

namespace platform_ascendc {
namespace {

// The first call decides.
PlatformAscendC* instance(const opwright::Soc* soc) {
  static fe::PlatFormInfos facts = soc == nullptr ? opwright::ascendc::platform() : opwright::ascendc::facts_of(*soc);
  static PlatformAscendC platform(&facts);
  return &platform;
}

}  // namespace

PlatformAscendC* PlatformAscendCManager::GetInstance() { return instance(nullptr); }

PlatformAscendC* PlatformAscendCManager::GetInstance(const char* name) {
  if (name == nullptr) return instance(nullptr);
  const opwright::Soc* const soc = opwright::find_soc(name);
  return soc == nullptr ? nullptr : instance(soc);
}

}  // namespace platform_ascendc

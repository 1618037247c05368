// native/ascendc/kernel/core/system.h
// Which block and core this is, workspaces, and facts of the SoC.
#pragma once

#include <chrono>

#include "core/machine.h"

namespace AscendC {

constexpr int AIC = 1;
constexpr int AIV = 2;
constexpr int MIX = 0;

// A name that reads as the kind of the running core. On the device it is a constant; the compiler shows a line of this
// to whoever takes it for one.
struct CoreTypeName {
  OPWRIGHT_INLINE operator int() const {  // known at run time: write if, not if constexpr; see docs/ascend_c.md
    return machine::core().kind == machine::CoreKind::kCube ? AIC : AIV;
  }
};
inline constexpr CoreTypeName g_coreType{};

// Vector kernels count vector cores; in a mix kernel the AIC counts AI cores and the AIV all their vector cores.
OPWRIGHT_INLINE int64_t GetBlockIdx() {
  const machine::Core& self = machine::core();
  if (self.kind == machine::CoreKind::kCube) return self.block;
  return int64_t{self.block} * self.sub_blocks + self.sub_block;
}
OPWRIGHT_INLINE int64_t GetBlockNum() { return machine::core().blocks; }
OPWRIGHT_INLINE int64_t GetSubBlockIdx() { return machine::core().sub_block; }
// Cores of the caller's kind in an AI core of this launch.
OPWRIGHT_INLINE int64_t GetSubBlockNum() {
  return machine::core().kind == machine::CoreKind::kCube ? 1 : machine::core().sub_blocks;
}
OPWRIGHT_INLINE int64_t GetTaskRatio() { return GetSubBlockNum(); }
OPWRIGHT_INLINE int64_t GetTaskRation() { return GetTaskRatio(); }  // its older name
OPWRIGHT_INLINE int64_t GetSystemCycle() {
  return std::chrono::steady_clock::now().time_since_epoch().count() / 20;  // 50 MHz, as documented
}
OPWRIGHT_INLINE int64_t GetProgramCounter() {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(__builtin_return_address(0)));
}
OPWRIGHT_INLINE void GetArchVersion(uint32_t& version) { version = 0x220; }
OPWRIGHT_INLINE void InitSocState() {}
OPWRIGHT_INLINE constexpr int16_t GetDataBlockSizeInBytes() { return 32; }
OPWRIGHT_INLINE constexpr uint32_t GetVecLen() { return 256; }
OPWRIGHT_INLINE constexpr uint32_t GetUBSizeInBytes() { return 192 * 1024; }
OPWRIGHT_INLINE uint32_t GetRuntimeUBSize() {
  return machine::core().memory[static_cast<size_t>(machine::Memory::kUnified)].bytes;
}

OPWRIGHT_INLINE __gm__ uint8_t* GetSysWorkSpacePtr() { return machine::core().system_workspace; }
OPWRIGHT_INLINE void SetSysWorkspace(GM_ADDR workspace) {
  if (machine::core().system_workspace == nullptr) machine::core().system_workspace = workspace;
}
// The part that the kernel may use. What the high-level API needs of the system's part is kept by the runtime, so that
// the user's part is the whole.
OPWRIGHT_INLINE GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return machine::host_address(workspace); }

}  // namespace AscendC

// The device compiler's name for the block's number.
struct OpwrightBlockIndex {
  OPWRIGHT_INLINE operator int64_t() const { return AscendC::GetBlockIdx(); }
};
inline constexpr OpwrightBlockIndex block_idx{};

// Kernels call these without the namespace, too.
using AscendC::GetSysWorkSpacePtr;

#define ASCEND_IS_AIC (::AscendC::g_coreType == ::AscendC::AIC)
#define ASCEND_IS_AIV (::AscendC::g_coreType == ::AscendC::AIV)

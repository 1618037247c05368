// tiling/platform/platform_ascendc.h
// Cores and memories of the chip, for tiling.
#pragma once

#include <cstdint>

#include "platform/platform_infos_def.h"
#include "platform/soc_spec.h"

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, FB = 7, BT = 8, RESERVED };

enum class SocVersion {
  ASCEND910 = 0,
  ASCEND910B,
  ASCEND910_93,
  ASCEND310P,
  ASCEND310B,
  ASCEND910_95,
  ASCEND950,
  ASCEND910_55,
  ASCEND910_96,
  ASCEND310M,
  KIRINX90,
  MC62CM12A,
  RESERVED_VERSION = 99999
};

enum class ReservedSize { RESERVED_SIZE_8K, RESERVED_SIZE_16K, RESERVED_SIZE_32K };

class PlatformAscendC {
 public:
  PlatformAscendC() = delete;
  explicit PlatformAscendC(fe::PlatFormInfos* info) : info_(info) {}

  // Vector cores where cube and vector cores are apart, else all cores.
  uint32_t GetCoreNum() const { return info_->vector_cores; }
  uint32_t GetCoreNumAic() const { return info_->cube_cores; }
  uint32_t GetCoreNumAiv() const { return info_->vector_cores; }
  // Vector cores besides those of AI cores.
  uint32_t GetCoreNumVector() const { return info_->family == "ascend310p" ? 7 : 0; }
  SocVersion GetSocVersion() const;
  NpuArch GetCurNpuArch() const;
  uint32_t GetVecRegLen() const { return info_->family == "ascend950" ? 256 : 0; }

  // Blocks to launch for `slices` pieces of work: with cube and vector cores, one block is one cube core and the vector
  // cores that go with it.
  uint32_t CalcTschNumBlocks(uint32_t slices, uint32_t cube_cores, uint32_t vector_cores) const {
    if (!info_->split || cube_cores == 0 || vector_cores == 0 || cube_cores > vector_cores) return slices;
    const uint32_t per_block = vector_cores / cube_cores;
    return (slices + per_block - 1) / per_block;
  }
  uint32_t CalcTschBlockDim(uint32_t slices, uint32_t cube_cores, uint32_t vector_cores) const {
    return CalcTschNumBlocks(slices, cube_cores, vector_cores);
  }

  // Bytes; 0 for a memory that the chip does not have.
  void GetCoreMemSize(const CoreMemType& memory, uint64_t& size) const {
    const auto found = info_->memories.find(static_cast<int>(memory));
    size = found == info_->memories.end() ? 0 : found->second;
    if (memory == CoreMemType::UB) size -= reserved_;
  }
  // Bytes per cycle. Typical numbers: nothing on the twin depends on them.
  void GetCoreMemBw(const CoreMemType& memory, uint64_t& bandwidth) const {
    bandwidth = memory == CoreMemType::L2 ? 110 : memory == CoreMemType::HBM ? 32 : 0;
  }
  void ReserveLocalMemory(ReservedSize size) { reserved_ = uint64_t{8192} << static_cast<int>(size); }

  // Bytes at the start of the workspace that high-level APIs use.
  uint32_t GetLibApiWorkSpaceSize() const { return info_->split ? 16u << 20 : 2u << 20; }
  uint32_t GetResCubeGroupWorkSpaceSize() const { return 1u << 20; }
  uint32_t GetResGroupBarrierWorkSpaceSize() const { return 1u << 20; }

 private:
  fe::PlatFormInfos* info_;
  uint64_t reserved_ = 0;
};

inline SocVersion PlatformAscendC::GetSocVersion() const {
  struct Row {
    const char* family;
    SocVersion version;
  };
  // As documented, 910_93 answers as 910B.
  static constexpr Row kRows[] = {
      {"ascend910", SocVersion::ASCEND910},     {"ascend910b", SocVersion::ASCEND910B},
      {"ascend910_93", SocVersion::ASCEND910B}, {"ascend310p", SocVersion::ASCEND310P},
      {"ascend310b", SocVersion::ASCEND310B},   {"ascend950", SocVersion::ASCEND950},
  };
  for (const Row& row : kRows) {
    if (info_->family == row.family) return row.version;
  }
  return SocVersion::RESERVED_VERSION;
}

inline NpuArch PlatformAscendC::GetCurNpuArch() const {
  switch (GetSocVersion()) {
    case SocVersion::ASCEND910:
      return NpuArch::DAV_1001;
    case SocVersion::ASCEND310P:
      return NpuArch::DAV_2002;
    case SocVersion::ASCEND910B:
      return NpuArch::DAV_2201;
    case SocVersion::ASCEND310B:
      return NpuArch::DAV_3002;
    case SocVersion::ASCEND950:
      return NpuArch::DAV_3510;
    default:
      return NpuArch::DAV_RESV;
  }
}

// For programs that launch kernels themselves.
class PlatformAscendCManager {
 public:
  // The chip that this process reports.
  __attribute__((visibility("default"))) static PlatformAscendC* GetInstance();
  // The first call decides for all. Null for an unknown name.
  __attribute__((visibility("default"))) static PlatformAscendC* GetInstance(const char* soc);
};

}  // namespace platform_ascendc

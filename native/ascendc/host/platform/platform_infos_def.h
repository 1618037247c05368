// platform/platform_infos_def.h
// The chip, as host code of operators asks for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace fe {

enum class LocalMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };

class PlatFormInfos {
 public:
  // Vector cores where cube and vector cores are apart, else all cores.
  uint32_t GetCoreNum() const { return vector_cores; }
  uint32_t GetCoreNumByType(const std::string& type) const { return type == "VectorCore" ? vector_cores : cube_cores; }
  void SetCoreNumByCoreType(const std::string&) const {}
  // 0 for a memory that the chip does not have.
  void GetLocalMemSize(const LocalMemType& memory, uint64_t& size) const {
    const auto found = memories.find(static_cast<int>(memory));
    size = found == memories.end() ? 0 : found->second;
  }
  // Entries as in the vendor's chip descriptions: label, key -> text.
  bool GetPlatformRes(const std::string& label, const std::string& key, std::string& value) const {
    const auto found = entries.find({label, key});
    if (found == entries.end()) return false;
    value = found->second;
    return true;
  }
  bool GetPlatformResWithLock(const std::string& label, const std::string& key, std::string& value) const {
    return GetPlatformRes(label, key, value);
  }

  // The facts; the package that calls the operator has them.
  std::string soc;     // Ascend910B1
  std::string family;  // ascend910b
  bool split = true;   // cube and vector cores are apart
  uint32_t cube_cores = 0;
  uint32_t vector_cores = 0;
  std::map<int, uint64_t> memories;  // bytes, by CoreMemType
  std::map<std::pair<std::string, std::string>, std::string> entries;
};

class OptionalInfos {};

}  // namespace fe

// native/runtime/soc.cpp
// Names are those that torch_npu accepts (c10_npu SocVersion table); any other name stops its initialisation.
// Core counts and memory sizes are the published ones of each chip; they are reported, they do not limit the kernels.
#include "runtime/soc.h"

#include "runtime/settings.h"

namespace opwright {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kMiB = uint64_t{1} << 20;

constexpr Soc kSocs[] = {
    // name, family, cube, vector, memory, L2, aclnn by default, bfloat16
    {"Ascend910PremiumA", "ascend910", 32, 32, 32 * kGiB, 32 * kMiB, false, false},
    {"Ascend910ProA", "ascend910", 32, 32, 32 * kGiB, 32 * kMiB, false, false},
    {"Ascend910A", "ascend910", 32, 32, 32 * kGiB, 32 * kMiB, false, false},
    {"Ascend910ProB", "ascend910", 32, 32, 32 * kGiB, 32 * kMiB, false, false},
    {"Ascend910B", "ascend910", 32, 32, 32 * kGiB, 32 * kMiB, false, false},
    {"Ascend310P1", "ascend310p", 10, 8, 24 * kGiB, 16 * kMiB, false, false},
    {"Ascend310P2", "ascend310p", 10, 8, 24 * kGiB, 16 * kMiB, false, false},
    {"Ascend310P3", "ascend310p", 8, 8, 24 * kGiB, 16 * kMiB, false, false},
    {"Ascend310P4", "ascend310p", 8, 8, 24 * kGiB, 16 * kMiB, false, false},
    {"Ascend310P5", "ascend310p", 8, 8, 24 * kGiB, 16 * kMiB, false, false},
    {"Ascend310P7", "ascend310p", 8, 8, 24 * kGiB, 16 * kMiB, false, false},
    {"Ascend910B1", "ascend910b", 24, 48, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend910B2", "ascend910b", 24, 48, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend910B2C", "ascend910b", 24, 48, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend910B3", "ascend910b", 20, 40, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend910B4", "ascend910b", 20, 40, 32 * kGiB, 96 * kMiB, true, true},
    {"Ascend910B4-1", "ascend910b", 20, 40, 64 * kGiB, 168 * kMiB, true, true},
    {"Ascend310B1", "ascend310b", 1, 1, 16 * kGiB, 4 * kMiB, true, true},
    {"Ascend310B2", "ascend310b", 1, 1, 16 * kGiB, 4 * kMiB, true, true},
    {"Ascend310B3", "ascend310b", 1, 1, 16 * kGiB, 4 * kMiB, true, true},
    {"Ascend310B4", "ascend310b", 1, 1, 16 * kGiB, 4 * kMiB, true, true},
    {"Ascend910_9391", "ascend910_93", 24, 48, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend910_9392", "ascend910_93", 24, 48, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend910_9381", "ascend910_93", 24, 48, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend910_9382", "ascend910_93", 24, 48, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend910_9372", "ascend910_93", 20, 40, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend910_9362", "ascend910_93", 20, 40, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend910_9363", "ascend910_93", 20, 40, 64 * kGiB, 192 * kMiB, true, true},
    {"Ascend950", "ascend950", 32, 64, 112 * kGiB, 128 * kMiB, true, true},
};

const std::string kOpenFamily = "Ascend950";  // torch_npu accepts every name that starts so

}  // namespace

const Soc* find_soc(const std::string& name) {
  const bool open = name.compare(0, kOpenFamily.size(), kOpenFamily) == 0;
  for (const Soc& candidate : kSocs) {
    if (name == candidate.name || (open && kOpenFamily == candidate.name)) return &candidate;
  }
  return nullptr;
}

std::string known_soc_names() {
  std::string names;
  for (const Soc& candidate : kSocs) {
    if (!names.empty()) names += ", ";
    names += candidate.name;
  }
  return names + " (and names that start with it)";
}

const Soc& soc() { return *find_soc(settings().soc); }

}  // namespace opwright

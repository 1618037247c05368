// native/collective/config.cpp
// Process-wide settings of the collectives.
#include "collective/config.h"

#include <array>
#include <atomic>

#include "hccl/hccl.h"
#include "runtime/call.h"

using namespace opwright;

namespace {

std::array<std::atomic<int32_t>, HCCL_CONFIG_RESERVED> values{};

}  // namespace

int32_t collective::config(HcclConfig config) { return values.at(static_cast<size_t>(config)).load(); }

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  return static_cast<HcclResult>(call(
      "HcclSetConfig",
      [&] {
        const auto index = static_cast<size_t>(config);
        require(index < values.size(), HCCL_E_PARA, "setting ", static_cast<int>(config),
                " is not known; allowed are 0 (deterministic) and 1 (accelerator)");
        values[index].store(configValue.value);
      },
      arg("config", config), arg("value", configValue.value)));
}

// All fields are read; those about buffers, algorithms, networks and retries have nothing to change on a CPU.
uint32_t HcclGetCommConfigCapability() { return HCCL_COMM_CONFIG_RESERVED; }

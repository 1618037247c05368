// builder/Builder.h: makes networks, and models of them.
#ifndef ASCENDIE_BUILDER_BUILDER_H
#define ASCENDIE_BUILDER_BUILDER_H

#include <cstddef>

#include "builder/BuilderConfig.h"
#include "common/Common.h"
#include "network/Network.h"

namespace AscendIE {

class ASCENDIE_API Builder {
 public:
  /// The chip's name is kept; every chip is this machine's CPU.
  static Builder* CreateInferBuilder(const char* soc) noexcept;
  /// The caller owns the network.
  Network* CreateNetwork() noexcept;
  /// Empty if the network has errors; they are read from the network. Without a network: from the builder.
  ModelData BuildModel(Network* network, const BuilderConfig& config) noexcept;
  /// Errors of calls that had no network; of the whole process.
  size_t GetErrorsNum() const noexcept;
  const char* GetErrorByIndex(size_t index) const noexcept;

  /// Programs put the builder into smart pointers: deleting the process's only one does nothing.
  static void operator delete(void* /*instance*/) noexcept {}
};

/// Ends the use of the engine; nothing is left to free on the CPU.
ASCENDIE_API void Finalize() noexcept;

}  // namespace AscendIE
#endif

// builder.cpp: Builder.
#include "builder/Builder.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>
#include <string>

#include "impl.h"
#include "passes/passes.h"
#include "program.h"

namespace AscendIE {

Builder* Builder::CreateInferBuilder(const char* /*soc*/) noexcept {
  static Builder builder;
  return &builder;
}

Network* Builder::CreateNetwork() noexcept { return std::make_unique<Network>().release(); }

ModelData Builder::BuildModel(Network* network, const BuilderConfig& config) noexcept {
  if (!network) return {};
  NetworkImpl& impl = NetworkImpl::of(*network);
  // A setter may have changed a layer after others were added behind it.
  for (const auto& layer : impl.layers) LayerImpl::of(*layer).infer();
  if (!impl.errors().empty()) return {};
  try {
    Program program = program_of(*network, config.GetFlag());
    optimize(program);
    const std::string text = serialize(program);
    std::shared_ptr<uint8_t> data(new uint8_t[text.size()], std::default_delete<uint8_t[]>());
    std::copy(text.begin(), text.end(), data.get());
    return {std::move(data), text.size()};
  } catch (const c10::Error& e) {
    impl.call_errors.push_back(std::string("BuildModel: ") + e.what_without_backtrace());
    return {};
  }
}

void Finalize() noexcept {}

}  // namespace AscendIE

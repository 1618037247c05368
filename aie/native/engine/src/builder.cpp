// builder.cpp: Builder.
#include "builder/Builder.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "error_list.h"
#include "impl.h"
#include "passes/passes.h"
#include "program.h"

namespace AscendIE {

namespace {

ErrorList& builder_errors() {
  static ErrorList errors;
  return errors;
}

/// Contexts find inputs and outputs by their names; one tensor may be both.
void expect_own_names(const Program& program) {
  std::map<std::string_view, const Binding*> named;
  for (const auto* bindings : {&program.inputs, &program.outputs}) {
    for (const Binding& binding : *bindings) {
      const auto [other, added] = named.try_emplace(binding.name, &binding);
      TORCH_CHECK_VALUE(added || other->second->value == binding.value, "two inputs or outputs are named ",
                        in_quotes(binding.name), ": give one another name (SetName)");
    }
  }
}

}  // namespace

Builder* Builder::CreateInferBuilder(const char* /*soc*/) noexcept {
  static Builder builder;
  return &builder;
}

Network* Builder::CreateNetwork() noexcept { return std::make_unique<Network>().release(); }

ModelData Builder::BuildModel(Network* network, const BuilderConfig& config) noexcept {
  if (!network) {
    builder_errors().add("BuildModel: the network is null");
    return {};
  }
  NetworkImpl& impl = NetworkImpl::of(*network);
  impl.build_error.clear();
  // A setter may have changed a layer after others were added behind it.
  for (const auto& layer : impl.layers) LayerImpl::of(*layer).infer();
  if (!impl.errors().empty()) return {};
  try {
    Program program = program_of(*network, config.GetFlag());
    expect_own_names(program);
    optimize(program);
    const std::string text = serialize(program);
    std::shared_ptr<uint8_t> data(new uint8_t[text.size()], std::default_delete<uint8_t[]>());
    std::copy(text.begin(), text.end(), data.get());
    return {std::move(data), text.size()};
  } catch (const c10::Error& e) {
    impl.build_error = std::string("BuildModel: ") + e.what_without_backtrace();
    return {};
  }
}

size_t Builder::GetErrorsNum() const noexcept { return builder_errors().size(); }

const char* Builder::GetErrorByIndex(size_t index) const noexcept { return builder_errors().at(index); }

void Finalize() noexcept {}

}  // namespace AscendIE

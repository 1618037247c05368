// engine.cpp: registers the class of engines, and the operator that runs one.
#include "engine.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <torch/custom_class.h>
#include <torch/library.h>

namespace torch_aie::core::runtime {

namespace {

constexpr const char* kVersion = "1";

// A tensor of bytes: strings of TorchScript are UTF-8.
using State = std::tuple<std::string, at::Tensor>;

at::Tensor bytes_of(const std::string& text) {
  at::Tensor bytes = at::empty({static_cast<int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), static_cast<char*>(bytes.mutable_data_ptr()));
  return bytes;
}

State get_state(const c10::intrusive_ptr<Engine>& engine) { return {kVersion, bytes_of(engine->model())}; }

c10::intrusive_ptr<Engine> set_state(State state) {
  const auto& [version, model] = state;
  TORCH_CHECK_VALUE(version == kVersion, "the module was compiled by another torch_aie: its engine has version '",
                    version, "', allowed is '", kVersion, "': compile it again");
  const at::Tensor bytes = model.cpu().contiguous();
  return c10::make_intrusive<Engine>(
      std::string(static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel())));
}

std::vector<at::Tensor> execute_engine(const std::vector<at::Tensor>& inputs,
                                       const c10::intrusive_ptr<Engine>& engine) {
  return engine->run(inputs);
}

}  // namespace

TORCH_LIBRARY(torch_aie, library) {
  library.class_<Engine>("Engine").def_pickle(
      [](const c10::intrusive_ptr<Engine>& engine) { return get_state(engine); },
      [](State state) { return set_state(std::move(state)); });
  library.def("execute_engine", execute_engine);
}

}  // namespace torch_aie::core::runtime

// engine.cpp: registers the class of engines, and the operator that runs one.
#include "engine.h"

#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include "log/log.h"

namespace torch_aie::core::runtime {

Engine::Engine(const std::string& model) : executor_(model) {
  const std::string& remark = executor_.Remark();
  if (!remark.empty()) log(Level::kInfo, "an engine plans its memory when it is first run: ", remark);
}

namespace {

constexpr const char* kVersion = "torch_aie engine 1";

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

/// Takes the inputs off the stack: an engine frees them after their last use if nobody else has them.
void execute_engine(const c10::OperatorHandle& /*handle*/, torch::jit::Stack* stack) {
  const auto engine = torch::jit::pop(*stack).toCustomClass<Engine>();
  std::vector<at::Tensor> inputs = torch::jit::pop(*stack).toTensorVector();
  torch::jit::push(*stack, engine->run(std::move(inputs)));
}

}  // namespace

TORCH_LIBRARY(torch_aie, library) {
  library.class_<Engine>("Engine").def_pickle(
      [](const c10::intrusive_ptr<Engine>& engine) { return get_state(engine); },
      [](State state) { return set_state(std::move(state)); });
  library.def("execute_engine(Tensor[] inputs, __torch__.torch.classes.torch_aie.Engine engine) -> Tensor[]",
              torch::CppFunction::makeFromBoxedFunction<&execute_engine>());
}

}  // namespace torch_aie::core::runtime

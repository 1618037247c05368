// engine.h: a model inside a TorchScript module.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "runtime/Executor.h"

namespace torch_aie::core::runtime {

/// Serialized as {version, model}.
class Engine : public torch::CustomClassHolder {
 public:
  explicit Engine(const std::string& model);

  std::vector<at::Tensor> run(std::vector<at::Tensor> inputs) const { return executor_.Run(std::move(inputs)); }
  std::string model() const { return executor_.Model(); }

 private:
  AscendIE::Executor executor_;
};

}  // namespace torch_aie::core::runtime

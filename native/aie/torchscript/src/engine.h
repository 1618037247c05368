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
  explicit Engine(std::string model) : model_(std::move(model)), executor_(model_) {}

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const { return executor_.Run(inputs); }
  const std::string& model() const { return model_; }

 private:
  std::string model_;
  AscendIE::Executor executor_;
};

}  // namespace torch_aie::core::runtime

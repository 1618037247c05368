// cpp/cumsum_infer.cpp: compiles a saved TorchScript module with the converters of a library.
//   cumsum_infer LIBRARY MODEL
#include <ATen/ATen.h>
#include <dlfcn.h>
#include <torch/csrc/jit/serialization/import.h>

#include <iostream>

#include "torch_aie.h"

int main(int count, char** arguments) try {
  if (count != 3) {
    std::cerr << "usage: cumsum_infer LIBRARY MODEL\n";
    return 2;
  }
  // Its registrations come after those of libtorch_aie, which is linked: the later one counts.
  if (dlopen(arguments[1], RTLD_NOW) == nullptr) {
    std::cerr << "cumsum_infer: " << dlerror() << '\n';
    return 1;
  }
  torch_aie::set_device(0);
  torch::jit::Module module = torch::jit::load(arguments[2]);
  module.eval();

  const std::vector<int64_t> shape{5, 5};
  torch_aie::torchscript::CompileSpec spec(
      {torch_aie::Input(shape, torch_aie::DataType::FLOAT, torch_aie::TensorFormat::ND)});
  spec.soc_version = "Ascend310P3";
  spec.min_block_size = 1;
  torch::jit::Module compiled = torch_aie::torchscript::compile(module, spec);

  const at::Tensor input = at::randint(0, 10, shape, at::kFloat);
  const at::Tensor ours = compiled.forward({input}).toTensor();
  const at::Tensor expected = module.forward({input}).toTensor();
  const double difference = (ours - expected).abs().max().item<double>();
  std::cout << "C++: largest difference from TorchScript " << difference << '\n';
  torch_aie::finalize();
  return difference == 0 ? 0 : 1;  // sums of a few small integers are exact at FP16, the default in C++
} catch (const c10::Error& error) {
  std::cerr << "cumsum_infer: " << error.what_without_backtrace() << '\n';
  return 1;
}

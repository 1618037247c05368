// native/sparse_attention/operators/without_gradient.cpp
// torch_npu has no gradient of attention to a quantised cache and registers nothing in its place: backward() then warns
// and leaves gradients out. Here it is an error that names the operator.
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

TORCH_LIBRARY_IMPL(npu, AutogradPrivateUse1, m) {
  m.impl("npu_kv_quant_sparse_flash_attention", torch::autograd::autogradNotImplementedFallback());
}

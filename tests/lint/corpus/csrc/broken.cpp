// The parser loses its way in this file, and comes back.
#include <torch/library.h>
DECLARE_MACHINE(at::Tensor, >>>)
at::Tensor twist(const at::Tensor &x { return x
TORCH_LIBRARY_IMPL(lab, CPU, m) {
    m.impl("gate", [](const at::Tensor &x, int64_t k) { return x.slice(1, 0, k).clone(); });
}

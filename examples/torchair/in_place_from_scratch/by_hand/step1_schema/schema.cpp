// Step 1: the schema. Tensor(a!) says that x is written; x is not returned, only the new tensor is.
#include <torch/library.h>

TORCH_LIBRARY_FRAGMENT(my_ops, m) { m.def("my_inplace(Tensor(a!) x, Tensor y) -> Tensor"); }

// Step 1: the schema. Tensors come first, then numbers, in the order of the device operator.
#include <torch/library.h>

TORCH_LIBRARY_FRAGMENT(my_ops, m) { m.def("my_op(Tensor x, Tensor? y, Tensor[] z, float attr1, int attr2) -> Tensor"); }

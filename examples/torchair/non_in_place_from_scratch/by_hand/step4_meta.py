"""Step 4: Meta. Shape and dtype of the result, from those of the arguments."""

import torch
from torch.library import Library, impl

m = Library("my_ops", "IMPL", "Meta")


@impl(m, "my_op")
def my_op_meta(x, y, z, attr1, attr2):
    return torch.empty_like(x)

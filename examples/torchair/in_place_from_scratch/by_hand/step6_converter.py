"""Step 6: the converter. In max-autotune, TorchAir makes a node of Ascend IR with it."""

import torch
from torchair import register_fx_node_ge_converter
from torchair.ge import custom_op


# A written input is an output of the same name; the PyTorch operator returns the new tensor only.
@register_fx_node_ge_converter(torch.ops.my_ops.my_inplace.default)
def convert_my_inplace(x, y):
    _, z = custom_op("MyInplace", inputs={"x": x, "y": y}, outputs=["x", "z"])
    return z

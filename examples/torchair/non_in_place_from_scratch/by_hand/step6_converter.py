"""Step 6: the converter. In max-autotune, TorchAir makes a node of Ascend IR with it."""

import torch
from torchair import register_fx_node_ge_converter
from torchair.ge import attr, custom_op


@register_fx_node_ge_converter(torch.ops.my_ops.my_op.default)
def convert_my_op(x, y, z, attr1, attr2):
    return custom_op(
        "MyOp",
        inputs={"x": x, "y": y, "z": z},
        outputs=["out"],
        attrs={"attr1": attr.Float(attr1), "attr2": attr.Int(attr2)},
    )

"""The converter of npu_add_custom: its node in the graphs of TorchAir's max-autotune mode.

The prototype of the device operator is

    REG_OP(AddCustom)
        .INPUT(x, ge::TensorType::ALL())
        .INPUT(y, ge::TensorType::ALL())
        .OUTPUT(z, ge::TensorType::ALL())
        .OP_END_FACTORY_REG(AddCustom);
"""

import torch
from torchair import register_fx_node_ge_converter
from torchair.ge import custom_op


@register_fx_node_ge_converter(torch.ops.npu.npu_add_custom.default)
def convert_npu_add_custom(x, y, meta_outputs=None):
    return custom_op("AddCustom", inputs={"x": x, "y": y}, outputs=["z"])

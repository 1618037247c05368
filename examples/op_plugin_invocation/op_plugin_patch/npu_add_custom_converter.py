"""The converter of npu_add_custom: its node in the graphs of TorchAir's max-autotune mode.

The prototype of the device operator is

    REG_OP(AddCustom)
        .INPUT(x, ge::TensorType::ALL())
        .INPUT(y, ge::TensorType::ALL())
        .OUTPUT(z, ge::TensorType::ALL())
        .OP_END_FACTORY_REG(AddCustom);
"""

from typing import Any

import torch
import torchair
from torchair import register_fx_node_ge_converter
from torchair.ge import Tensor


@register_fx_node_ge_converter(torch.ops.npu.npu_add_custom.default)
def convert_npu_add_custom(x: Tensor, y: Tensor, z: Tensor = None, meta_outputs: Any = None):
    return torchair.ge.custom_op("AddCustom", inputs={"x": x, "y": y}, outputs=["z"])

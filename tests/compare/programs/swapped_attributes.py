"""A custom operator whose converter takes one attribute for another."""

import torch
import torch_npu  # noqa: F401
import torchair
from torchair import ge

library = torch.library.Library("faulty", "DEF")
library.define("affine(Tensor x, float scale, float shift) -> Tensor")
library.impl("affine", lambda x, scale, shift: x * scale + shift, "PrivateUse1")
library.impl("affine", lambda x, scale, shift: torch.empty_like(x), "Meta")


@torchair.register_fx_node_ge_converter(torch.ops.faulty.affine.default)
def convert_affine(x, scale, shift, meta_outputs=None):
    product = ge.custom_op("Mul", inputs={"x1": x, "x2": ge.Const(shift)}, outputs=["y"])
    return ge.custom_op("Add", inputs={"x1": product, "x2": ge.Const(scale)}, outputs=["y"])


weight = torch.randn(8, 8).npu()


def step(x):
    y = torch.relu(x @ weight)
    z = torch.ops.faulty.affine(y, 2.0, 0.5)
    return torch.softmax(z, -1)


if __name__ == "__main__":
    with torch.no_grad():
        for _ in range(3):
            step(torch.randn(4, 8).npu())

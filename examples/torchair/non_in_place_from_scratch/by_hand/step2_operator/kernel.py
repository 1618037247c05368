"""The device kernel's computation, for the twin; on an NPU the operator package has it."""

from pathlib import Path

import torch

from opwright import twin


@twin.kernel(Path(__file__).parent / "op_host" / "my_op.cpp")
def my_op(x, y, z, attr1, attr2, out):
    torch.mul(x, attr1, out=out)
    for tensor in z:
        out.add_(tensor, alpha=attr2)
    if y is not None:
        out.add_(y)

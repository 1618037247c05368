"""The device kernel's computation, for the twin; on an NPU the operator package has it."""

from pathlib import Path

import torch

from opwright import twin


@twin.kernel(Path(__file__).parent / "op_host" / "my_inplace.cpp")
def my_inplace(x, y, z):
    x.add_(y)
    torch.mul(x, y, out=z)

"""A step that the program does not call: `inputs` says what it takes."""

import torch
import torch_npu  # noqa: F401

from opwright.compare import step


def inputs():
    return torch.randn(4, 8).npu(), torch.arange(8).npu()


@step
def gather_and_sum(x, index):
    return torch.cumsum(x[:, index], 0)

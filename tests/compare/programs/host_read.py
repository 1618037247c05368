"""A step that reads a number from the device: a capture refuses it, compilers break the graph."""

import torch
import torch_npu  # noqa: F401


def step(x):
    largest = x.abs().max()
    return x / largest.item()


with torch.no_grad():
    for _ in range(3):
        step(torch.randn(2, 4).npu())

"""A kernel of a file of its own serves a declared operator in graphs, with its defaults."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair  # noqa: F401 - isolated tests are forked from a process that has it

import opwright as ow
from tests.graph_engine.agreement import compiled

KERNELS = Path(__file__).with_name("own_kernels.py")


@pytest.mark.isolated(OPWRIGHT_KERNELS=str(KERNELS))
def test_a_graph_leaves_an_attribute_to_the_declared_default() -> None:
    ops = ow.OperatorSet("of_own_kernels")

    @ops.operator("scaled_by_default(Tensor x, float factor=3.0) -> Tensor")
    def scaled_by_default(x: torch.Tensor, factor: float = 3.0) -> torch.Tensor:
        return x * factor

    ops.load()
    x = torch.randn(2, 3, device="npu")

    def scale(x: torch.Tensor) -> object:
        return scaled_by_default(x)  # the factor is left out

    for _ in range(2):  # a set that is loaded again notes its operators anew
        got = compiled(scale)(x)
        torch.testing.assert_close(got.cpu(), x.cpu() * 3)
        ops.load()

"""A reference that contradicts its schema about memory is reported, on the CPU and on the twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import pytest
import torch
import torch_npu

import opwright as ow
from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.twin


def writes_and_returns(x: torch.Tensor) -> torch.Tensor:
    return x.add_(1)


def writes(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x * 2


def returns_its_argument(x: torch.Tensor) -> torch.Tensor:
    return x


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize(
    ("reference", "identifier"),
    [
        (writes_and_returns, "OPW-L032"),
        (writes, "OPW-L032"),
        (returns_its_argument, "OPW-L013"),
    ],
)
def test_memory_is_as_the_schema_says(
    reference: Callable[..., object], identifier: str, device: str
) -> None:
    ops = ow.OperatorSet("test_reference_writes")
    operator = ops.operator("f(Tensor x) -> Tensor")(reference)

    def run() -> None:
        operator(torch.zeros(3, device=device))
        torch_npu.npu.synchronize()

    with ops.load(), pytest.raises((RuntimeError, OpwrightError), match=identifier):
        run()

"""Row errors: values that are derived, and what is in progress while they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch_npu  # noqa: F401

import opwright as ow
from opwright.check.examine import examine_cell
from opwright.check.rows import row
from opwright.check.samples import Samples
from opwright.check.target import subjects_of_set

if TYPE_CHECKING:
    import torch

    from opwright.kit.declare.sample import Sample

pytestmark = pytest.mark.twin

ops = ow.OperatorSet("test_row_errors")


@ops.operator(
    "times_small(Tensor x, int n) -> Tensor",
    requires=("0 <= n < 4",),
    samples=[ow.sample(x=ow.tensor(4), n=2)],
)
def times_small(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * n


def test_values_that_are_refused_fill_no_memory_and_are_reported() -> None:
    """A kernel that takes one for a size hangs or ends the process: the sample then names it."""
    (subject,) = subjects_of_set(ops)
    seen: list[Sample] = []
    examine_cell(
        subject, row("errors"), "cpu", samples=Samples(subject), device="npu", watch=seen.append
    )
    shown = {dict(each.values)["n"] for each in seen}
    assert {-1, 4096} <= shown
    assert 2**31 not in shown

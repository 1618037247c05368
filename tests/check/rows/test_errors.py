"""Row errors: values that are derived, and what is in progress while they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401

import opwright as ow
from opwright.check.examine import examine_cell
from opwright.check.rows import row
from opwright.check.samples import Samples
from opwright.check.target import describe_namespace, subjects_of_set

if TYPE_CHECKING:
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


def times(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * n


TAKES_MORE = torch.library.Library("test_errors_takes_more", "DEF")  # type: ignore[no-untyped-call]
TAKES_MORE.define("times(Tensor x, int n) -> Tensor")  # type: ignore[no-untyped-call]
for key in ("CPU", "Meta"):
    TAKES_MORE.impl("times", times, key)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("column", ["cpu", "meta"])
@pytest.mark.parametrize(("existing", "kinds"), [(True, []), (False, ["accepted"])])
def test_a_library_must_refuse_what_its_own_declaration_refuses(
    column: str, kinds: list[str], *, existing: bool
) -> None:
    """A description of what exists already may say less than the library takes."""
    described = ow.OperatorSet("test_errors_takes_more", existing=existing)
    described.operator(
        "times(Tensor x, int n) -> Tensor",
        requires=("0 <= n < 4",),
        samples=[ow.sample(x=ow.tensor(4), n=2)],
    )(times)
    (subject,) = describe_namespace("test_errors_takes_more", described).subjects
    outcome = examine_cell(
        subject, row("errors"), column, samples=Samples(subject, device="cpu"), device="cpu"
    )
    assert [each.kind.name for each in outcome.findings] == kinds

"""An operator's filled results do not hide that its gradient is wrong."""

from __future__ import annotations

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401

import opwright as ow
from opwright.check.examine import examine_operator
from opwright.check.rows import row
from opwright.check.subject import Subject
from opwright.check.target import bare_subject, subjects_of_set

pytestmark = pytest.mark.twin

RIGHT = "grad.masked_fill(mask, 0)"


@pytest.mark.parametrize(
    ("formula", "kinds"),
    [
        (RIGHT, set()),
        (f"-{RIGHT}", {"wrong-gradient"}),
        ("grad * 1", {"wrong-gradient"}),
        ("grad * 0", {"silent-zero"}),
    ],
)
def test_a_large_number_that_is_filled_in_hides_no_fault(formula: str, kinds: set[str]) -> None:
    ops = ow.OperatorSet("opwright_test_masks")

    @ops.operator(
        "filled_by_mask(Tensor x, Tensor mask) -> Tensor",
        shapes={"x": "*s", "mask": "*s"},
        dtypes={"x": "float32", "mask": "bool"},
        backward={"x": formula},
        samples=[ow.sample(x=ow.tensor(4, 8), mask=ow.tensor(4, 8, dtype="bool"))],
    )
    def filled_by_mask(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return x.masked_fill(mask, -1e9)

    assert filled_by_mask.name == "filled_by_mask"
    subject, *_ = subjects_of_set(ops)
    outcomes = examine_operator(subject, [row("gradients")])
    assert {finding.kind.name for each in outcomes for finding in each.findings} == kinds


@torch.library.custom_op("opwright_test_steps::step_", mutates_args=("weight",))
def step_(weight: torch.Tensor, grad: torch.Tensor) -> None:
    """Update a weight, as an optimizer does: nobody differentiates it."""
    weight.sub_(grad)


def test_an_operator_without_a_backward_may_write_a_leaf() -> None:
    assert step_ is not None
    subject = bare_subject("opwright_test_steps", "step_")
    assert isinstance(subject, Subject)
    outcomes = list(examine_operator(subject, [row("gradients"), row("errors")]))
    assert [each.findings for each in outcomes if each.findings] == []

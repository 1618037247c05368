"""An operator that refuses views, and says so, is right."""

from __future__ import annotations

from typing import Any

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401

import opwright as ow
from opwright.check.examine import examine_operator
from opwright.check.rows import row
from opwright.check.target import subjects_of_set

pytestmark = pytest.mark.twin

LIBRARY: Any = torch.library.Library("opwright_test_refuses", "DEF")  # type: ignore[no-untyped-call]


def refusing(x: torch.Tensor) -> torch.Tensor:
    """Refuse what is not contiguous."""
    if not x.is_contiguous():
        message = "x must be contiguous"
        raise ValueError(message)
    return x * 2


def test_refused_views_are_no_fault() -> None:
    LIBRARY.define("doubled(Tensor x) -> Tensor")
    for key in ("PrivateUse1", "Meta"):
        LIBRARY.impl("doubled", refusing, key)
    ops = ow.OperatorSet("opwright_test_refuses", existing=True)

    @ops.operator("doubled(Tensor x) -> Tensor", samples=[ow.sample(x=ow.tensor(3, 4))])
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert doubled.name == "doubled"
    (subject,) = subjects_of_set(ops)
    outcomes = {each.column: each for each in examine_operator(subject, [row("layouts")])}
    assert not any(each.findings for each in outcomes.values())
    assert outcomes["transposed"].status == "passed"
    assert "must be contiguous" in outcomes["transposed"].details["refused"]
    assert outcomes["offset"].status == "passed"
    assert "refused" not in outcomes["offset"].details
    assert outcomes["channels_last"].status == "not applicable"

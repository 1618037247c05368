"""References are called with large ints only where that takes little."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import pytest

import opwright.twin

# isort: split
import torch
import torch_npu  # noqa: F401

import opwright as ow
from opwright.check.observe.affordable import is_affordable
from opwright.check.target import subjects_of_set

if TYPE_CHECKING:
    from opwright.check.subject import Subject

pytestmark = pytest.mark.twin

ops = ow.OperatorSet("checked_costs")
LARGE = 2**32 + 2**24
COUNTS = "(Tensor x, int n=1) -> Tensor"
FEW = [ow.sample(x=ow.tensor(2))]


@ops.operator(f"multiplies{COUNTS}", dtypes="float32", samples=FEW)
def multiplies(x: torch.Tensor, n: int = 1) -> torch.Tensor:
    return x * n


@ops.operator(f"makes_a_list{COUNTS}", dtypes="float32", samples=FEW)
def makes_a_list(x: torch.Tensor, n: int = 1) -> torch.Tensor:
    return x * len([0] * n)


@ops.operator(f"counts{COUNTS}", dtypes="float32", samples=FEW)
def counts(x: torch.Tensor, n: int = 1) -> torch.Tensor:
    return x * sum(1 for _ in range(n))


@ops.operator(f"makes_a_tensor{COUNTS}", dtypes="float32", samples=FEW)
def makes_a_tensor(x: torch.Tensor, n: int = 1) -> torch.Tensor:
    return x + x.new_zeros(n).sum()


@ops.operator(f"uses_torch_in_python{COUNTS}", dtypes="float32", samples=FEW)
def uses_torch_in_python(x: torch.Tensor, n: int = 1) -> torch.Tensor:
    for _ in range(10):
        x = torch.nn.functional.normalize(x[None] * n)[0]
    return x


SUBJECTS: dict[str, Subject] = {each.operator.name: each for each in subjects_of_set(ops)}


@pytest.mark.parametrize(
    ("name", "is_cheap"),
    [
        ("multiplies", True),
        ("uses_torch_in_python", True),
        ("makes_a_list", False),
        ("counts", False),
        ("makes_a_tensor", False),
    ],
)
def test_cheap_references_take_large_ints(name: str, *, is_cheap: bool) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert is_affordable(SUBJECTS[name], {"x": torch.ones(2), "n": LARGE}) is is_cheap
    assert resource.getrlimit(resource.RLIMIT_AS) == before

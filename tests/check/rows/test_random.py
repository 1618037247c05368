"""Operators that draw few bits are not called wrong where two draws differ, or happen not to."""

from __future__ import annotations

import pytest

import opwright.twin

# isort: split
import torch
import torch_npu  # noqa: F401

import opwright as ow
from opwright.check.examine import examine_operator
from opwright.check.rows import row
from opwright.check.target import subjects_of_set
from opwright.twin import generator, kernel

pytestmark = pytest.mark.twin

ops = ow.OperatorSet("checked_draws")
# Few elements, so that two draws of them are often equal.
FEW = [ow.sample(x=ow.tensor(2))]


@ops.operator(
    "drop_seeded(Tensor x) -> Tensor",
    dtypes="float32",
    deterministic=False,
    tags=("nondeterministic_seeded",),
    samples=FEW,
)
def drop_seeded(x: torch.Tensor) -> torch.Tensor:
    return x * (torch.rand(x.shape) < 0.8)


@ops.operator(
    "drop_undetermined(Tensor x) -> Tensor", dtypes="float32", deterministic=False, samples=FEW
)
def drop_undetermined(x: torch.Tensor) -> torch.Tensor:
    return x


@kernel("aclnnDropUndetermined(const aclTensor *x, aclTensor *out)")
def drop_undetermined_kernel(x: torch.Tensor, out: torch.Tensor) -> None:
    draws = torch.rand(x.shape) < 0.8
    out.copy_(x if torch.are_deterministic_algorithms_enabled() else x * draws)


@ops.operator(
    "mask(Tensor x, *, Generator? generator=None) -> Tensor",
    dtypes={"x": "float32", "out": "bool"},
    samples=FEW,
)
def mask(x: torch.Tensor, *, generator: torch.Generator | None = None) -> torch.Tensor:
    return torch.rand(x.shape, generator=generator) < 0.8


@kernel("aclnnMask(const aclTensor *x, int64_t seed, int64_t offset, aclTensor *out)")
def mask_kernel(x: torch.Tensor, seed: int, offset: int, out: torch.Tensor) -> None:
    out.copy_(torch.rand(x.shape, generator=generator(seed, offset)) < 0.8)


# Sums in another order each time: what is beyond rounding is wrong in these, too.


@ops.operator(
    "sum_in_any_order(Tensor x) -> Tensor", dtypes="float32", deterministic=False, samples=FEW
)
def sum_in_any_order(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@kernel("aclnnSumInAnyOrder(const aclTensor *x, aclTensor *out)")
def sum_in_any_order_kernel(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(x * 2.1 + torch.rand(x.shape) * 1e-8)


SUBJECTS = {each.operator.name: each for each in subjects_of_set(ops)}
SOUND = [name for name in SUBJECTS if name != "sum_in_any_order"]


@pytest.mark.parametrize("name", SOUND)
def test_draws_are_not_called_wrong(name: str) -> None:
    rows = [row(each) for each in ("numerics", "layouts", "determinism")]
    outcomes = list(examine_operator(SUBJECTS[name], rows))
    assert [each.findings for each in outcomes if each.findings] == []
    assert {each.status for each in outcomes} <= {"passed", "not applicable"}


def test_one_that_is_only_not_exact_is_still_judged() -> None:
    outcomes = examine_operator(SUBJECTS["sum_in_any_order"], [row("numerics")])
    found = [finding.kind.name for outcome in outcomes for finding in outcome.findings]
    assert "wrong-values" in found

"""Cases: what the tests of a project are made of. They run on the CPU, in one process."""

from __future__ import annotations

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch

import opwright as ow
from opwright.project.cases import Case, cases, error_cases

pytestmark = pytest.mark.twin

ops = ow.OperatorSet("cases_of_tests")


@ops.operator(
    "double_(Tensor(a!) x, *, bool keep=False) -> Tensor(a!)",
    backward={"x": "grad * 2"},
    dtypes="float32 float16",
    tolerances={"float16": (0.5, 0.5)},
    samples=[ow.sample(x=ow.tensor(2, 3)), ow.sample(x=ow.tensor(4, dtype="float16"), keep=True)],
)
def double_(x: torch.Tensor, *, keep: bool = False) -> torch.Tensor:  # noqa: ARG001
    """Double in place."""
    return x.mul_(2)


@ops.operator(
    "parts.list(Tensor x, Tensor[] xs, int n) -> (Tensor[], Tensor total)",
    aclnn=False,
    shapes={"total": ""},
    samples=[ow.sample(x=ow.tensor(2), xs=[ow.tensor(2), ow.tensor(3)], n=2)],
    errors=[ow.error("n is", x=ow.tensor(2), xs=[ow.tensor(2)], n=-1)],
)
def parts_list(
    x: torch.Tensor, xs: list[torch.Tensor], n: int
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Multiply each, and add up."""
    if n < 0:
        message = f"n is {n}"
        raise ValueError(message)
    results = [x.new_ones(()) * n * each for each in xs]
    return results, torch.stack([each.sum() for each in results]).sum()


def case(name: str) -> Case:
    return next(each for each in [*cases(ops), *error_cases(ops)] if str(each) == name)


def test_one_case_for_each_sample() -> None:
    assert [str(each) for each in cases(ops)] == ["double_-0", "double_-1", "parts.list-0"]
    assert [str(each) for each in cases(ops, differentiable=True)] == ["double_-0", "double_-1"]
    assert [(str(each), each.match) for each in error_cases(ops)] == [
        ("parts.list-refused-0", "n is")
    ]


def test_tensors_are_the_same_in_each_call() -> None:
    first, second = case("double_-0").arguments(), case("double_-0").arguments()
    assert first["x"] is not second["x"]
    assert torch.equal(first["x"], second["x"])
    assert first["keep"] is False
    assert case("double_-1").arguments()["x"].dtype == torch.float16


def test_results_are_what_is_returned_and_written() -> None:
    each = case("double_-0")
    (result,) = each.reference()
    assert torch.equal(result, each.arguments()["x"] * 2)
    of_lists = case("parts.list-0")
    values = of_lists.arguments()
    total = sum(x.sum() for x in values["xs"]) * 2
    results = of_lists.reference()
    assert [tuple(x.shape) for x in results] == [(2,), (3,), ()]
    torch.testing.assert_close(results[2], total)


def test_gradients_of_what_is_written() -> None:
    (gradient,) = case("double_-0").reference_gradients()
    generator = torch.Generator().manual_seed(1)
    assert gradient is not None
    assert torch.equal(gradient, torch.rand(2, 3, generator=generator) * 2)


def test_differences_are_found() -> None:
    narrow, wide = case("double_-0"), case("double_-1")
    narrow.assert_close([torch.ones(2), None], [torch.ones(2), None])
    with pytest.raises(AssertionError, match="not close"):
        narrow.assert_close([torch.ones(2)], [torch.full((2,), 1.1)])
    half = torch.ones(2, dtype=torch.float16)
    wide.assert_close([half], [half * 1.25])  # its tolerance
    with pytest.raises(AssertionError, match="1 tensors, expected 2"):
        narrow.assert_close([half], [half, half])
    with pytest.raises(AssertionError, match="one gradient is None"):
        narrow.assert_close([half], [None])
    with pytest.raises(AssertionError, match="'dtype' do not match"):
        narrow.assert_close([half], [half.float()])


def test_what_must_be_refused() -> None:
    with pytest.raises(ValueError, match="n is -1"):
        case("parts.list-refused-0").reference()

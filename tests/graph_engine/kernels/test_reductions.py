"""Reductions and running sums in graphs: kernels by themselves, and compiled for many sizes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair  # noqa: F401 - isolated tests are forked from a process that has it

from opwright.graph_engine.kernels import reductions  # noqa: F401 - fill the table
from tests.graph_engine.agreement import assert_agree, call

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: dict[str, Callable[..., object]] = {
    "sums": lambda x: (x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), x.sum() / x.numel()),
    "means": lambda x: (x.mean(), x.mean(-1, keepdim=True), x.mean((0, 1))),
    "mean_of_dtype": lambda x: (x.half().mean(1, dtype=torch.float32), x.mean(dtype=torch.float64)),
    "maxima": lambda x: (x.max(), *x.max(1), *x.max(0, keepdim=True)),
    "arguments": lambda x: (
        x.argmax(),
        x.argmax(1),
        x.argmax(1, keepdim=True),
        x.argmin(1),
        x.argmin(),
    ),
    "truths": lambda x: (
        (x > 0).any(),
        (x > 3).any(1),
        (x > -9).all(),
        (x > 0).any(1, keepdim=True),
    ),
    "deviations": lambda x: (
        x.std(),
        x.std(1),
        x.std((0, 2), correction=0),
        x.std(1, keepdim=True),
    ),
    "logsumexp": lambda x: (x.logsumexp(-1), x.logsumexp((0, 1), keepdim=True)),
    "norms": lambda x: (
        x.norm(dim=1),
        torch.linalg.vector_norm(x),
        torch.linalg.vector_norm(x, float("inf"), 1),
        torch.linalg.vector_norm(x, float("-inf"), 1),
        torch.linalg.vector_norm(x, 3, 1, keepdim=True),
    ),
    "running": lambda x: (x.cumsum(1), (x > 0).cumsum(0), x.cumsum(-1, dtype=torch.float64)),
    "normalized": lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6),
}


def operands() -> list[dict[str, torch.Tensor]]:
    torch.manual_seed(7)
    sizes = ((4, 6, 8), (2, 10, 8), (7, 6, 8), (4, 6, 8))
    return [{"x": torch.randn(each)} for each in sizes]


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_compiled_reductions_answer_what_eager_answers(*, dynamic: bool) -> None:
    assert_agree(FUNCTIONS, operands(), dynamic=dynamic)


REDUCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "ReduceSum": torch.sum,
    "ReduceMean": torch.mean,
    "ReduceMax": torch.amax,
    "ReduceMin": torch.amin,
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axes", [[0], [-1], [0, 2], [2, 1, 0]])
@pytest.mark.parametrize("keep", [False, True])
def test_both_forms_reduce_the_same_axes(name: str, axes: list[int], *, keep: bool) -> None:
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    wanted = REDUCTIONS[name](x, axes, keepdim=keep)
    torch.testing.assert_close(call(name, x, axes, keep_dims=keep), wanted)
    torch.testing.assert_close(call(name + "D", x, axes=axes, keep_dims=keep), wanted)


def test_logsumexp() -> None:
    x = torch.randn(2, 3)
    torch.testing.assert_close(call("ReduceLogSumExp", x, [-1]), x.logsumexp(-1))
    assert torch.equal(call("ReduceLogSumExp", x, []), x)


@pytest.mark.parametrize(
    ("name", "wanted"), [("ReduceAny", [True, True]), ("ReduceAll", [False, True])]
)
def test_truths(name: str, wanted: list[bool]) -> None:
    x = torch.tensor([[True, False], [True, True]])
    assert call(name, x, [1]).tolist() == wanted
    assert call(name + "D", x, axes=[0, 1]).item() == (name == "ReduceAny")


def test_products_of_several_axes() -> None:
    x = torch.arange(1, 25).reshape(2, 3, 4)
    assert call("ReduceProdD", torch.tensor([2, 3, 4], dtype=torch.int32), axes=[0]).item() == 24
    assert torch.equal(call("ReduceProd", x, [0, -1]), x.prod(2).prod(0))
    assert call("ReduceProd", x, [0, 2], keep_dims=True).shape == (1, 3, 1)


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMean"])
def test_integers_keep_their_dtype(name: str) -> None:
    assert call(name, torch.tensor([1, 2, 6], dtype=torch.int32), [0]).dtype == torch.int32


def test_without_axes_nothing_is_reduced_except_where_the_operator_says_so() -> None:
    x = torch.randn(2, 3)
    for name in (*REDUCTIONS, "ReduceProd"):
        assert torch.equal(call(name, x, []), x)
    assert call("ReduceMean", x, [], noop_with_empty_axes=False).shape == ()
    torch.testing.assert_close(call("ReduceMeanD", x, axes=[]), x.mean())


def test_means_are_computed_in_the_dtype_wanted() -> None:
    x = torch.full((4096,), 100.25, dtype=torch.float16)
    mean = call("ReduceMeanWithCast", x, [0], dtype=0)
    assert (mean.dtype, mean.item()) == (torch.float32, 100.25)
    assert call("ReduceMeanWithCast", x, [0]).dtype == torch.float16


@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("dim", [[], [0], [0, -1]])
def test_deviations(correction: int, dim: list[int]) -> None:
    x = torch.randn(3, 4, 5, dtype=torch.float64)
    wanted = x.std(tuple(dim) or None, correction=correction)
    std, mean = call("ReduceStdV2", x, dim=dim, correction=correction)
    torch.testing.assert_close(std, wanted)
    torch.testing.assert_close(mean, x.mean(tuple(dim) or None))
    middle = x.mean(tuple(dim), keepdim=True).expand(x.shape) if dim else x
    known = call("ReduceStdWithMean", x, middle, dim=dim, correction=correction)
    torch.testing.assert_close(known, wanted)


def test_inverted_deviations_have_epsilon_in_them() -> None:
    x = torch.tensor([1.0, 3.0])
    inverse = call("ReduceStdWithMean", x, torch.tensor([2.0]), dim=[0], invert=True, epsilon=2.0)
    torch.testing.assert_close(inverse, torch.tensor(0.5))
    all_of_them = call("ReduceStdWithMean", x, torch.tensor([2.0]), dim=[0], unbiased=False)
    torch.testing.assert_close(all_of_them, torch.tensor(1.0))


@pytest.mark.parametrize(
    ("p", "wanted"),
    [(1.0, 7.0), (2.0, 5.0), (2.0**31 - 1, 4.0), (-(2.0**31), 3.0), (3.0, 91 ** (1 / 3))],
)
def test_norms(p: float, wanted: float) -> None:
    norm = call("LpNormV2", torch.tensor([[3.0, -4.0]]), p=p, axes=[1])
    assert norm.shape == (1,)
    assert math.isclose(norm.item(), wanted, rel_tol=1e-6)


def test_norms_are_at_least_epsilon() -> None:
    assert call("LpNormV2", torch.zeros(3)).item() == pytest.approx(1e-12)
    assert call("LpNormV2", torch.zeros(3), epsilon=0.0).item() == 0


def test_places_of_extremes() -> None:
    x = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    assert call("ArgMaxV2", x, 1).tolist() == [0, 1]
    assert call("ArgMin", x, 0, dtype=3).dtype == torch.int32
    places, values = call("ArgMaxWithValue", x, dimension=0, keep_dims=True)
    assert (places.tolist(), values.tolist()) == ([[0, 1, 1]], [[3, 5, 4]])
    places, values = call("ArgMinWithValue", x, dimension=1)
    assert (places.dtype, values.tolist()) == (torch.int32, [1, 0])


@pytest.mark.parametrize(
    ("exclusive", "reverse", "sums", "products"),
    [
        (False, False, [1, 3, 6], [1, 2, 6]),
        (True, False, [0, 1, 3], [1, 1, 2]),
        (False, True, [6, 5, 3], [6, 6, 3]),
        (True, True, [5, 3, 0], [6, 3, 1]),
    ],
)
def test_running_sums_and_products(
    *, exclusive: bool, reverse: bool, sums: list[int], products: list[int]
) -> None:
    x = torch.tensor([1, 2, 3], dtype=torch.int32)
    ways = {"exclusive": exclusive, "reverse": reverse}
    assert call("Cumsum", x, 0, **ways).tolist() == sums
    assert call("CumsumD", x, axis=-1, **ways).tolist() == sums
    assert call("Cumprod", x, 0, **ways).tolist() == products
    assert call("Cumsum", x[:0], 0, **ways).shape == (0,)
    assert call("Cumsum", x, 0).dtype == torch.int32

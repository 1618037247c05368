"""Shapes: texts and functions -> data -> sizes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.kit.declare.errors import RuleError, UnknownNameError
from opwright.kit.declare.rules import Dims, ShapeFunction, broadcast, like, reduced
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.expressions.evaluate import evaluate
from opwright.kit.expressions.patterns import bind
from opwright.kit.expressions.read import resolve
from opwright.kit.expressions.shape import Broadcast, Span
from opwright.kit.expressions.trace import lower

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.kit.declare.rules import ShapeRule

SCHEMA = parse_schema(
    "f(Tensor x, Tensor y, int k, int[] sizes, bool keep, int[]? dim=None, Tensor[] xs=[]) "
    "-> Tensor",
    where="",
)
SCOPE, _ = bind(SCHEMA, {"x": Dims("*b, N, D"), "y": Dims("M, D")}, where="")


def tensor(*shape: int) -> SimpleNamespace:
    return SimpleNamespace(shape=shape)


ARGUMENTS = {
    "x": tensor(2, 3, 5, 7),
    "y": tensor(4, 7),
    "k": 3,
    "sizes": (8, 9),
    "keep": True,
    "dim": (-1, 1),
    "xs": [tensor(2, 6), tensor(8)],
}


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("", ()),
        ("*b, N, M", (2, 3, 5, 4)),
        ("N * D + 1, ceildiv(D, k)", (36, 3)),
        ("x.shape[0] - 1, x.ndim, len(sizes), sizes[-1]", (1, 4, 2, 9)),
        ("*x.shape[1:-1], *sizes, *y.shape", (3, 5, 8, 9, 4, 7)),
        ("min(N, k), max(N, k), D % k, D // k", (3, 5, 1, 2)),
        ("2 * (N - k)", (4,)),
        ("*xs[0].shape, xs[-1].shape[0], xs[0].ndim, len(xs)", (2, 6, 8, 2, 2)),
        ("*xs[0].shape[1:]", (6,)),
    ],
)
def test_a_text_gives_these_sizes(text: str, sizes: tuple[int, ...]) -> None:
    shape = resolve(Dims(text), SCOPE, where="")
    assert isinstance(shape, tuple)
    assert evaluate(shape, ARGUMENTS) == sizes


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (lambda x, k, **_: (x.shape[0], x.shape[-1] * 2 + k), (2, 17)),
        (lambda x, k, **_: [*x.shape[:-1], k], (2, 3, 5, 3)),
        (lambda x, y, **_: x.shape[:-1] + y.shape, (2, 3, 5, 4, 7)),
        (lambda y, **_: [size - 1 for size in y.shape], (3, 6)),
        (lambda x, **_: (x.size(1), x.size(-1) // 2, x.size(0) % 2, -x.size(0) + 9), (3, 3, 0, 7)),
        (lambda x, **_: x.size(), (2, 3, 5, 7)),
        (lambda xs, k, **_: (*xs[0].shape, xs[-1].size(0) + k, xs[0].ndim), (2, 6, 11, 2)),
        (lambda y, k, **_: (y.dim(), 10 - k, 10 // k, 10 % k, k - 1), (2, 7, 3, 1, 2)),
    ],
)
def test_a_function_without_branches_becomes_data(
    function: Callable[..., Sequence[object]], sizes: tuple[int, ...]
) -> None:
    shape = lower(ShapeFunction(function), SCOPE)
    assert shape is not None
    assert evaluate(shape, ARGUMENTS) == sizes


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k, **_: (k if k > 1 else x.shape[0],),
        lambda x, **_: (max(x.shape[0], 2),),
        lambda sizes, **_: (sizes[0],),
        lambda x, **_: [size - 1 for size in x.shape],
        lambda x, **_: (x.shape[0] / 2,),
        lambda x, **_: x.shape[::-1],
    ],
)
def test_other_functions_stay_functions(function: Callable[..., Sequence[object]]) -> None:
    assert lower(ShapeFunction(function), SCOPE) is None


def test_a_reduction_keeps_or_drops_axes() -> None:
    shape = resolve(reduced("x", dim="dim", keepdim="keep"), SCOPE, where="")
    assert isinstance(shape, tuple)
    assert evaluate(shape, ARGUMENTS) == (2, 1, 5, 1)
    assert evaluate(shape, {**ARGUMENTS, "keep": False}) == (2, 5)
    assert evaluate(shape, {**ARGUMENTS, "dim": None}) == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("shape", "axes", "sizes"),
    [((), (0,), ()), ((), (-1,), ()), ((2, 3), (-2,), (1, 3)), ((2, 3), (1, -1), (2, 1))],
)
def test_a_tensor_without_axes_can_be_reduced(
    shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    rule = resolve(reduced("x", dim="dim", keepdim="keep"), SCOPE, where="")
    assert isinstance(rule, tuple)
    assert evaluate(rule, {**ARGUMENTS, "x": tensor(*shape), "dim": axes}) == sizes


@pytest.mark.parametrize(("shape", "axis"), [((), 1), ((2, 3), 2), ((2, 3), -3)])
def test_an_axis_that_is_not_there(shape: tuple[int, ...], axis: int) -> None:
    rule = resolve(reduced("x", dim="dim", keepdim="keep"), SCOPE, where="")
    assert isinstance(rule, tuple)
    with pytest.raises(IndexError, match=rf"axis {axis} of a tensor with {len(shape)} axes"):
        evaluate(rule, {**ARGUMENTS, "x": tensor(*shape), "dim": (axis,)})


SHAPES = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@pytest.mark.torch
@given(one=SHAPES, other=SHAPES)
def test_broadcasting_is_that_of_torch(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    import opwright.twin  # noqa: F401, PLC0415 - before torch, which loads torch_npu

    # isort: split
    import torch  # noqa: PLC0415 - only this test needs it

    shape = (Broadcast(((Span("a"),), (Span("b"),))),)
    arguments = {"a": tensor(*one), "b": tensor(*other)}
    try:
        expected = tuple(torch.broadcast_shapes(one, other))  # type: ignore[no-untyped-call]
    except RuntimeError:
        with pytest.raises(ValueError, match="cannot be broadcast together"):
            evaluate(shape, arguments)
    else:
        assert evaluate(shape, arguments) == expected


@pytest.mark.parametrize(
    ("rule", "sizes"),
    [
        (like("xs[0]"), (2, 6)),
        (broadcast("xs[-1]", "xs[1]"), (8,)),
        (reduced("xs[0]", dim="dim", keepdim="keep"), (2, 1)),
    ],
)
def test_a_rule_follows_a_tensor_of_a_list(rule: ShapeRule, sizes: tuple[int, ...]) -> None:
    shape = resolve(rule, SCOPE, where="")
    assert isinstance(shape, tuple)
    assert evaluate(shape, ARGUMENTS) == sizes


def test_a_list_that_is_too_short_is_an_error() -> None:
    shape = resolve(like("xs[2]"), SCOPE, where="")
    assert isinstance(shape, tuple)
    with pytest.raises(IndexError, match=r"has 2 tensor\(s\), so there is none with index 2"):
        evaluate(shape, ARGUMENTS)


def test_a_size_in_a_list_that_is_too_short_is_an_error() -> None:
    message = r"argument 'sizes' has 2 element\(s\), so there is none with index 2"
    shape = resolve(Dims("sizes[2]"), SCOPE, where="")
    assert isinstance(shape, tuple)
    with pytest.raises(IndexError, match=message):
        evaluate(shape, ARGUMENTS)


def test_a_tensor_of_a_list_is_no_size() -> None:
    with pytest.raises(RuleError, match=r"\*xs\[0\].shape"):
        resolve(Dims("xs[0]"), SCOPE, where="")
    with pytest.raises(UnknownNameError, match="an element of 'sizes'"):
        resolve(like("sizes[0]"), SCOPE, where="")

"""Typed functions -> schemas."""

from __future__ import annotations

import enum
from collections.abc import Sequence  # noqa: TC003 - get_type_hints reads it
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest

from opwright.kit.declare.function_schema import function_schema

if TYPE_CHECKING:
    from collections.abc import Callable


class Tensor:
    """Stands for torch's class, which is known by its name."""


class Mode(enum.Enum):
    FAST = 1


class Words(str, enum.Enum):
    SUM = "sum"


class Moments(NamedTuple):
    mean: Tensor
    variance: Tensor


def plain(x: Tensor, n: int = 1, p: float = 0.5, *, flag: bool = True, mode: str = "a") -> Tensor:
    raise NotImplementedError


def optional(x: Tensor | None, dims: list[int] | None = None, s: int | float | bool = 1) -> None:  # noqa: FBT001, PYI041 - a Scalar
    raise NotImplementedError


def lists(
    xs: list[Tensor], ys: Sequence[Tensor | None], m: Words = Words.SUM
) -> tuple[Tensor, int]:
    raise NotImplementedError


def literal(x: Tensor, mode: Literal["sum", "mean"] = "sum") -> Moments:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "name", "mutates", "text"),
    [
        (
            plain,
            "f",
            (),
            'f(Tensor x, SymInt n=1, float p=0.5, *, bool flag=True, str mode="a") -> Tensor',
        ),
        (
            plain,
            "f.b",
            ("x",),
            'f.b(Tensor(a!) x, SymInt n=1, float p=0.5, *, bool flag=True, str mode="a") -> Tensor',
        ),
        (optional, "f", (), "f(Tensor? x, SymInt[]? dims=None, Scalar s=1) -> ()"),
        (lists, "f", (), 'f(Tensor[] xs, Tensor?[] ys, str m="sum") -> (Tensor, SymInt)'),
        (
            literal,
            "f",
            (),
            'f(Tensor x, str mode="sum") -> (Tensor mean, Tensor variance)',
        ),
    ],
)
def test_schema(
    function: Callable[..., object], name: str, mutates: tuple[str, ...], text: str
) -> None:
    assert str(function_schema(function, name=name, mutates=mutates, where="test")) == text

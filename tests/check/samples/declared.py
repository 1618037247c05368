"""Declarations whose samples are solved, each with what must hold for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import opwright as ow
from opwright.check.subject import Subject
from opwright.kit.derive import derive

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HOLDS", "NAMES", "subject"]

ops = ow.OperatorSet("solved")
HOLDS: dict[str, Callable[[dict[str, Any]], bool]] = {}


def holds(condition: Callable[[dict[str, Any]], bool]) -> Callable[[Any], Any]:
    """Note what must hold for the arguments of the operator that is declared below."""

    def note(operator: Any) -> Any:  # noqa: ANN401 - what a declaration gives
        HOLDS[operator.name] = condition
        return operator

    return note


def nothing(*args: object, **kwargs: object) -> None:
    """Accept all that the rules accept."""


def declare(text: str, condition: Callable[[dict[str, Any]], bool], **fields: Any) -> None:  # noqa: ANN401 - of a declaration
    """Declare an operator that writes nothing and returns nothing."""
    ops.operator(text, aclnn=f"aclnnSolved{len(HOLDS)}", **fields)(nothing)
    HOLDS[text.partition("(")[0]] = condition


declare("plain(Tensor x) -> ()", lambda v: v["x"].dtype.is_floating_point)
declare(
    "named(Tensor x, Tensor w, Tensor? bias=None) -> ()",
    lambda v: (
        v["w"].shape[0] == v["x"].shape[-1]
        and v["x"].ndim >= 1
        and v["w"].ndim == 2
        and (v["bias"] is None or v["bias"].shape == v["w"].shape[1:])
        and v["w"].dtype == v["x"].dtype
    ),
    shapes={"x": "*batch, K", "w": "K, N", "bias": "N"},
    dtypes="float32 float16 bfloat16",
)
declare(
    "expressions(Tensor x, Tensor y, Tensor z) -> ()",
    lambda v: (
        v["y"].shape == (v["x"].shape[0] * 2, v["x"].shape[1] // 2)
        and v["z"].shape == (-(-v["x"].shape[1] // 4), min(v["x"].shape[0], 3))
    ),
    shapes={"x": "N, D", "y": "2 * N, D // 2", "z": "ceildiv(D, 4), min(N, 3)"},
)
declare(
    "required(Tensor x, int k, int groups=1, float p=0.5) -> ()",
    lambda v: (
        1 <= v["k"] <= v["x"].shape[-1]
        and v["x"].shape[-1] % v["groups"] == 0
        and v["groups"] > 0
        and 0 <= v["p"] < 1
    ),
    shapes={"x": "*batch, D"},
    requires=["1 <= k <= D", "groups > 0", "D % groups == 0", "0 <= p < 1"],
)
declare(
    "multiples(Tensor x, Tensor y) -> ()",
    lambda v: v["x"].shape[0] % 64 == 0 and v["x"].shape[0] > 64 and v["y"].shape[0] > 3,
    shapes={"x": "D", "y": "E"},
    requires=["D % 64 == 0", "D > 64", "E > 3"],
)
declare(
    "by_int(Tensor x, Tensor y, int k) -> ()",
    lambda v: v["y"].shape == (v["k"], v["x"].shape[0]),
    shapes={"x": "N", "y": "k, N"},
)
declare(
    "later(Tensor x, Tensor y) -> ()",
    lambda v: v["x"].shape[0] == 2 * v["y"].shape[0],
    shapes={"x": "N", "y": "M"},
    requires=["N == 2 * M"],
)
declare(
    "middle(Tensor x, Tensor y) -> ()",
    lambda v: (
        v["x"].ndim >= 2
        and v["y"].shape[1:-1] == v["x"].shape[1:-1]
        and v["y"].shape[0] == v["x"].shape[-1]
    ),
    shapes={"x": "A, *mid, B", "y": "B, *mid, A"},
)
declare(
    "number_of_axes(Tensor x) -> ()",
    lambda v: 2 <= v["x"].ndim <= 4 and v["x"].shape[-1] % 2 == 0,
    shapes={"x": "*batch, D"},
    requires=["2 <= x.ndim <= 4", "D % 2 == 0"],
)
declare(
    "several(Tensor first, Tensor[] rest, Tensor?[] parts, *, str mode='sum') -> ()",
    lambda v: (
        all(each.dtype == v["first"].dtype for each in v["rest"])
        and len(v["parts"]) <= 3
        and v["mode"] in {"sum", "mean", "max"}
    ),
    dtypes={"first": "float32 float16", "rest": "first"},
    requires=["mode in ('sum', 'mean', 'max')"],
)
declare(
    "own_name(Tensor x, Tensor? mask=None) -> ()",
    lambda v: v["mask"] is None or v["mask"].shape == (v["x"].shape[0], v["mask"].shape[1]),
    shapes={"x": "N", "mask": "N, M"},
)
declare(
    "free_axes(Tensor x, Tensor y) -> ()",
    lambda v: v["x"].ndim == 2 and v["y"].ndim >= 1 and v["y"].shape[-1] == v["x"].shape[1],
    shapes={"x": "_, D", "y": "*_, D"},
)
declare(
    "of_lists(Tensor x, int[2] pad, int[] sizes, bool[3] flags, float[]? scales=None) -> ()",
    lambda v: len(v["pad"]) == 2 and len(v["flags"]) == 3 and len(v["sizes"]) >= 1,
    requires=["len(sizes) > 0"],
)
declare(
    "values(int n, *, float factor=2.0, bool flag=False, ScalarType? dtype=None) -> ()",
    lambda v: 0 <= v["n"] < 4,
    requires=["0 <= n < 4"],
)
declare(
    "element(Tensor x, int[] sizes) -> ()",
    lambda v: v["x"].shape[0] == v["sizes"][0],
    shapes={"x": "sizes[0], D"},
    requires=["len(sizes) >= 1", "sizes[0] >= 0"],
)


@holds(lambda v: v["x"].shape[-1] == v["w"].shape[0] and 0 not in v["x"].shape)
@ops.operator(
    "shown(Tensor x, Tensor w) -> Tensor",
    shapes={"out": lambda x, w: [*x.shape[:-1], w.shape[1]]},
    samples=[ow.sample(x=ow.tensor(4, 3), w=ow.tensor(3, 5))],
)
def shown(x: Any, w: Any) -> Any:  # noqa: ANN401 - as users write them
    if 0 in x.shape:
        message = "an empty x"
        raise ValueError(message)
    return x @ w


@holds(lambda v: bool((v["index"] < v["table"].shape[0]).all()))
@ops.operator(
    "indexed(Tensor table, Tensor index) -> Tensor",
    shapes={"table": "N, D", "index": "*I", "out": "*I, D"},
    dtypes={"table": "float32 float16", "index": "int64 int32"},
    samples=[ow.sample(table=ow.tensor(8, 3), index=ow.tensor(5, low=0, high=7))],
)
def indexed(table: Any, index: Any) -> Any:  # noqa: ANN401 - as users write them
    return table[index.long()]


@holds(lambda v: v["x"].shape[1] == v["w"].shape[0])
@ops.operator(
    "large(Tensor x, Tensor w) -> Tensor",
    shapes={"x": "N, K", "w": "K, M", "out": "N, M"},
    samples=[ow.sample(x=ow.tensor(256, 512), w=ow.tensor(512, 64))],
)
def large(x: Any, w: Any) -> Any:  # noqa: ANN401 - as users write them
    return x @ w


@holds(lambda v: len({each.dtype for each in v["xs"]}) <= 2)
@ops.operator(
    "mixed(Tensor[] xs) -> ()",
    samples=[ow.sample(xs=[ow.tensor(2, dtype="float32"), ow.tensor(3, dtype="int32")])],
)
def mixed(xs: Any) -> None:  # noqa: ANN401 - as users write them
    del xs


@holds(lambda v: (v["x"] + v["y"]).ndim == max(v["x"].ndim, v["y"].ndim))
@ops.operator(
    "added(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor",
    shapes={"out": ow.broadcast("x", "y")},
    dtypes={"x": "float32 int32", "y": "float32 int32", "out": ow.promote("x", "y")},
)
def added(x: Any, y: Any, *, alpha: Any = 1) -> Any:  # noqa: ANN401 - as users write them
    return x + y * int(alpha)


@holds(lambda v: v["x"].is_contiguous() or v["x"].stride(0) != 0)
@ops.operator("written_(Tensor(a!) x, Tensor y) -> ()", dtypes="float32")
def written_(x: Any, y: Any) -> None:  # noqa: ANN401 - as users write them
    x.add_(y)


FACTS = derive(ops.freeze())
NAMES = tuple(HOLDS)


def subject(name: str) -> Subject:
    """Return an operator; nothing is registered."""
    facts = FACTS.operator(name)
    assert facts is not None
    return Subject(namespace="solved", operator=facts.operator, facts=facts, of_set=FACTS)

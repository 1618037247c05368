"""Operators with every kind of argument and result, and models that call them.

python kinds.py     compiles each in TorchAir's mode max-autotune and prints what was wrong
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch_npu  # makes the device "npu"
from torch import Tensor

import opwright as ow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ops = ow.OperatorSet("kinds")


@ops.operator(
    "every(Tensor x, Tensor? y, Tensor[] z, int i, float f, bool b, str s, Scalar c, int[] li,"
    " float[] lf, bool[3] lb, *, ScalarType dtype, int? oi=None, float? of=None, str? os=None,"
    " SymInt[]? os2=None) -> Tensor",
    aclnn="aclnnKindsEvery(x, y, z, i, float f, b, s, c, li, lf, lb, dtype, oi or 3, of or 0.5,"
    " os or 'none', os2, out)",
    shapes={"out": ow.like("x")},
    dtypes={"out": "dtype or x"},
)
def every(  # noqa: PLR0913, PLR0917 - one of each kind
    x: Tensor,
    y: Tensor | None,
    z: list[Tensor],
    i: int,
    f: float,
    b: bool,  # noqa: FBT001 - the schema has it so
    s: str,
    c: float,
    li: list[int],
    lf: list[float],
    lb: list[bool],
    *,
    dtype: torch.dtype,
    oi: int | None = None,
    of: float | None = None,
    os: str | None = None,
    os2: list[int] | None = None,
) -> Tensor:
    total = (
        x * i + f + c + len(s) + sum(li) + sum(lf) + sum(2**k for k, each in enumerate(lb) if each)
    )
    for each in z if y is None else [y, *z]:
        total = total + each
    total = total if b else -total
    total = total + (3 if oi is None else oi) + (0.5 if of is None else of)
    result: Tensor = (total + len(os or "none") + sum(os2 or [])).to(dtype)
    return result


def every_one(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    call: Any = torch.ops.kinds.every
    half = torch.float16
    plain = {"c": 1.5, "li": [1, 2], "lf": [0.5], "lb": [True, False, True]}
    empty: dict[str, Any] = {"c": 2, "li": [], "lf": [], "lb": [False] * 3}
    return (
        call(x, y, [x, y], 2, 0.25, b=True, s="ab", **plain, dtype=torch.float32),
        call(x, None, [], -1, 3.0, b=False, s="", **empty, dtype=half, oi=0, of=2.0),
        call(x, None, [y], 1, 1.0, b=True, s="x", **plain, dtype=half, os="four", os2=[4, 5]),
    )


@ops.operator(
    "rows(Tensor x, int parts) -> (Tensor y, Tensor total)",
    shapes={"x": "N, D", "y": "N * parts, D", "total": "D"},
    dtypes={"total": "float32"},
)
def rows(x: Tensor, parts: int) -> tuple[Tensor, Tensor]:
    return torch.cat([x * k for k in range(parts)]), x.sum(0).float()


def several_results(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    result: tuple[Tensor, ...] = torch.ops.kinds.rows((x + y).half(), 3)
    return result


@ops.operator(
    "blend(Tensor x, Tensor y, float weight) -> Tensor",
    shapes={"out": ow.like("x")},
    dtypes={"out": ow.promote("x", "y")},
)
def blend(x: Tensor, y: Tensor, weight: float) -> Tensor:
    return (x * weight + y).to(torch.promote_types(x.dtype, y.dtype))


def promoted(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return (
        torch.ops.kinds.blend(x.half(), y, 2.0),
        torch.ops.kinds.blend(x, y.int(), 3.0),
        torch.ops.kinds.blend(x.bfloat16(), y.half(), 1.0),
    )


@ops.operator(
    "write(Tensor(a!) x, Tensor(b!)? y, Tensor(c!)[] z, Tensor by) -> (Tensor(a!), Tensor)",
    aclnn="aclnnKindsWrite(x, y, z, by, out1)",
    shapes={"out1": ow.like("by")},
)
def write(x: Tensor, y: Tensor | None, z: list[Tensor], by: Tensor) -> tuple[Tensor, Tensor]:
    for each in z if y is None else [y, *z]:
        each.mul_(2).add_(by)
    x.add_(by)
    return x, by * 3


def written(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    own = [x + 1, y + 1]
    first, new = torch.ops.kinds.write(x, y, own, y + 2)
    second, other = torch.ops.kinds.write(own[0], None, [], y)
    return first + 1, new, second, other, *own


def functional_twin(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    new, x2, y2, z2 = torch.ops.kinds.write_functional(x, y, [x, y], y)
    new3, x3, _, _ = torch.ops.kinds.write_functional(x, None, [], y)
    return new, x2, y2, *z2, new3, x3, x + y


@ops.operator(
    "both.out(Tensor x, *, float by=2.0, Tensor(a!) low, Tensor(b!) high)"
    " -> (Tensor(a!), Tensor(b!))",
    aclnn="aclnnKindsBoth(x, float by, low, high)",
)
def both_out(x: Tensor, *, by: float = 2.0, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    return low.copy_(x - by), high.copy_(x + by)


def outs(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    low = torch.empty_like(x)
    torch.ops.kinds.both.out(x, low=low, high=y)
    return low, y + 1, torch.ops.kinds.both.out(x + 1, by=1.0, low=low, high=x)[0]


@ops.operator("seen(Tensor x) -> ()", aclnn="aclnnKindsSeen(x)")
def seen(x: Tensor) -> None:
    sums.append(float(x.sum()))


sums: list[float] = []


def observed(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    torch.ops.kinds.seen(x)
    return (x + y,)


# In the order in which they are run.
MODELS = (every_one, several_results, promoted, written, functional_twin, outs, observed)


def wrong(model: Callable[..., tuple[Tensor, ...]], *, dynamic: bool) -> list[str]:
    """Compile a model, call it, and return what is not as in eager mode."""
    import torchair  # noqa: PLC0415 - after the operators, which wait for it

    torch.compiler.reset()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    compiled = torch.compile(model, backend=backend, dynamic=dynamic, fullgraph=True)
    found = []
    for size in (2, 2, 3, 5) if dynamic else (2, 2):
        inputs = [torch.randn(size, 4).round() for _ in range(2)]
        on_npu = [each.to("npu") for each in inputs]
        eager = [each.to("npu") for each in inputs]
        sums.clear()
        want = model(*eager)
        torch_npu.npu.synchronize()
        seen_before = list(sums)
        sums.clear()
        got = compiled(*on_npu)
        torch_npu.npu.synchronize()
        if sums != seen_before:
            found.append(f"size {size}: observed {sums}, not {seen_before}")
        pairs = zip([*got, *on_npu], [*want, *eager], strict=True)
        for place, (left, right) in enumerate(pairs):
            if left.dtype != right.dtype or not torch.equal(left.cpu(), right.cpu()):
                found.append(f"size {size}, value {place}: {left.cpu()} instead of {right.cpu()}")
    return found


def all_wrong() -> Iterator[tuple[str, bool, list[str]]]:
    """Run all models; yield the name, whether shapes were dynamic, and what was wrong."""
    ops.load()
    for model in MODELS:
        for dynamic in (False, True):
            with torch.no_grad():
                yield model.__name__, dynamic, wrong(model, dynamic=dynamic)

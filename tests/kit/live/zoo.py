"""A set with one operator for each kind of schema, and samples of their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401

import opwright as ow

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["CASES", "NAMESPACE", "Case", "arguments", "copied", "zoo"]

NAMESPACE = "opwright_zoo"
zoo = ow.OperatorSet(NAMESPACE)


@zoo.operator(
    "axpy(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor",
    aclnn="aclnnZooAxpy(x, y, alpha, out)",
    shapes={"out": ow.broadcast("x", "y")},
    dtypes={"out": ow.promote("x", "y")},
    backward={"x": "grad", "y": "grad * alpha"},
    autocast="float16",
    vmap="batch first",
)
def axpy(x: Tensor, y: Tensor, *, alpha: float = 1) -> Tensor:
    return x + y * alpha


@zoo.operator(
    "biased(Tensor x, Tensor? bias=None) -> Tensor",
    aclnn="aclnnZooBiased(x, bias, out)",
    shapes={"x": "*batch, D", "bias": "D"},
    backward="reference",
)
def biased(x: Tensor, bias: Tensor | None = None) -> Tensor:
    return x.sin() if bias is None else x.sin() * bias


@zoo.operator(
    "total(Tensor first, Tensor[] rest) -> Tensor",
    aclnn="aclnnZooTotal(first, rest, out)",
    backward="reference",
    autocast="promote",
)
def total(first: Tensor, rest: list[Tensor]) -> Tensor:
    return first + sum(each * each for each in rest)


@zoo.operator(
    "stacked(Tensor[] xs) -> (Tensor whole, Tensor first)",
    aclnn="aclnnZooStacked(xs, whole, first)",
    shapes={"whole": "len(xs), *xs[0].shape", "first": ow.like("xs[0]")},
    dtypes={"whole": "xs"},
    backward="reference",
)
def stacked(xs: list[Tensor]) -> tuple[Tensor, Tensor]:
    return torch.stack(xs), xs[0] * 2


@zoo.operator(
    "gather_parts(Tensor x, Tensor?[] parts) -> Tensor",
    aclnn="aclnnZooParts(x, parts, out)",
)
def gather_parts(x: Tensor, parts: list[Tensor | None]) -> Tensor:
    for index, part in enumerate(parts):
        x = x + index if part is None else x * part
    return x.clone()


@gather_parts.backward(saves=("x", "parts"), inputs=("x", "parts"))
def _(grad: Tensor, x: Tensor, parts: list[Tensor | None]) -> tuple[Tensor, list[Tensor | None]]:
    grads: list[Tensor | None] = []
    values = [x]
    for index, part in enumerate(parts):
        values.append(values[-1] + index if part is None else values[-1] * part)
    for part, before in reversed(list(zip(parts, values, strict=False))):
        grads.append(torch.zeros_like(x) if part is None else grad * before)
        grad = grad if part is None else grad * part
    return grad, grads[::-1]


@zoo.operator(
    "by_keyword(Tensor x, *, Tensor scale, Tensor? offset=None, bool negate=False) -> Tensor",
    aclnn="aclnnZooByKeyword(x, scale, offset, negate, out)",
    shapes={"x": "*batch, D", "scale": "D", "offset": "D"},
    dtypes="float32 float64 float16",
    backward="reference",
    autocast="float16",
    vmap="batch first",
)
def by_keyword(
    x: Tensor, *, scale: Tensor, offset: Tensor | None = None, negate: bool = False
) -> Tensor:
    result = x * scale if offset is None else x * scale + offset
    return -result if negate else result


@zoo.operator(
    "spread(Tensor x, SymInt[] sizes) -> Tensor",
    aclnn="aclnnZooSpread(x, sizes, out)",
    shapes={"out": "*sizes"},
    backward={"x": "grad.sum_to_size(x.shape)"},
)
def spread(x: Tensor, sizes: list[int]) -> Tensor:
    return x.expand(sizes).clone()


@zoo.operator(
    "activate(Tensor x, str kind='relu', float[] slopes=[0.0, 1.0]) -> Tensor",
    aclnn="aclnnZooActivate(x, kind, slopes, out)",
    requires=("kind in ('relu', 'tanh')",),
    backward="reference",
)
def activate(x: Tensor, kind: str = "relu", slopes: tuple[float, ...] = (0.0, 1.0)) -> Tensor:
    negative, positive = slopes
    return x.tanh() if kind == "tanh" else torch.where(x > 0, x * positive, x * negative)


@zoo.operator(
    "converted(Tensor x, *, ScalarType? dtype=None) -> Tensor",
    aclnn="aclnnZooConverted(x, out)",
    dtypes={"out": "dtype or x"},
    backward={"x": "(grad * 2).to(x.dtype)"},
)
def converted(x: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
    return (x * 2).to(dtype or x.dtype)


@zoo.operator(
    "low_high(Tensor x, int k) -> (Tensor low, Tensor high, Tensor order)",
    aclnn="aclnnZooLowHigh(x, k, low, high, order)",
    shapes={"x": "*batch, D", "low": "*batch, k", "high": "*batch, D - k", "order": "*batch, D"},
    dtypes={"order": "int64"},
    requires=("0 <= k <= D",),
    backward={"x": "torch.cat([grad_low, grad_high], -1) * x.cos()"},
)
def low_high(x: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    y = x.sin()
    return y[..., :k].clone(), y[..., k:].clone(), x.argsort(-1)


@zoo.operator(
    "scale_(Tensor(a!) x, float factor=2.0, Tensor? y=None) -> Tensor(a!)",
    aclnn="aclnnZooScale(x, float factor, y)",
    backward="reference",
    autocast="float16",
)
def scale_(x: Tensor, factor: float = 2.0, y: Tensor | None = None) -> Tensor:
    x.copy_(x * x * factor)  # in one step: autograd does not take x.mul_(x)
    return x if y is None else x.add_(y)


@zoo.operator(
    "exchange_(Tensor(a!) x, Tensor(b!) y) -> ()",
    aclnn="aclnnZooExchange(x, y)",
    dtypes={"y": "x"},
    backward={"x": "grad_y", "y": "grad_x"},
)
def exchange_(x: Tensor, y: Tensor) -> None:
    before = x.clone()
    x.copy_(y)
    y.copy_(before)


@zoo.operator(
    "update_(Tensor(a!) state, Tensor x, *, float decay=0.5) -> Tensor",
    aclnn="aclnnZooUpdate(state, x, float decay, out)",
    shapes={"out": ow.like("x")},
    backward="reference",
)
def update_(state: Tensor, x: Tensor, *, decay: float = 0.5) -> Tensor:
    state.mul_(decay).add_(x)
    return state * x


@zoo.operator(
    "absorb_(Tensor(a!) x, Tensor(b!)? y=None, *, Tensor? mode=None) -> Tensor(a!)",
    aclnn="aclnnZooAbsorb(x, y, mode)",
    dtypes={"y": "x"},
    backward="reference",
)
def absorb_(x: Tensor, y: Tensor | None = None, *, mode: Tensor | None = None) -> Tensor:
    """Write what may be missing; an argument has a name that torch takes for itself."""
    before = x.clone()  # gradients need what was there
    x.copy_(before.sin() if mode is None else before.sin() * mode)
    if y is not None:
        x.add_(y)
        y.copy_(y.clone().cos())
    return x


@zoo.operator(
    "scale_all_(Tensor(a!)[] xs, Tensor factor) -> ()", aclnn="aclnnZooScaleAll(xs, factor)"
)
def scale_all_(xs: list[Tensor], factor: Tensor) -> None:
    for x in xs:
        x.mul_(factor)


@scale_all_.backward(saves=("xs", "factor"), inputs=("xs", "factor"))
def _(grads: list[Tensor | None], xs: list[Tensor], factor: Tensor) -> tuple[list[Tensor], Tensor]:
    given = [torch.zeros_like(x) if g is None else g for g, x in zip(grads, xs, strict=True)]
    of_factor = sum((g * x).sum() for g, x in zip(given, xs, strict=True))
    assert isinstance(of_factor, torch.Tensor)
    return [g * factor for g in given], of_factor


@zoo.operator(
    "axpy.out(Tensor x, Tensor y, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    aclnn="aclnnZooAxpy(x, y, alpha, out)",
)
def axpy_out(x: Tensor, y: Tensor, *, alpha: float = 1, out: Tensor) -> Tensor:
    return out.copy_(x + y * alpha)


@zoo.operator(
    "observe(Tensor x, bool[] flags=[True, False]) -> ()", aclnn="aclnnZooObserve(x, flags)"
)
def observe(x: Tensor, flags: tuple[bool, ...] = (True, False)) -> None:
    assert x.numel() >= 0
    assert len(flags) == 2


@zoo.operator("twice(Tensor x) -> Tensor", aclnn=False)
def twice(x: Tensor) -> Tensor:
    return axpy(x, x)


def half_if_long(x: Any, k: int) -> list[Any]:  # noqa: ANN401 - a tensor, or what has a shape
    return [k if x.shape[0] > 2 else x.shape[0], *x.shape[1:]]


@zoo.operator(
    "first_rows(Tensor x, int k=1) -> Tensor",
    aclnn="aclnnZooFirstRows(x, k, out)",
    shapes={"out": half_if_long},
    backward={"x": "torch.constant_pad_nd(grad, [0, 0, 0, x.shape[0] - grad.shape[0]])"},
)
def first_rows(x: Tensor, k: int = 1) -> Tensor:
    return x[: k if x.shape[0] > 2 else x.shape[0]].clone()


@zoo.operator(
    "ramp(int n, *, Device? device=None) -> Tensor",
    aclnn="aclnnZooRamp(n, out)",
    shapes={"out": "n"},
    dtypes={"out": "float32"},
)
def ramp(n: int, *, device: torch.device | None = None) -> Tensor:
    del device
    return torch.arange(n, dtype=torch.float32)


@zoo.operator(
    "perhaps(Tensor? given=None) -> Tensor",
    aclnn="aclnnZooPerhaps(given, out)",
    shapes={"out": "3"},
    dtypes={"out": "float32"},
)
def perhaps(given: Tensor | None = None) -> Tensor:
    return torch.full((3,), 0.0 if given is None else 1.0)


@zoo.operator("bump_(Tensor(a!) x) -> Tensor(a!)", aclnn=False)
def bump_(x: Tensor) -> Tensor:
    return x.add_(axpy(x, x))


@dataclass(frozen=True)
class Case:
    """A call of an operator.

    Parameters
    ----------
    values
        The arguments by name; a tuple of sizes stands for a tensor, a list of them for tensors.
    differentiable
        Whether a gradient can be asked for.
    """

    name: str
    values: dict[str, Any]
    differentiable: bool = True

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.values)})"


CASES = (
    Case("axpy", {"x": (3, 4), "y": (4,), "alpha": 2.5}),
    Case("biased", {"x": (2, 3, 4), "bias": (4,)}),
    Case("biased", {"x": (3, 4)}),
    Case("total", {"first": (3, 4), "rest": [(3, 4), (3, 4)]}),
    Case("stacked", {"xs": [(3, 4), (3, 4)]}),
    Case("gather_parts", {"x": (3, 4), "parts": [(3, 4), None, (3, 4)]}),
    Case("by_keyword", {"x": (3, 4), "scale": (4,), "offset": (4,), "negate": True}),
    Case("by_keyword", {"x": (3, 4), "scale": (4,)}),
    Case("spread", {"x": (1, 4), "sizes": [3, 4]}),
    Case("activate", {"x": (3, 4), "slopes": [0.5, 2.0]}),
    Case("activate", {"x": (3, 4), "kind": "tanh"}),
    Case("converted", {"x": (3, 4), "dtype": torch.float32}),
    Case("converted", {"x": (3, 4)}),
    Case("low_high", {"x": (3, 4), "k": 1}),
    Case("scale_", {"x": (3, 4), "factor": 0.5}),
    Case("scale_", {"x": (3, 4), "y": (3, 4)}),
    Case("exchange_", {"x": (3, 4), "y": (3, 4)}),
    Case("update_", {"state": (3, 4), "x": (3, 4), "decay": 0.25}),
    Case("absorb_", {"x": (3, 4), "y": (3, 4)}),
    Case("absorb_", {"x": (3, 4), "mode": (3, 4)}),
    Case("scale_all_", {"xs": [(3, 4), (2,)], "factor": ()}),
    Case("axpy.out", {"x": (3, 4), "y": (4,), "alpha": 2, "out": (3, 4)}, differentiable=False),
    Case("observe", {"x": (3, 4)}, differentiable=False),
    Case("twice", {"x": (3, 4)}),
    Case("first_rows", {"x": (3, 4), "k": 2}),
    Case("perhaps", {"given": (4,)}, differentiable=False),
    Case("bump_", {"x": (3, 4)}),
    Case("ramp", {"n": 5}, differentiable=False),
)


def arguments(case: Case, dtype: torch.dtype = torch.float64) -> dict[str, Any]:
    """Make the arguments of a case on the CPU, the same ones each time."""
    generator = torch.Generator().manual_seed(0)

    def made(value: Any) -> Any:  # noqa: ANN401 - any argument
        if isinstance(value, tuple):
            return torch.rand(value, dtype=dtype, generator=generator) + 0.5
        if isinstance(value, list) and any(isinstance(each, tuple) for each in value):
            return [made(each) for each in value]
        return value

    return {name: made(value) for name, value in case.values.items()}


def copied(values: Any, how: Callable[[Tensor], Tensor] = torch.clone) -> Any:  # noqa: ANN401 - any argument
    """Replace the tensors in arguments or results."""
    if isinstance(values, torch.Tensor):
        return how(values)
    if isinstance(values, dict):
        return {name: copied(value, how) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        return type(values)(copied(value, how) for value in values)
    return values

"""Tools that the tests of a package share: tensors from their descriptions, calls, comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "Case",
    "assert_same",
    "call",
    "copied",
    "devices",
    "drop_unspecified",
    "flat",
    "laid_out",
    "make",
    "overload",
    "slopes",
    "tensor",
]

STEP = 1e-3  # of a finite difference: with float32, rounding and curvature are both about 1e-4
IMAGES = 4  # axes of the smallest tensor with channels: batch, channels, height, width


@dataclass(frozen=True)
class Spec:
    """A tensor of random values between two bounds, or of given ones."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    low: float | None = None
    high: float | None = None
    layout: str = "contiguous"
    values: tuple[Any, ...] | None = None


def tensor(
    *shape: int,
    dtype: torch.dtype,
    low: float | None = None,
    high: float | None = None,
    layout: str = "contiguous",
    values: tuple[Any, ...] | None = None,
) -> Spec:
    """Describe a tensor; bounds are -1 to 1 for floating-point values, 0 to 9 for integers."""
    return Spec(shape, dtype, low, high, layout, values)


@dataclass(frozen=True)
class Case:
    """Arguments of one call; what is missing has its default.

    Parameters
    ----------
    unspecified
        The places of the results that may hold anything after it.
    """

    operator: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    match: str = ""
    unspecified: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return the name of the test: the operator, dtypes and sizes."""
        parts = [self.operator]
        for value in self.arguments.values():
            if isinstance(value, Spec):
                dtype = str(value.dtype).removeprefix("torch.")
                parts.append("x".join([dtype, *map(str, value.shape)]))
        return "-".join(parts)


def devices() -> list[str]:
    """Return the devices on which operators can run here."""
    npu = getattr(torch, "npu", None)
    return ["cpu", "npu"] if npu is not None and npu.is_available() else ["cpu"]


def make(case: Case, device: str, *, requires_grad: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the arguments of a case; equal values on all devices."""
    generator = torch.Generator().manual_seed(0)
    values = {name: made(value, device, generator) for name, value in case.arguments.items()}
    for name in requires_grad:
        for each in flat(values.get(name)):
            each.requires_grad_(each.is_floating_point() or each.is_complex())
    return values


def made(value: Any, device: str, generator: torch.Generator) -> Any:  # noqa: ANN401 - any argument
    """Return one argument."""
    if isinstance(value, list | tuple):
        return [made(each, device, generator) for each in value]
    if isinstance(value, Spec):
        return laid_out(drawn(value, generator).to(device), value.layout)
    return value


def drawn(spec: Spec, generator: torch.Generator) -> torch.Tensor:
    """Return a tensor of random values, or of those that are given."""
    if spec.values is not None:
        return torch.tensor(spec.values).reshape(spec.shape).to(spec.dtype)
    if spec.dtype is torch.bool:
        return torch.randint(0, 2, spec.shape, generator=generator).bool()
    if spec.dtype.is_floating_point or spec.dtype.is_complex:
        low = -1.0 if spec.low is None else spec.low
        high = 1.0 if spec.high is None else spec.high
        drawn_type = torch.complex128 if spec.dtype.is_complex else torch.float64
        values = torch.rand(spec.shape, dtype=drawn_type, generator=generator)
        return (low + values * (high - low)).to(spec.dtype)
    low = 0 if spec.low is None else int(spec.low)
    high = 10 if spec.high is None else int(spec.high)
    return torch.randint(low, high, spec.shape, generator=generator).to(spec.dtype)


def laid_out(dense: torch.Tensor, layout: str) -> torch.Tensor:
    """Return a tensor with a layout: the values are those of `dense`, but of an expanded one.

    What lies between its elements is NaN, or 1 where there is none. A tensor with too few axes, or
    elements, for the layout is returned as it is.
    """
    shape, rank = dense.shape, dense.ndim
    match layout:
        case "transposed" if rank > 1:
            return permuted(dense, [*range(rank - 2), rank - 1, rank - 2])
        case "reversed" if rank > 1:
            return permuted(dense, list(reversed(range(rank))))
        case "channels_last" if rank >= IMAGES:
            return permuted(dense, [0, *range(2, rank), 1])
        case "offset":
            return filled(dense, dense.numel() + 1)[1:].view(shape).copy_(dense)
        case "sliced" if rank > 1:
            return filled(dense, *shape[:-1], shape[-1] + 3)[..., 1:-2].copy_(dense)
        case "strided" if rank:
            return filled(dense, *shape[:-1], 2 * shape[-1])[..., ::2].copy_(dense)
        case "expanded" if any(size > 1 for size in shape) and dense.numel():
            axis = next(axis for axis, size in enumerate(shape) if size > 1)
            return dense.narrow(axis, 0, 1).clone().expand(shape)
    return dense


def permuted(dense: torch.Tensor, axes: list[int]) -> torch.Tensor:
    """Return a tensor whose axes lie in memory in this order, outermost first."""
    back = sorted(range(len(axes)), key=axes.__getitem__)
    return dense.permute(axes).contiguous().permute(back)


def filled(like: torch.Tensor, *shape: int) -> torch.Tensor:
    """Return a tensor of what should never be read."""
    has_nan = like.dtype.is_floating_point or like.dtype.is_complex
    return torch.full(shape, float("nan") if has_nan else 1, dtype=like.dtype, device=like.device)


def overload(namespace: str, name: str) -> Any:  # noqa: ANN401 - torch.ops has no types
    """Return an operator; `name` has the overload behind a dot."""
    packet, _, variant = name.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), variant or "default")


def call(operator: Any, values: Mapping[str, Any]) -> list[Any]:  # noqa: ANN401 - torch.ops has no types
    """Call an operator; return its results, then the arguments that it writes."""
    arguments = operator._schema.arguments  # noqa: SLF001 - the schema has no public name
    positional = []
    for argument in arguments:
        if argument.kwarg_only or argument.name not in values:
            break
        positional.append(values[argument.name])
    rest = list(values)[len(positional) :]
    returned = operator(*positional, **{name: values[name] for name in rest})
    results = list(returned) if isinstance(returned, tuple) else [returned]
    written = [a.name for a in arguments if a.alias_info and a.alias_info.is_write]
    return [*results, *(values.get(name) for name in written)]


def drop_unspecified(case: Case, results: Sequence[Any]) -> list[Any]:
    """Return what `call` returned, without the results that may hold anything."""
    return [each for place, each in enumerate(results) if place not in case.unspecified]


def flat(value: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401 - any result
    """Return all tensors of a result."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from flat(each)


def assert_same(
    got: Any,  # noqa: ANN401 - any results
    want: Any,  # noqa: ANN401
    tolerances: Mapping[torch.dtype, tuple[float, float]],
) -> None:
    """Compare results: dtypes, shapes and values."""
    pairs = list(zip(flat(got), flat(want), strict=True))
    for one, other in pairs:
        rtol, atol = tolerances.get(other.dtype, (None, None))
        torch.testing.assert_close(
            one.detach().cpu(), other.detach().cpu(), rtol=rtol, atol=atol, equal_nan=True
        )


def slopes(
    operator: Any,  # noqa: ANN401 - torch.ops has no types
    reference: Callable[[dict[str, Any]], list[Any]],
    case: Case,
    inputs: tuple[str, ...],
) -> tuple[float, float]:
    """Return the slope of a case in a random direction: by the gradients, and by differences.

    The results are weighted with random numbers and summed.

    Parameters
    ----------
    reference
        From arguments by name to results and then written arguments.
    inputs
        The differentiable arguments.
    """
    generator = torch.Generator().manual_seed(1)
    leaves = make(case, "cpu", requires_grad=inputs)
    results = call(operator, copied(leaves))
    differentiable = [
        (place, each)
        for place, each in enumerate(flat(results))
        if each.requires_grad and each.is_floating_point()
    ]
    weights = {p: torch.rand(t.shape, generator=generator) for p, t in differentiable}
    parts = [(t.float() * weights[p]).sum() for p, t in differentiable]
    moved = [t for name in inputs for t in flat(leaves.get(name)) if t.requires_grad]
    gradients = torch.autograd.grad(torch.stack(parts).sum(), moved, materialize_grads=True)
    directions = [torch.rand(t.shape, generator=generator) - 0.5 for t in moved]
    pairs = zip(gradients, directions, strict=True)
    slope = sum((float((g * d).sum()) for g, d in pairs), 0.0)

    def height(step: float) -> float:
        values = make(case, "cpu")
        tensors = [t for n in inputs for t in flat(values.get(n)) if t.is_floating_point()]
        for each, direction in zip(tensors, directions, strict=True):
            each.add_(step * direction)
        found = list(flat(reference(values)))
        return sum((float((found[p].double() * weights[p]).sum()) for p, _ in differentiable), 0.0)

    return slope, (height(STEP) - height(-STEP)) / (2 * STEP)


def copied(value: Any) -> Any:  # noqa: ANN401 - any argument
    """Return arguments whose tensors can be written: a leaf of autograd's graph cannot."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {name: copied(each) for name, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value

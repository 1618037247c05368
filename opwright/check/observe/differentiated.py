"""An operator under autograd: its gradients for given arguments, and what is expected of them."""

from __future__ import annotations

import math
import warnings
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from opwright.check.observe.slope import slope
from opwright.check.observe.tensors import base, replace_tensors, tensors_by_place
from opwright.check.subject import flat

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from opwright.check.observe.slope import Slope
    from opwright.check.subject import Subject
    from opwright.kit.live.arguments import Values

__all__ = [
    "Call",
    "Gradients",
    "Tensors",
    "base",
    "call_with_grad",
    "cotangents",
    "differentiable_inputs",
    "differentiable_outputs",
    "dot",
    "find_dependent",
    "is_differentiable",
    "jittered",
    "random_like",
    "reference_slope",
    "widen",
]

Tensors = dict[str, torch.Tensor]
# By place of an input: its gradient, None without one.
Gradients = dict[str, "torch.Tensor | None"]


def is_differentiable(tensor: torch.Tensor) -> bool:
    """Return whether a tensor can have a gradient."""
    return tensor.is_floating_point() or tensor.is_complex()


def differentiable_inputs(subject: Subject, values: Values) -> Tensors:
    """Return the tensors among the arguments that should have gradients, by place.

    A declared operator says which; of others these are all of floating-point or complex dtype.
    """
    facts = subject.facts
    names: Collection[str] | None = None
    if facts is not None and facts.autograd is not None:
        names = facts.autograd.inputs
    return {
        place: tensor
        for place, tensor in tensors_by_place(values, values)
        if is_differentiable(tensor) and (names is None or base(place) in names)
    }


def differentiable_outputs(subject: Subject, results: Tensors) -> list[str]:
    """Return the results through which gradients flow, by place."""
    facts = subject.facts
    names: Collection[str] | None = None
    if facts is not None and facts.autograd is not None:
        names = facts.autograd.outputs
    return [
        place
        for place, tensor in results.items()
        if is_differentiable(tensor) and (names is None or base(place) in names)
    ]


@dataclass(slots=True)
class Call:
    """A call that autograd recorded.

    Parameters
    ----------
    leaves
        What requires grad, by place. A written argument is a copy of its leaf.
    results
        All that was computed, by place.
    values
        The arguments as they were passed.
    """

    leaves: Tensors
    results: Tensors
    values: Values
    messages: list[str] = field(default_factory=list)

    def pull(
        self,
        grads: Mapping[str, torch.Tensor],
        *,
        retain: bool = False,
        create: bool = False,
    ) -> Gradients:
        """Return the gradients of the leaves, for gradients of some results."""
        heads = [place for place in grads if self.results[place].requires_grad]
        if not heads or not self.leaves:
            return dict.fromkeys(self.leaves)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = torch.autograd.grad(
                [self.results[place] for place in heads],
                list(self.leaves.values()),
                [grads[place] for place in heads],
                retain_graph=retain or create,
                create_graph=create,
                allow_unused=True,
            )
        self.messages += [str(each.message) for each in caught]
        return dict(zip(self.leaves, found, strict=True))


def call_with_grad(subject: Subject, values: Values, places: Collection[str]) -> Call:
    """Call the operator with tensors that require grad at some places."""
    written = {argument.name for argument in subject.schema.mutated}
    leaves: Tensors = {}

    def made(place: str, tensor: torch.Tensor) -> torch.Tensor:
        if place not in places:
            return tensor.detach().clone()
        leaf = tensor.detach().clone().requires_grad_()
        leaves[place] = leaf
        return leaf.clone() if base(place) in written else leaf

    with torch.enable_grad():
        given = replace_tensors(values, list(values), made)
        results = flat(subject.computed(subject.call(given), given))
    return Call(leaves, results, given)


def random_like(tensor: torch.Tensor, name: str) -> torch.Tensor:
    """Return random numbers for a tensor: the same for one name, on all devices."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    wide = torch.complex128 if tensor.is_complex() else torch.float64
    made = torch.rand(tensor.shape, dtype=wide, generator=generator) + 0.25
    # Halves of both signs; a power of two is exact in all dtypes.
    sign = torch.randint(0, 2, tensor.shape, generator=generator) * 2 - 1
    return (made * sign).to(tensor.dtype).to(tensor.device)


def cotangents(results: Tensors, places: Collection[str]) -> Tensors:
    """Return a gradient for each of some results."""
    return {place: random_like(results[place], f"grad of {place}") for place in places}


def dot(one: torch.Tensor, other: torch.Tensor) -> float:
    """Return the real part of the inner product, in double."""
    a, b = one.detach().cpu(), other.detach().cpu()
    wide = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
    return float((a.to(wide).conj() * b.to(wide)).sum().real)


def widen(values: Values) -> Values:
    """Return arguments whose floating-point tensors are double."""

    def wide(_: str, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.is_complex():
            return tensor.to(torch.complex128)
        return tensor.double() if tensor.is_floating_point() else tensor

    return replace_tensors(values, list(values), wide)


def jittered(values: Values, point: int) -> Values:
    """Return arguments near by: floating-point tensors move a little towards their middle.

    So they stay within the bounds that they had.
    """
    if not point:
        return values

    def moved(place: str, tensor: torch.Tensor) -> torch.Tensor:
        if not is_differentiable(tensor) or not tensor.numel():
            return tensor
        share = random_like(tensor, f"{place} at {point}") * (point / 16)
        if bool((tensor == tensor.reshape(-1)[0]).all()):
            return tensor + share  # there is no middle
        return tensor + (tensor.mean() - tensor) * share.abs()

    return replace_tensors(values, list(values), moved)


def find_dependent(subject: Subject, values: Values, places: Collection[str]) -> dict[str, Tensors]:
    """Return where results of the reference change with an input, by place of input and result.

    That of a result of which this is not known is left out.
    """

    def computed(place: str | None) -> Tensors:
        def moved(at: str, tensor: torch.Tensor) -> torch.Tensor:
            if at != place:
                return tensor.clone()
            return tensor + random_like(tensor, f"move of {at}") / 16

        try:
            with torch.no_grad():
                return flat(subject.expected(replace_tensors(values, list(values), moved)))
        except Exception:  # noqa: BLE001 - user code: the input moved out of what is allowed
            return {}

    before = computed(None)
    return {
        place: {
            name: before[name] != result
            for name, result in computed(place).items()
            if name in before and before[name].shape == result.shape
        }
        for place in places
    }


def reference_slope(
    subject: Subject,
    values: Values,
    grads: Tensors,
    place: str,
    direction: torch.Tensor,
    noise: float = 0.0,
) -> Slope | None:
    """Return the derivative of the reference along one input, for gradients of its results.

    Parameters
    ----------
    noise
        How far the sum of the results, each times its gradient, may be off by rounding.
    """

    def along(step: float) -> float:
        def moved(at: str, tensor: torch.Tensor) -> torch.Tensor:
            return tensor + step * direction if at == place else tensor.clone()

        with torch.no_grad():
            results = flat(subject.expected(replace_tensors(values, list(values), moved)))
        total = 0.0
        for name, grad in grads.items():
            if results[name].shape != grad.shape:
                return math.nan
            total += dot(grad, results[name])
        return total

    return slope(along, noise)

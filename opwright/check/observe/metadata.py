"""Facts about a call's tensors without their values, and how two calls differ in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch

from opwright.check.observe.memory import identity
from opwright.check.subject import flat, pack_results
from opwright.kit.live.arguments import tensors_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.check.subject import Subject
    from opwright.kit.live.arguments import Values

__all__ = ["Difference", "Metadata", "Property", "metadata", "name_results", "render"]

# In the order in which they are compared: a shape that is wrong makes strides wrong, too.
Property: TypeAlias = Literal["number", "shape", "dtype", "device", "aliasing", "strides", "offset"]


@dataclass(frozen=True, slots=True)
class Difference:
    """How what a call returned differs from what another one did.

    Parameters
    ----------
    name
        The result, or the argument, of the operator.
    """

    name: str
    property: Property
    expected: str
    got: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """Facts about the tensors of a call after it.

    Parameters
    ----------
    results
        The values that the call returned, by name; those that are no tensors, too.
    arguments
        The tensors among its arguments; operators that resize one change their metadata.
    """

    results: Mapping[str, Any]
    arguments: Mapping[str, torch.Tensor]

    def differences(self, other: Metadata, device: str | None = None) -> Iterator[Difference]:
        """Yield how another call differs from this one.

        Parameters
        ----------
        device
            What the other's tensors have for a device; None for those of this one.
        """
        for name, value in self.results.items():
            yield from number_differences(name, value, other.results[name])
        tensors, others = flat(self.results), flat(other.results)
        for name, tensor in tensors.items():
            got = others.get(name)
            if got is None:
                continue
            yield from plain_differences(name, tensor, got, device)
            one, another = self.aliased(name), other.aliased(name)
            if one != another:
                yield Difference(name, "aliasing", one, another)
            yield from layout_differences(name, tensor, got)
        for name, tensor in self.arguments.items():
            label = f"argument {name} after the call"
            yield from plain_differences(label, tensor, other.arguments[name], device)
            yield from layout_differences(label, tensor, other.arguments[name])

    def aliased(self, name: str) -> str:
        """Say whose memory a result has: that of an argument or of an earlier result."""
        results = flat(self.results)
        mine = identity(results[name])
        for other, tensor in self.arguments.items():
            if identity(tensor) == mine:
                return f"the memory of argument {other}"
        for other, tensor in results.items():
            if other == name:
                break
            if identity(tensor) == mine:
                return f"the memory of result {other}"
        return "memory of its own"


def metadata(subject: Subject, returned: object, values: Values) -> Metadata:
    """Return what is known of a call.

    Parameters
    ----------
    returned
        What it returned.
    values
        Its arguments.
    """
    return Metadata(name_results(subject, returned), flat(values))


def name_results(subject: Subject, returned: object) -> dict[str, Any]:
    """Return the results of a call by name, those too that are arguments."""
    names = subject.schema.output_names()
    return dict(zip(names, pack_results(returned, len(names)), strict=True))


def number_differences(name: str, one: object, other: object) -> Iterator[Difference]:
    """Compare what a result is: a tensor, a list of so many, None, a number."""
    if describe_value(one) != describe_value(other):
        yield Difference(name, "number", describe_value(one), describe_value(other))


def describe_value(value: object) -> str:
    """Say what a value is."""
    if isinstance(value, torch.Tensor):
        return "a tensor"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)} ({len(list(tensors_in(value)))} tensors)"
    for kind, symbolic in ((bool, torch.SymBool), (int, torch.SymInt), (float, torch.SymFloat)):
        if isinstance(value, kind | symbolic):
            return f"a value of type {kind.__name__}"
    return "None" if value is None else f"a value of type {type(value).__name__}"


def plain_differences(
    name: str, one: torch.Tensor, other: torch.Tensor, device: str | None
) -> Iterator[Difference]:
    """Compare shape, dtype and device."""
    if not same_sizes(one.shape, other.shape):
        yield Difference(name, "shape", render(one.shape), render(other.shape))
    if one.dtype != other.dtype:
        yield Difference(name, "dtype", render(one.dtype), render(other.dtype))
    # A result on the host is on the host for meta tensors too, or meta.
    wanted = {str(one.device)} if device is None else {device}
    if device is not None and one.device.type == "cpu":
        wanted.add("cpu")
    if str(other.device) not in wanted:
        yield Difference(name, "device", " or ".join(sorted(wanted)), str(other.device))


def layout_differences(name: str, one: torch.Tensor, other: torch.Tensor) -> Iterator[Difference]:
    """Compare strides of axes where they say something, and storage offsets."""
    if not is_concrete(other.shape) or one.shape != other.shape or one.numel() == 0:
        return
    pairs = zip(one.shape, one.stride(), other.stride(), strict=True)
    if any(size > 1 and left != right for size, left, right in pairs):
        yield Difference(name, "strides", render(one.stride()), render(other.stride()))
    if one.storage_offset() != other.storage_offset():
        yield Difference(name, "offset", str(one.storage_offset()), str(other.storage_offset()))


def same_sizes(one: torch.Size, other: torch.Size) -> bool:
    """Return whether two shapes agree; a size that depends on data agrees with every number."""
    return len(one) == len(other) and all(
        is_symbol(right) or left == right for left, right in zip(one, other, strict=True)
    )


def is_concrete(shape: torch.Size) -> bool:
    """Return whether all sizes are numbers."""
    return not any(is_symbol(size) for size in shape)


def is_symbol(size: object) -> bool:
    """Return whether a size is a symbol."""
    return isinstance(size, torch.SymInt)


def render(value: object) -> str:
    """Return a shape, strides or dtype as text."""
    if isinstance(value, tuple):
        return f"({', '.join(map(str, value))}{',' if len(value) == 1 else ''})"
    return str(value).removeprefix("torch.")

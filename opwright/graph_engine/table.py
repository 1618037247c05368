"""The operator table: GE type -> the function that computes it.

A kernel's signature is the operator's prototype: positional parameters are the inputs by name,
keyword-only ones the attributes. The annotation of an input says what the kernel gets:

===================  ==============================================================================
torch.Tensor         the tensor; `torch.Tensor | None` for an optional input
list[torch.Tensor]   a dynamic input
list[int], int       the values of an input on the host (a shape, axes, a count): they are constants
                     or follow from shapes; `| None` for an optional one
float, str           the same, of other constants: TorchAir's own types have no attributes
===================  ==============================================================================

A kernel returns a tensor, or a tuple of one tensor (None for an output that it leaves out) for each
output. Kernels are traced, so they use torch only, and never look at the values of tensors.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

__all__ = ["TABLE", "Kernel", "Passing", "Takes", "kernel", "load_kernels", "types"]

Function = typing.TypeVar("Function", bound="Callable[..., object]")


class Takes(enum.Enum):
    """The form in which a kernel gets an input."""

    TENSOR = "a tensor"
    TENSORS = "tensors"
    VALUES = "values on the host"
    VALUE = "a value on the host"
    NUMBER = "a real number on the host"
    TEXT = "a text on the host"


@dataclass(frozen=True, slots=True)
class Passing:
    """One input of a kernel."""

    takes: Takes
    optional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """The function of an operator type.

    Parameters
    ----------
    inputs
        By name, in the order of the prototype.
    attributes
        Name -> whether it can be left out.
    source
        Where the behaviour of the type can be read: a form of opwright/aclnn/sources.py. Kernels
        that users bring have none.
    of_shapes
        The result depends on the shapes of the inputs only: it is a value on the host.
    takes_node
        The function also gets the node, as its keyword argument `node`.
    launches
        The function launches work on the stream of the run: it is computed in no other place, and
        never ahead.
    """

    function: Callable[..., object]
    inputs: Mapping[str, Passing]
    attributes: Mapping[str, bool]
    source: str = ""
    of_shapes: bool = False
    takes_node: bool = False
    launches: bool = False


TABLE: dict[str, Kernel] = {}


def kernel(*names: str, source: str, of_shapes: bool = False) -> Callable[[Function], Function]:
    """Make a function the kernel of the GE types `names`.

    Parameters
    ----------
    source
        Where the behaviour of these types can be read, or `inferred`; types with different sources
        have a decorator each.
    of_shapes
        The result depends on the shapes of the inputs only, and is wanted on the host.
    """

    def register(function: Function) -> Function:
        entry = describe(function, source=source, of_shapes=of_shapes)
        for name in names:
            if name in TABLE:
                message = f"the operator type {name} has a kernel already"
                raise ValueError(message)
            TABLE[name] = entry
        return function

    return register


def describe(function: Callable[..., object], *, source: str, of_shapes: bool) -> Kernel:
    """Return the kernel that a function's signature describes."""
    hints = typing.get_type_hints(function)
    parameters = inspect.signature(function).parameters.values()
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    return Kernel(
        function=function,
        inputs={
            p.name: read_passing(hints[p.name])
            for p in parameters
            if p.kind is p.POSITIONAL_OR_KEYWORD
        },
        attributes={p.name: p.default is not p.empty for p in keywords if p.name != "node"},
        source=source,
        of_shapes=of_shapes,
        takes_node=any(p.name == "node" for p in keywords),
    )


PASSINGS = {
    torch.Tensor: Takes.TENSOR,
    list[torch.Tensor]: Takes.TENSORS,
    list[int]: Takes.VALUES,
    int: Takes.VALUE,
    float: Takes.NUMBER,
    str: Takes.TEXT,
}


def read_passing(hint: object) -> Passing:
    """Return what an annotation says."""
    arguments = typing.get_args(hint)
    optional = type(None) in arguments
    wanted = next(a for a in arguments if a is not type(None)) if optional else hint
    return Passing(PASSINGS[typing.cast("typing.Any", wanted)], optional)


def load_kernels(*packages: ModuleType) -> None:
    """Import every module of these packages of kernels, which enters its kernels into the table."""
    for package in packages:
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")


def types() -> tuple[str, ...]:
    """Return the GE types that have a kernel."""
    return tuple(sorted(TABLE))

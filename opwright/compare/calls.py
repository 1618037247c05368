"""The call of an operator -> its text in Python, its tensors and their names."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import torch

from opwright.internals.dispatcher import OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "copy_tensor",
    "has_defined_results",
    "is_random_operator",
    "map_tensors",
    "name_operator",
    "name_results",
    "name_tensors",
    "name_written",
    "tensors_in",
    "write_call",
]

# Operators that return memory as it is: their results cannot be compared.
UNDEFINED = frozenset(
    {
        "aten.empty",
        "aten.empty_like",
        "aten.empty_permuted",
        "aten.empty_strided",
        "aten.new_empty",
        "aten.new_empty_strided",
        "npu.empty_with_format",
        "npu.unsafe_empty_with_format",
    }
)


def name_operator(target: object) -> str:
    """Return the name of an operator, as in `aten.add.Tensor`."""
    if isinstance(target, OpOverload):
        return str(target)
    name = str(getattr(target, "__name__", target))
    return f"higher_order.{name}" if getattr(target, "namespace", "") == "higher_order" else name


def has_defined_results(target: object) -> bool:
    """Return whether an operator computes all that it returns."""
    return name_operator(target).rpartition(".")[0] not in UNDEFINED


def is_random_operator(target: object) -> bool:
    """Return whether results of an operator come from a generator."""
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def name_tensors(
    target: object, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[tuple[str, torch.Tensor]]:
    """Return the tensors of a call in the order in which `write_call` numbers them, with names."""
    return [
        found
        for name, value in name_arguments(target, args, kwargs)
        for found in tensors_in(name, value)
    ]


def name_results(results: object) -> list[tuple[str, torch.Tensor]]:
    """Return the tensors that a call has returned: `output`, or `output 0`, …."""
    several = isinstance(results, list | tuple)
    named = enumerate(results) if isinstance(results, list | tuple) else [(0, results)]
    return [
        found
        for place, value in named
        for found in tensors_in(f"output {place}" if several else "output", value)
    ]


def name_written(
    target: object, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[tuple[str, torch.Tensor]]:
    """Return the tensors that a call writes, as its schema says."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return []
    written = {
        each.name for each in schema.arguments if each.alias_info and each.alias_info.is_write
    }
    return [
        (f"{label} (written)", tensor)
        for name, value in name_arguments(target, args, kwargs)
        if name in written
        for label, tensor in tensors_in(name, value)
    ]


def name_arguments(
    target: object, args: Sequence[object], kwargs: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    """Yield the arguments of a call with the names in its schema."""
    schema = getattr(target, "_schema", None)
    names = [] if schema is None else [each.name for each in schema.arguments]
    for place, value in enumerate(args):
        yield (names[place] if place < len(names) else f"argument {place}"), value
    yield from kwargs.items()


def tensors_in(name: str, value: object) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of a value, with their places in lists and dicts."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield from tensors_in(f"{name}[{place}]", each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from tensors_in(f"{name}[{key!r}]", each)


def copy_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor into memory of its own, without its history."""
    return tensor.detach().clone()


def map_tensors(function: Callable[[torch.Tensor], Any], value: Any) -> Any:  # noqa: ANN401 - any
    """Replace the tensors of a value, in lists, tuples and dicts as well."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # a named tuple
        return type(value)(*(map_tensors(function, each) for each in value))
    if isinstance(value, list | tuple):
        return type(value)(map_tensors(function, each) for each in value)
    if isinstance(value, dict):
        return type(value)((key, map_tensors(function, each)) for key, each in value.items())
    return value


def write_call(target: object, args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """Return a call in Python; its tensors are `t[0]`, `t[1]`, …."""
    numbers = itertools.count()
    texts = [write_value(each, numbers) for each in args]
    texts += [f"{name}={write_value(each, numbers)}" for name, each in kwargs.items()]
    return f"{write_target(target)}({', '.join(texts)})"


def write_target(target: object) -> str:
    """Return an operator in Python."""
    return f"torch.ops.{name_operator(target)}"


def write_value(value: Any, numbers: Iterator[int]) -> str:  # noqa: ANN401 - any argument
    """Return a value in Python; `numbers` has the number of the next tensor."""
    match value:
        case torch.Tensor():
            return f"t[{next(numbers)}]"
        case list() | tuple():
            return f"[{', '.join(write_value(each, numbers) for each in value)}]"
        case dict():
            inner = (f"{key!r}: {write_value(each, numbers)}" for key, each in value.items())
            return f"{{{', '.join(inner)}}}"
        case torch.device():
            return f"torch.device({str(value)!r})"
        case torch.SymInt():
            return str(int(value))
        case float() if not math.isfinite(value):
            return f"float({str(value)!r})"
        case torch.dtype() | torch.layout() | torch.memory_format():
            return str(value)
        case OpOverload():
            return write_target(value)
    return repr(value)

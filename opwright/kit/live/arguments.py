"""A call's args and kwargs -> all arguments by name, and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.schema import Base
from opwright.kit.shipped.runtime import map_tensors, tensors_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.kit.declare.schema import Argument, Schema

__all__ = ["Binder", "Values", "map_tensors", "tensors_in", "torch_value"]

# The arguments of a call by name, in the order of the schema.
Values: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Binder:
    """How an operator's arguments are passed. The dispatcher leaves out what has its default."""

    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    defaults: Mapping[str, Any]

    @classmethod
    @lru_cache(maxsize=1024)  # not without bound: tests make schemas without end
    def of(cls, schema: Schema) -> Binder:
        """Return the binder of a schema, kept: CPython cannot parse in several threads."""
        return cls(
            positional=tuple(a.name for a in schema.arguments if not a.keyword_only),
            keyword_only=tuple(a.name for a in schema.arguments if a.keyword_only),
            defaults={a.name: torch_default(a) for a in schema.arguments if a.default is not None},
        )

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Values:
        """Return the arguments by name."""
        given = {**dict(zip(self.positional, args, strict=False)), **kwargs}
        names = (*self.positional, *self.keyword_only)
        return {name: given[name] if name in given else self.defaults[name] for name in names}

    def call(self, function: Callable[..., Any], values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any result
        """Call a function with the arguments, as the schema has them."""
        return function(
            *(values[name] for name in self.positional),
            **{name: values[name] for name in self.keyword_only},
        )


def torch_default(argument: Argument) -> Any:  # noqa: ANN401 - any argument
    """Return the default of an argument as torch has it."""
    return torch_value(default_value(argument), argument.type.base)


def torch_value(value: Any, base: Base) -> Any:  # noqa: ANN401 - any argument
    """Return a value of a declaration as torch has it: dtypes, layouts and devices are texts."""
    if not isinstance(value, str):
        return value
    match base:
        case Base.SCALAR_TYPE | Base.LAYOUT | Base.MEMORY_FORMAT:
            return getattr(torch, value)
        case Base.DEVICE:
            return torch.device(value)
        case _:
            return value

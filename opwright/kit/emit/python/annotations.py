"""Types and defaults of a schema as Python's annotations and literals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.schema import Base
from opwright.kit.emit.python.text import literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.kit.declare.schema import Argument, Schema, ValueType

__all__ = ["annotation", "default_text", "parameters", "result_annotation", "signature_items"]

ANNOTATIONS = {
    Base.TENSOR: "torch.Tensor",
    Base.INT: "int",
    Base.SYMINT: "int",
    Base.FLOAT: "float",
    Base.SYMFLOAT: "float",
    Base.BOOL: "bool",
    Base.SYMBOOL: "bool",
    Base.STR: "str",
    # Of a type checker, int and float are complex as well.
    Base.SCALAR: "complex",
    Base.SCALAR_TYPE: "torch.dtype",
    Base.DEVICE: "torch.device",
    Base.LAYOUT: "torch.layout",
    Base.MEMORY_FORMAT: "torch.memory_format",
    Base.GENERATOR: "torch.Generator",
    Base.DIMNAME: "str",
    Base.COMPLEX: "complex",
    Base.STORAGE: "torch.UntypedStorage",
    Base.STREAM: "torch.Stream",
    Base.QSCHEME: "torch.qscheme",
    Base.DEVICE_INDEX: "int",
    Base.CONST_QUANTIZER: "object",
}
# Bases whose default is the name of an attribute of torch.
NAMED = frozenset({Base.SCALAR_TYPE, Base.LAYOUT, Base.MEMORY_FORMAT, Base.QSCHEME})
NUMBER = re.compile(r"[+-]?(?:inf|nan)")


def annotation(value_type: ValueType, *, given: bool = True) -> str:
    """Return the annotation of a value.

    Parameters
    ----------
    given
        Whether a caller gives it: then a list may be any sequence, and where the schema has its
        length (`int[2]`) also one number. A returned list is a list.
    """
    text = ANNOTATIONS[value_type.base]
    if value_type.is_list:
        element = f"{text} | None" if value_type.optional_elements else text
        single = f"{text} | " if given and value_type.length and not value_type.has_tensors else ""
        text = f"{single}{'Sequence' if given else 'list'}[{element}]"
    return f"{text} | None" if value_type.optional else text


def result_annotation(schema: Schema) -> str:
    """Return the annotation of what an operator returns."""
    results = [annotation(result.type, given=False) for result in schema.results]
    match results:
        case []:
            return "None"
        case [single]:
            return single
        case _:
            return f"tuple[{', '.join(results)}]"


def default_text(argument: Argument) -> str | None:
    """Return the default of an argument as a literal; None if it has none."""
    if argument.default is None:
        return None
    value = default_value(argument)
    if isinstance(value, str) and argument.type.base in NAMED:
        return f"torch.{value.removeprefix('torch.')}"
    if isinstance(value, str) and argument.type.base is Base.DEVICE:
        return f"torch.device({literal(value)})"
    if isinstance(value, str) and NUMBER.fullmatch(value) and argument.type.base is not Base.STR:
        return f'float("{value}")'
    if isinstance(value, list):
        # An argument whose default is a list would share it between calls.
        return literal(tuple(tuple(v) if isinstance(v, list) else v for v in value))
    return literal(value)


def parameters(arguments: Iterable[Argument], *, stub: bool = False) -> list[str]:
    """Return parameters with annotations and defaults, keyword-only as in the schema."""
    items: list[str] = []
    for argument in arguments:
        if argument.keyword_only and "*" not in items:
            items.append("*")
        default = default_text(argument)
        text = f"{argument.name}: {annotation(argument.type)}"
        if default is not None:
            text += " = ..." if stub else f" = {default}"
        items.append(text)
    return items


def signature_items(schema: Schema) -> list[str]:
    """Return what passes all arguments on: positional ones by place, others by keyword."""
    return [
        f"{argument.name}={argument.name}" if argument.keyword_only else argument.name
        for argument in schema.arguments
    ]

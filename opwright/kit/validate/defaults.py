"""Rules for types and defaults: those that the parser of PyTorch's dispatcher reads.

That is less than what torchgen reads: inf, Sum and channels_last are refused when the operator is
registered (torch/csrc/jit/frontend/function_schema_parser.cpp, verified by registering each).
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from opwright.errors import sort_nearest_first
from opwright.kit.declare.schema import Base
from opwright.kit.declare.schema_text import split
from opwright.kit.validate.errors import DefaultError, UnregistrableTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.errors import OpwrightError
    from opwright.kit.declare.schema import Argument, Result
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES"]

INTEGERS = frozenset({Base.INT, Base.SYMINT, Base.DEVICE_INDEX})
FLOATS = frozenset({Base.FLOAT, Base.SYMFLOAT})
BOOLS = frozenset({Base.BOOL, Base.SYMBOOL})
TEXTS = frozenset({Base.STR, Base.DEVICE})
DTYPE_WORDS = (
    *("uint8", "int8", "int16", "int32", "int64", "short", "int", "long"),
    *("float16", "float32", "float64", "bfloat16", "half", "float", "double"),
    *("complex32", "complex64", "complex128", "cfloat", "cdouble", "bool"),
)
# Neither is known to torch.library.
UNREGISTRABLE = frozenset({Base.DIMNAME, Base.SYMFLOAT})
# Words that are values, by type.
WORDS: dict[Base, tuple[str, ...]] = {
    Base.INT: ("Mean",),
    Base.SYMINT: ("Mean",),
    Base.SCALAR_TYPE: DTYPE_WORDS,
    Base.LAYOUT: ("strided",),
    Base.MEMORY_FORMAT: ("contiguous_format",),
}
# The form of a type's values, for messages.
FORMS = {
    **dict.fromkeys(INTEGERS, "whole numbers"),
    **dict.fromkeys(FLOATS, "finite numbers"),
    **dict.fromkeys(BOOLS, "True or False"),
    **dict.fromkeys(TEXTS, "a text in quotes"),
    Base.SCALAR: "finite numbers, True or False",
}


def defaults(subject: Subject) -> Iterator[OpwrightError]:
    """Check that each default is a value of its argument's type."""
    for argument in subject.schema.arguments:
        if argument.default is not None:
            yield from check(
                argument, argument.default, subject.where(f"argument {argument.name!r}")
            )


def check(argument: Argument, text: str, where: str) -> Iterator[OpwrightError]:
    """Check the default of one argument."""
    kind = argument.type
    if text == "None":
        if not kind.optional:
            fix = f"write {kind}? {argument.name}=None, or give a value"
            yield DefaultError(where=where, got=f"None for {kind}", fix=fix)
    elif kind.has_tensors:  # PyTorch's own parser ends the process for a list of tensors
        fix = "leave the default out, or make the argument optional with the default None"
        yield DefaultError(where=where, got=f"{text} for {kind}", allowed=["None"], fix=fix)
    elif kind.is_list and text.startswith("[") and text.endswith("]"):
        parts = split(text[1:-1])
        for part in parts:
            yield from check_element(part, kind.base, where)
        if parts and kind.length is not None and len(parts) != kind.length:
            fix = f"give {kind.length}, or one value that stands for each"
            yield DefaultError(where=where, got=f"{len(parts)} elements for {kind}", fix=fix)
    elif kind.is_list and kind.length is None:
        fix = f"write a list in brackets: [{text}]"
        yield DefaultError(where=where, got=f"{text} for {kind}", fix=fix)
    else:
        yield from check_element(text, kind.base, where)


def check_element(text: str, base: Base, where: str) -> Iterator[OpwrightError]:
    """Check a value that is no list."""
    words = WORDS.get(base, ())
    if text not in words and not is_fitting(text, base):
        allowed = [*sort_nearest_first(text, words), *([FORMS[base]] if base in FORMS else [])]
        yield DefaultError(where=where, got=f"{text} for {base.value}", allowed=allowed)


def is_fitting(text: str, base: Base) -> bool:
    """Return whether a text is a literal of a type."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return False
    if isinstance(value, bool):
        return base in BOOLS or base is Base.SCALAR
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            return base in FLOATS
        return base in INTEGERS | FLOATS or base is Base.SCALAR
    if isinstance(value, float):
        if not math.isfinite(value):
            return False
        return base in FLOATS or base is Base.SCALAR
    if isinstance(value, complex):
        return base is Base.COMPLEX
    return isinstance(value, str) and base in TEXTS


def types(subject: Subject) -> Iterator[OpwrightError]:
    """Check that the dispatcher knows the types."""
    values: tuple[Argument | Result, ...] = (*subject.schema.arguments, *subject.schema.results)
    for index, value in enumerate(values):
        if value.type.base in UNREGISTRABLE:
            field = f"argument {value.name!r}" if index < len(subject.arguments) else "results"
            yield UnregistrableTypeError(where=subject.where(field), got=str(value))


RULES = (types, defaults)

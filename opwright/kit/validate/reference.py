"""Rules for the reference: it takes the schema's arguments."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.schema import Base
from opwright.kit.validate.errors import ReferenceDefaultError, ReferenceParametersError
from opwright.kit.validate.subject import write_without_annotations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.errors import OpwrightError
    from opwright.kit.declare.schema import Argument, Schema
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES"]

# Names of one dtype; a reference has torch's dtype, whose text is the second.
SYNONYMS = {
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
WORDS = frozenset({Base.SCALAR_TYPE, Base.LAYOUT, Base.MEMORY_FORMAT, Base.DEVICE})


def parameters(subject: Subject) -> Iterator[OpwrightError]:
    """Check that the reference can be called with the arguments as the schema has them."""
    function = subject.operator.reference
    if function is None:
        return
    signature = inspect.signature(function)
    positional = [a.name for a in subject.schema.arguments if not a.keyword_only]
    keywords = [a.name for a in subject.schema.arguments if a.keyword_only]
    where = subject.where(f"reference {function.__name__}")
    allowed = [text_of(subject.schema)]
    try:
        bound = signature.bind(*positional, **{name: name for name in keywords})
    except TypeError as error:
        yield ReferenceParametersError(
            where=where, got=f"{write_without_annotations(signature)}: {error}", allowed=allowed
        )
        return
    swapped = [
        (name, given)
        for name, given in bound.arguments.items()
        if isinstance(given, str) and name != given and name in positional
    ]
    if swapped:
        name, given = swapped[0]
        got = (
            f"{write_without_annotations(signature)}: its {name!r} would be the schema's {given!r}"
        )
        yield ReferenceParametersError(where=where, got=got, allowed=allowed)


def text_of(schema: Schema) -> str:
    """Write the parameters that a schema asks for."""
    parts: list[str] = []
    for argument in schema.arguments:
        if argument.keyword_only and "*" not in parts:
            parts.append("*")
        parts.append(argument.name)
    return f"({', '.join(parts)})"


def defaults(subject: Subject) -> Iterator[OpwrightError]:
    """Check that defaults of the reference are those of the schema."""
    function = subject.operator.reference
    if function is None:
        return
    given = inspect.signature(function).parameters
    for argument in subject.schema.arguments:
        parameter = given.get(argument.name)
        if parameter is None or parameter.default is inspect.Parameter.empty:
            continue
        where = subject.where(f"reference {function.__name__}, default of {argument.name!r}")
        if argument.default is None:
            yield ReferenceDefaultError(
                where=where,
                got=f"{parameter.default!r}, and no default in the schema",
                fix=f"remove it from the reference, or write it in the schema: {argument.name}=...",
            )
        elif not is_same(parameter.default, argument):
            yield ReferenceDefaultError(
                where=where, got=repr(parameter.default), allowed=[argument.default]
            )


def is_same(value: object, argument: Argument) -> bool:
    """Return whether a default of Python is that of the schema."""
    wanted = default_value(argument)
    if isinstance(wanted, str) and argument.type.base in WORDS:
        text = str(value).removeprefix("torch.")
        return SYNONYMS.get(wanted, wanted) == SYNONYMS.get(text, text)
    if isinstance(value, tuple):
        return list(value) == wanted
    if isinstance(wanted, list) and not isinstance(value, list):
        return bool(wanted) and all(value == each for each in wanted)
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


RULES = (parameters, defaults)

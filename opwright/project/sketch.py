"""A schema -> the text of a declaration with samples, whose reference is still to be written."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Argument, Schema, ValueType

__all__ = ["sketch"]

WIDTH = 88  # of the schema's text between its quotes: with four spaces before, lines up to 100

# A value for a required argument of a sample, by its type.
VALUES = {
    Base.INT: "1",
    Base.SYMINT: "1",
    Base.FLOAT: "1.0",
    Base.SYMFLOAT: "1.0",
    Base.BOOL: "True",
    Base.SYMBOOL: "True",
    Base.SCALAR: "1.0",
    Base.STR: '"text"',
    Base.SCALAR_TYPE: '"float32"',
    Base.DEVICE: '"cpu"',
}


def sketch(schema: Schema, function: str, *, operators: str, opwright: str) -> str:
    """Return a declaration of an operator.

    Parameters
    ----------
    function
        Name of the reference function.
    operators, opwright
        What the operator set and the module are called.
    """
    lines = [f"@{operators}.operator("]
    lines += [f"    {part}" for part in quote_lines(str(schema))]
    lines[-1] += ","
    lines += [f"    {field}," for field in rules(schema)]
    required = [argument for argument in schema.arguments if argument.default is None]
    values = ", ".join(f"{each.name}={value(each.type, opwright)}" for each in required)
    lines += [f"    samples=[{opwright}.sample({values})],", ")"]
    lines.append(f"def {function}({parameters(schema)}):")
    written = "; what the schema marks with ! is written in place" if schema.mutated else ""
    lines.append(f'    """Return what {schema.name} computes{written}."""')
    lines.append('    raise NotImplementedError("the reference is still to be written")')
    return "\n".join(lines) + "\n"


def rules(schema: Schema) -> list[str]:
    """Return the rules of outputs where there is no tensor that they could be like."""
    if any(argument.type.has_tensors for argument in schema.arguments):
        return []
    results = zip(schema.output_names(), schema.results, strict=True)
    outputs = [name for name, result in results if result.type.has_tensors]
    entries = {"shapes": "1", "dtypes": "float32"}
    return [
        f"{field}={{{', '.join(f'{quote(name)}: {quote(rule)}' for name in outputs)}}}"
        for field, rule in entries.items()
        if outputs
    ]


def quote_lines(text: str) -> list[str]:
    """Return a text as literals, one per line."""
    parts = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    if " ".join(parts) != text:  # a default with several spaces in a row
        return [quote(text)]
    return [quote(f"{part} ") for part in parts[:-1]] + [quote(parts[-1])]


def quote(text: str) -> str:
    """Return a text as a literal with double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def value(kind: ValueType, opwright: str) -> str:
    """Return a value of a type as Python text."""
    if kind.optional:
        return "None"
    one = f"{opwright}.tensor(4, 8)" if kind.base is Base.TENSOR else VALUES.get(kind.base, "None")
    return f"[{', '.join([one] * (kind.length or 1))}]" if kind.is_list else one


def parameters(schema: Schema) -> str:
    """Return the parameters of the reference function."""
    parts: list[str] = []
    for argument in schema.arguments:
        if argument.keyword_only and "*" not in parts:
            parts.append("*")
        parts.append(parameter(argument))
    return ", ".join(parts)


def parameter(argument: Argument) -> str:
    """Return one parameter with its default."""
    if argument.default is None:
        return argument.name
    default = default_value(argument)
    # PyTorch takes a list; Python should not share one between calls.
    fixed = tuple(default) if isinstance(default, list) else default
    return f"{argument.name}={quote(fixed) if isinstance(fixed, str) else repr(fixed)}"

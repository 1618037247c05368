"""The default of an argument: the schema's text -> a Python value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Argument

__all__ = ["Default", "default_value"]

Default: TypeAlias = bool | int | float | str | list["Default"] | None

# Words that PyTorch's schemas use for numbers: torch.nn.functional's reductions.
REDUCTIONS = {"Mean": 1, "Sum": 2, "None": None}


def default_value(argument: Argument) -> Default:
    """Return the default that the schema writes for an argument.

    Names of dtypes, layouts and memory formats (`long`, `strided`, `contiguous_format`) stay text.
    An argument without a default has None, as one whose default is None.

    Examples
    --------
    >>> from opwright.kit.declare.schema_text import parse_schema
    >>> schema = parse_schema("f(int[2] pad=0, str s='a', int r=Mean) -> Tensor", where="")
    >>> [default_value(argument) for argument in schema.arguments]
    [[0, 0], 'a', 1]
    """
    text = argument.default
    if text is None:
        return None
    if text in REDUCTIONS and argument.type.base.is_integer:
        return REDUCTIONS[text]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # the name of a dtype, a layout or a memory format
    if argument.type.is_list and isinstance(value, int | float) and argument.type.length:
        return [value] * argument.type.length
    if argument.type.base is Base.FLOAT and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return list(value) if isinstance(value, tuple) else value

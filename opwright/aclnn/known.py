"""The aclnn functions of CANN itself: what phase 1 of each takes (prototypes.tsv).

The last column is where the behaviour of the function can be read, or `inferred` if nothing public
says it; opwright/aclnn/sources.py has the forms. A reference says that the text exists and is about
this function, not that every case of it was compared.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from opwright.aclnn.signature import CType

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KnownParameter", "find_known_parameters", "read_known_functions", "read_known_sources"]

# The table's words for C types: constness and pointers do not matter there.
WORDS = {
    "tensor": CType.TENSOR,
    "tensors": CType.TENSOR_LIST,
    "scalar": CType.SCALAR,
    "scalars": CType.SCALAR_LIST,
    "ints": CType.INT_ARRAY,
    "floats": CType.FLOAT_ARRAY,
    "bools": CType.BOOL_ARRAY,
    "text": CType.TEXT,
    "int64": CType.INT64,
    "int32": CType.INT32,
    "int16": CType.INT16,
    "int8": CType.INT8,
    "uint64": CType.UINT64,
    "uint32": CType.UINT32,
    "uint16": CType.UINT16,
    "uint8": CType.UINT8,
    "double": CType.DOUBLE,
    "float": CType.FLOAT,
    "bool": CType.BOOL,
    "dtype": CType.DTYPE,
}


@dataclass(frozen=True, slots=True)
class KnownParameter:
    """A parameter of phase 1: its name and type in C."""

    name: str
    ctype: CType


def find_known_parameters(function: str) -> tuple[KnownParameter, ...] | None:
    """Return the parameters of a function of CANN, without workspaceSize and executor.

    Returns
    -------
    parameters
        None if CANN has no such function.

    Examples
    --------
    >>> [parameter.ctype.value for parameter in find_known_parameters("aclnnAbs")]
    ['aclTensor', 'aclTensor']
    """
    text = read_known_functions().get(function)
    if text is None:
        return None
    words = (part.split() for part in text.split(", ") if part)
    return tuple(KnownParameter(name, WORDS[word]) for word, name in words)


@functools.cache
def read_known_functions() -> Mapping[str, str]:
    """Return by name of the function its parameters as text."""
    return {function: parameters for function, parameters, _ in rows()}


@functools.cache
def read_known_sources() -> Mapping[str, str]:
    """Return by name of the function where its behaviour can be read."""
    return {function: source for function, _, source in rows()}


@functools.cache
def rows() -> tuple[tuple[str, str, str], ...]:
    """Return the rows of the table: function, parameters, source."""
    table = files("opwright.aclnn").joinpath("prototypes.tsv").read_text(encoding="utf-8")
    cells = (line.split("\t") for line in table.splitlines()[1:])
    return tuple((function, parameters, source) for function, parameters, source in cells)

"""The functions of kernels, as op-plugin declares them in OpApiInterface.h.

They differ from what the dispatcher calls: tensors that are written are references that may be
assigned, results that are arguments are references, and sizes are numbers unless the entry stands
in the section symint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe
from opwright.kit.declare.schema import Base
from opwright.kit.emit.cpp.types import find_taken_type, result_type

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Argument, Result
    from opwright.kit.op_plugin.entries import Entry

__all__ = ["Signature", "signature"]

# Types of symbolic sizes and of numbers; the longer name comes first.
NUMBERS = {
    "c10::SymIntArrayRef": "at::IntArrayRef",
    "at::OptionalSymIntArrayRef": "at::OptionalIntArrayRef",
    "c10::SymInt": "int64_t",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A function.

    Parameters
    ----------
    parameters
        Type and name of each.
    """

    result: str
    name: str
    parameters: tuple[tuple[str, str], ...]

    def declaration(self) -> str:
        """Return it without what stands behind the closing bracket."""
        parameters = ", ".join(f"{kind} {name}" for kind, name in self.parameters)
        return f"{self.result} {self.name}({parameters})"


def signature(entry: Entry) -> Signature:
    """Return the function that an entry's kernel is."""
    schema = entry.schema
    out, symint = "_out" if schema.is_out_variant else "", "_symint" if entry.symint else ""
    return Signature(
        result=result(entry),
        name=f"{schema.name}{out}{symint}",
        parameters=tuple(
            (parameter(argument, entry), safe(argument.name)) for argument in schema.arguments
        ),
    )


def parameter(argument: Argument, entry: Entry) -> str:
    """Return the type of a parameter."""
    kind = find_taken_type(argument.type, where=f"{entry.where}, argument {argument.name!r}")
    if not entry.symint:
        for symbolic, number in NUMBERS.items():
            kind = kind.replace(symbolic, number)
    if argument.is_written and argument.type.is_tensor and not argument.type.optional:
        return "at::Tensor&"
    # torchgen passes lists of tensors by value, and so does op-plugin.
    return "at::TensorList" if kind == "const at::TensorList&" else kind


def result(entry: Entry) -> str:
    """Return what the function returns."""
    schema = entry.schema
    if not any(is_argument(each) for each in schema.results):
        return result_type(schema, where=entry.where)
    kinds = ["at::Tensor&" if is_argument(each) else "at::Tensor" for each in schema.results]
    return kinds[0] if len(kinds) == 1 else f"::std::tuple<{', '.join(kinds)}>"


def is_argument(result: Result) -> bool:
    """Return whether a result is an argument that was written."""
    return (
        result.alias is not None
        and result.alias.is_write
        and result.type.base is Base.TENSOR
        and not result.type.is_list
    )

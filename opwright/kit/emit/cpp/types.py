"""Types of schemas in C++: as kernels take, return and keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe
from opwright.kit.declare.schema import Base, ValueType
from opwright.kit.emit.cpp.errors import CppTypeError

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Argument, Schema

__all__ = ["declare", "find_kept_type", "find_taken_type", "result_type"]

SINGLE = {
    Base.TENSOR: "at::Tensor",
    Base.INT: "int64_t",
    Base.SYMINT: "c10::SymInt",
    Base.FLOAT: "double",
    Base.BOOL: "bool",
    Base.STR: "c10::string_view",
    Base.SCALAR: "at::Scalar",
    Base.SCALAR_TYPE: "at::ScalarType",
    Base.DEVICE: "at::Device",
    Base.LAYOUT: "at::Layout",
    Base.MEMORY_FORMAT: "at::MemoryFormat",
    Base.GENERATOR: "at::Generator",
}
LISTS = {
    Base.TENSOR: "at::TensorList",
    Base.INT: "at::IntArrayRef",
    Base.SYMINT: "c10::SymIntArrayRef",
    Base.FLOAT: "at::ArrayRef<double>",
    Base.BOOL: "c10::List<bool>",
    Base.STR: "c10::List<std::string>",
    Base.SCALAR: "at::ArrayRef<at::Scalar>",
}
OPTIONAL_LISTS = {
    Base.INT: "at::OptionalIntArrayRef",
    Base.SYMINT: "at::OptionalSymIntArrayRef",
}
KEPT_LISTS = {
    Base.INT: "std::vector<int64_t>",
    Base.SYMINT: "std::vector<c10::SymInt>",
    Base.FLOAT: "std::vector<double>",
    Base.BOOL: "c10::List<bool>",
    Base.STR: "c10::List<std::string>",
    Base.SCALAR: "std::vector<at::Scalar>",
}
RESULTS = {
    Base.TENSOR: "at::Tensor",
    Base.INT: "int64_t",
    Base.SYMINT: "c10::SymInt",
    Base.FLOAT: "double",
    Base.BOOL: "bool",
    Base.SCALAR: "at::Scalar",
}
BY_REFERENCE = ("at::Tensor", "at::Scalar", "c10::List<")


def find_taken_type(value: ValueType, *, where: str) -> str:
    """Return the type of a kernel's parameter.

    Raises
    ------
    CppTypeError
        OPW-E101.
    """
    plain = plain_type(value, where=where)
    if plain.startswith((*BY_REFERENCE, "std::optional<at::Tensor>", "std::optional<at::Scalar>")):
        return f"const {plain}&"
    return plain


def plain_type(value: ValueType, *, where: str) -> str:
    """Return a type without reference."""
    if value.is_list and value.optional_elements and value.base is Base.TENSOR:
        inner = "c10::List<std::optional<at::Tensor>>"
    elif value.is_list and value.optional and value.base in OPTIONAL_LISTS:
        return OPTIONAL_LISTS[value.base]
    else:
        inner = find_entry(LISTS if value.is_list else SINGLE, value, where=where)
    if value.is_list and value.length is not None and value.base is Base.BOOL:
        inner = f"std::array<bool, {value.length}>"
    return f"std::optional<{inner}>" if value.optional else inner


def find_entry(table: dict[Base, str], value: ValueType, *, where: str) -> str:
    """Return an entry of a table of types."""
    found = table.get(value.base)
    if found is None or (value.optional_elements and value.base is not Base.TENSOR):
        raise CppTypeError(
            where=where, got=f"type {value}", allowed=sorted(base.value for base in table)
        )
    return found


def find_kept_type(value: ValueType, *, where: str) -> str:
    """Return the type that keeps a value, which is no tensor, beyond the call."""
    if value.is_list and not (value.base is Base.BOOL and value.length is not None):
        inner = find_entry(KEPT_LISTS, value, where=where)
        if value.optional and inner.startswith("std::vector"):  # OptionalIntArrayRef takes no other
            return inner.replace("std::vector", "c10::OptionalArray")
    elif value.base is Base.STR:
        inner = "std::string"
    else:
        return plain_type(value, where=where)
    return f"std::optional<{inner}>" if value.optional else inner


def result_type(schema: Schema, *, where: str) -> str:
    """Return what a kernel returns."""
    types = []
    for result in schema.results:
        if result.type.is_list and result.type.base is Base.TENSOR:
            types.append("std::vector<at::Tensor>")
            continue
        if result.type.is_tensor and result.type.optional:
            types.append("std::optional<at::Tensor>")
            continue
        if result.type.is_list or result.type.optional:
            raise CppTypeError(
                where=where, got=f"result {result}", allowed=sorted(b.value for b in RESULTS)
            )
        types.append(find_entry(RESULTS, result.type, where=where))
    if len(types) == 1:
        return types[0]
    return f"std::tuple<{', '.join(types)}>" if types else "void"


def declare(argument: Argument, *, where: str, used: bool = True) -> str:
    """Return a parameter with its name, which is a comment where the function does not use it."""
    name = safe(argument.name)
    place = f"{where}, argument {argument.name!r}"
    return f"{find_taken_type(argument.type, where=place)} {name if used else f'/*{name}*/'}"

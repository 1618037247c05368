"""Arguments for the parameters of an aclnn function, in exactly the C type that each takes.

The caller's C++ type decides what the function receives, and nothing compares it with the function:
a double where C has float is garbage. So numbers are cast even where that seems to change nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.aclnn.signature import CType
from opwright.kit.declare.reserved import safe
from opwright.kit.declare.schema import Base
from opwright.kit.derive.facts import (
    DtypeOfTensor,
    FromArgument,
    FromConstant,
    FromGenerator,
    FromOutput,
)
from opwright.kit.emit.cpp.errors import CppTypeError
from opwright.kit.emit.cpp.layout import message
from opwright.kit.expressions.print_cpp import Scope, tensor_member

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.aclnn.prototype import Literals
    from opwright.kit.declare.schema import Argument
    from opwright.kit.derive.facts import OperatorFacts, Parameter

__all__ = ["parameter_value"]

NUMBERS = {
    CType.INT64: "int64_t",
    CType.INT32: "int32_t",
    CType.INT16: "int16_t",
    CType.INT8: "int8_t",
    CType.UINT64: "uint64_t",
    CType.UINT32: "uint32_t",
    CType.UINT16: "uint16_t",
    CType.UINT8: "uint8_t",
    CType.DOUBLE: "double",
    CType.FLOAT: "float",
    CType.BOOL: "bool",
}
INTEGERS = frozenset(NUMBERS) - {CType.DOUBLE, CType.FLOAT, CType.BOOL}
# Values that already have the type.
SAME = {(Base.INT, CType.INT64), (Base.FLOAT, CType.DOUBLE), (Base.BOOL, CType.BOOL)}
OBJECTS = {
    CType.TENSOR: "aclTensor",
    CType.TENSOR_LIST: "aclTensorList",
    CType.SCALAR: "aclScalar",
    CType.SCALAR_LIST: "aclScalarList",
    CType.INT_ARRAY: "aclIntArray",
    CType.FLOAT_ARRAY: "aclFloatArray",
    CType.BOOL_ARRAY: "aclBoolArray",
    CType.TEXT: "char",
}


def parameter_value(
    parameter: Parameter,
    facts: OperatorFacts,
    variables: Mapping[str, str],
    *,
    operator: str,
    where: str,
) -> str:
    """Return the expression.

    Parameters
    ----------
    variables
        Names of the local variables that stand for outputs, for arguments that were cloned or made
        contiguous, and for what was drawn from generators.

    Raises
    ------
    CppTypeError
        OPW-E101.
    """
    place = f"{where}, parameter {parameter.name!r}"
    match parameter.source:
        case FromConstant(value):
            return write_constant(value, parameter.ctype, where=place)
        case FromOutput(name):
            return variables[name]
        case FromGenerator(name, part):
            value = f"{variables[name]}.{part}"
            same = parameter.ctype is CType.INT64
            return value if same else f"static_cast<{NUMBERS[parameter.ctype]}>({value})"
        case DtypeOfTensor(name):
            if name in variables:
                return f"{variables[name]}.scalar_type()"
            return f"{tensor_member(Scope(facts.schema), name)}scalar_type()"
        case FromArgument(name, otherwise):
            if name in variables:
                return variables[name]
            argument = facts.argument(name)
            return argument_value(argument, parameter, otherwise, operator, where=place)
        case _:
            assert_never(parameter.source)


def write_constant(value: Literals | None, ctype: CType, *, where: str) -> str:
    """Return a constant."""
    if value is None and ctype in OBJECTS:
        return f"static_cast<{OBJECTS[ctype]}*>(nullptr)"
    if isinstance(value, str) and ctype is CType.TEXT:
        return f"std::string({message(value)})"
    if isinstance(value, bool | int | float):
        literal = number(value)
        if ctype in NUMBERS:
            return f"static_cast<{NUMBERS[ctype]}>({literal})"
        if ctype is CType.DTYPE:
            return f"static_cast<int>({literal})"
        if ctype is CType.SCALAR:
            return f"at::Scalar({literal})"
    raise CppTypeError(where=where, got=f"the constant {value!r} for {ctype.value}")


def number(value: float) -> str:
    """Return a number as C++ writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def argument_value(
    argument: Argument,
    parameter: Parameter,
    otherwise: Literals | None,
    operator: str,
    *,
    where: str,
) -> str:
    """Return the value of an argument."""
    ctype, base = parameter.ctype, argument.type.base
    name = safe(argument.name)
    if ctype in NUMBERS and not argument.type.is_list:
        return number_value(argument, ctype, otherwise, operator, where=where)
    if argument.type.optional and otherwise is not None and not argument.type.is_list:
        name = f"{name}.value_or({default(otherwise, base)})"
    match ctype, base, argument.type.is_list:
        case CType.TENSOR, Base.TENSOR, False:
            return name
        case CType.TENSOR_LIST, Base.TENSOR, True:
            return f"defined_or_not({name})" if argument.type.optional_elements else name
        case (CType.SCALAR, Base.SCALAR, False) | (CType.INT_ARRAY, Base.INT | Base.SYMINT, True):
            return name
        case CType.SCALAR, Base.FLOAT | Base.INT | Base.BOOL, False if not argument.type.optional:
            return f"at::Scalar({name})"
        case CType.SCALAR_LIST, Base.SCALAR | Base.FLOAT | Base.INT, True:
            return f"scalars({name})"
        case CType.FLOAT_ARRAY, Base.FLOAT, True:
            return f"floats({name})"
        case CType.BOOL_ARRAY, Base.BOOL, True:
            return f"bools({name})"
        case CType.TEXT, Base.STR, False:
            return f"text_of({name})"
        case CType.DTYPE, Base.SCALAR_TYPE, False if not argument.type.optional:
            return name
    raise mismatch(argument, ctype, where=where)


def default(value: Literals, base: Base) -> str:
    """Return what stands for None."""
    if isinstance(value, str):
        return message(value)
    assert isinstance(value, bool | int | float)  # the text of a call has nothing else
    return f"at::Scalar({number(value)})" if base is Base.SCALAR else number(value)


def number_value(
    argument: Argument,
    ctype: CType,
    otherwise: Literals | None,
    operator: str,
    *,
    where: str,
) -> str:
    """Return the value of an argument that becomes a number."""
    base, name = argument.type.base, safe(argument.name)
    if base not in {*(Base.INT, Base.SYMINT, Base.FLOAT, Base.BOOL, Base.SCALAR_TYPE, Base.SCALAR)}:
        raise mismatch(argument, ctype, where=where)
    if argument.type.optional:
        if not isinstance(otherwise, bool | int | float):
            raise CppTypeError(
                where=where,
                got=f"{argument.name!r}, which may be None",
                fix=f"say what stands for None: {argument.name} or 0",
            )
        name = f"{name}.value_or({number(otherwise)})"
    if base is Base.SCALAR:
        return f"{name}.to<{NUMBERS[ctype]}>()"
    if base is Base.SYMINT:
        name = f"{name}.guard_int(__FILE__, __LINE__)"
    if base is Base.SCALAR_TYPE:
        name = f"ConvertType({name})"
    if (base, ctype) in SAME or (base is Base.SYMINT and ctype is CType.INT64):
        return name
    if base in {Base.INT, Base.SYMINT} and ctype in INTEGERS:
        what = message(f"{operator}: argument '{argument.name}'")
        return f"narrow<{NUMBERS[ctype]}>({what}, {name})"
    return f"static_cast<{NUMBERS[ctype]}>({name})"


def mismatch(argument: Argument, ctype: CType, *, where: str) -> CppTypeError:
    """Return the error for an argument that a C type cannot take."""
    return CppTypeError(where=where, got=f"an argument of type {argument.type} for {ctype.value}")

"""Rules for what is passed to the aclnn function: each value as its C type.

What a value can be passed as is what the live tier's native reader accepts
(native/live/plan/plan_reader.cpp), and the built tier's adapter with it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from opwright.aclnn.known import find_known_parameters
from opwright.aclnn.prototype import Prototype, derive
from opwright.aclnn.signature import CType
from opwright.kit.declare.call import (
    DrawnFrom,
    DtypeOf,
    Literal,
    Named,
    camel_case,
    function_name,
)
from opwright.kit.declare.rules import DtypeArgument
from opwright.kit.declare.schema import Base
from opwright.kit.validate.call import actuals, derive_order, describe, source_name, type_of
from opwright.kit.validate.errors import NullByValueError, PassedTypeError, SharedFunctionError
from opwright.kit.validate.subject import subjects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.errors import OpwrightError
    from opwright.kit.declare.call import Actual
    from opwright.kit.declare.operator import Declaration
    from opwright.kit.declare.place import Place
    from opwright.kit.declare.schema import ValueType
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES", "SET_RULES"]

INTEGERS = (
    *(CType.INT64, CType.INT32, CType.INT16, CType.INT8),
    *(CType.UINT64, CType.UINT32, CType.UINT16, CType.UINT8),
)
REALS = (CType.DOUBLE, CType.FLOAT)
# Types that a value can be passed as, the usual one first.
PASSED = {
    Base.TENSOR: (CType.TENSOR,),
    Base.INT: (*INTEGERS, *REALS, CType.BOOL, CType.SCALAR, CType.INT_ARRAY),
    Base.FLOAT: (*REALS, CType.SCALAR, CType.FLOAT_ARRAY),
    Base.BOOL: (CType.BOOL, *INTEGERS, *REALS, CType.SCALAR, CType.BOOL_ARRAY),
    Base.SCALAR: (CType.SCALAR, *REALS, *INTEGERS),
    Base.STR: (CType.TEXT,),
    Base.SCALAR_TYPE: (CType.DTYPE,),
}
LISTS = {
    Base.TENSOR: (CType.TENSOR_LIST,),
    Base.INT: (CType.INT_ARRAY, CType.FLOAT_ARRAY, CType.SCALAR_LIST),
    Base.FLOAT: (CType.FLOAT_ARRAY, CType.SCALAR_LIST),
    Base.BOOL: (CType.BOOL_ARRAY, CType.SCALAR_LIST),
    Base.SCALAR: (CType.SCALAR_LIST,),
}
SYMBOLIC = {Base.SYMINT: Base.INT, Base.SYMFLOAT: Base.FLOAT, Base.SYMBOOL: Base.BOOL}
# Types that a constant can be passed as.
CONSTANTS: dict[type, tuple[CType, ...]] = {
    bool: (CType.BOOL, *INTEGERS, CType.SCALAR),
    int: (*INTEGERS, *REALS, CType.SCALAR),
    float: (*REALS, CType.SCALAR),
    str: (CType.TEXT, CType.DTYPE),
    type(None): tuple(ctype for ctype in CType if ctype.is_pointer),
}


def c_types(subject: Subject) -> Iterator[OpwrightError]:
    """Check that each value can be passed as its C type."""
    call = subject.operator.call
    if call is False:
        return
    listed = actuals(subject) or derive_order(subject)
    function = function_name(call, subject.schema.name)
    known = find_known_parameters(function) or ()
    types = [each.ctype for each in known] if len(known) == len(listed) else [None] * len(listed)
    for actual, of_function in zip(listed, types, strict=True):
        where = subject.where(f"aclnn, parameter {describe(actual)!r}")
        ctype = actual.ctype or of_function
        can = find_possible(actual, subject)
        if can is None:
            continue  # its name is unknown
        if not can:
            yield PassedTypeError(
                where=where,
                got=f"type {type_of(source_name(actual), subject)}",
                fix="write the call without it: no aclnn function takes such a value",
            )
        elif ctype is not None and ctype not in can:
            whose = ctype.value if actual.ctype else f"{ctype.value} of {function}"
            got = f"{whose} for {describe_value(actual, subject)}"
            fix = None if actual.ctype else f"pass what {function} takes at this place"
            allowed = [each.value for each in can]
            yield PassedTypeError(where=where, got=got, allowed=allowed, fix=fix)
        else:
            yield from out_of_range(actual, ctype or can[0], where)
            yield from null_by_value(actual, ctype or can[0], subject, where)


def describe_value(actual: Actual, subject: Subject) -> str:
    """Describe what is passed."""
    match actual.source:
        case Literal(value):
            return f"the constant {value!r}"
        case DtypeOf():
            return "a dtype"
        case DrawnFrom(name, part):
            return f"the {part} of {name}"
        case Named(name):
            return f"{type_of(name, subject)} {name}"


def find_possible(actual: Actual, subject: Subject) -> tuple[CType, ...] | None:
    """Return the C types that a parameter can have; None if it names nothing."""
    match actual.source:
        case Literal(value):
            return CONSTANTS[type(value)]
        case DtypeOf():
            return (CType.DTYPE,)
        case DrawnFrom():
            return (CType.INT64, CType.UINT64)
        case Named(name):
            value_type = type_of(name, subject)
            return None if value_type is None else find_passable(value_type)


def find_passable(value_type: ValueType) -> tuple[CType, ...]:
    """Return the C types that a value can be passed as."""
    if value_type.base is Base.SYMBOOL and value_type.is_list:
        return ()  # its elements may be nodes of a graph, and nothing reads them
    base = SYMBOLIC.get(value_type.base, value_type.base)
    return (LISTS if value_type.is_list else PASSED).get(base, ())


def out_of_range(actual: Actual, ctype: CType, where: str) -> Iterator[OpwrightError]:
    """Check that a C type can hold a constant, or what stands for None."""
    constant = actual.source.otherwise if isinstance(actual.source, Named) else actual.source
    if not isinstance(constant, Literal) or not isinstance(constant.value, int | float):
        return
    value = constant.value
    if isinstance(value, float):
        fits, allowed = math.isfinite(value), "a finite number"
    else:
        low, high = bounds(ctype)
        fits, allowed = low <= value <= high, f"{low} to {high}"
    if not fits:
        got = f"the constant {value!r} for {ctype.value}"
        yield PassedTypeError(where=where, got=got, allowed=[allowed], fix="write one of these")


def bounds(ctype: CType) -> tuple[int, int]:
    """Return the least and the greatest whole number; what is no integer takes it from int64."""
    bits = next((b for b in (64, 32, 16, 8) if ctype.value.endswith(f"int{b}_t")), 64)
    if ctype.value.startswith("uint"):
        # Above that a literal of C++ needs a suffix.
        return 0, min(2**bits, 2**63) - 1
    return max(-(2 ** (bits - 1)), 1 - 2**63), 2 ** (bits - 1) - 1


def null_by_value(
    actual: Actual, ctype: CType, subject: Subject, where: str
) -> Iterator[OpwrightError]:
    """Check that what may be None has a null, or something that stands for it."""
    source = actual.source
    if not isinstance(source, Named) or ctype.is_pointer:
        return
    value_type = type_of(source.name, subject)
    if is_decided_by_output(source.name, subject):
        return
    if value_type is not None and value_type.optional and source.otherwise is None:
        fix = f"say what stands for None: {describe(actual)} or 0"
        if ctype is CType.DTYPE and subject.new_outputs():
            fix = f"pass the dtype of the result: {subject.new_outputs()[0].name}.dtype"
        yield NullByValueError(
            where=where, got=f"{value_type} {source.name} as {ctype.value}", fix=fix
        )


def is_decided_by_output(name: str, subject: Subject) -> bool:
    """Return whether the derived call passes the dtype of an output in place of an argument."""
    call = subject.operator.call
    is_written = call is not None and call is not False and call.actuals is not None
    rules = (subject.operator.dtypes.get(output.name) for output in subject.new_outputs())
    having = any(isinstance(rule, DtypeArgument) and rule.name == name for rule in rules)
    return having and not is_written


def check_shared_functions(declaration: Declaration) -> Iterator[tuple[Place, OpwrightError]]:
    """Check that operators which call one function pass the same C types."""
    before: dict[str, tuple[tuple[CType, ...], Subject]] = {}
    for subject in () if declaration.existing else subjects(declaration):
        types = signature_of(subject)
        if types is None:
            continue
        call = subject.operator.call
        function = function_name(call or None, subject.schema.name)
        known, first = before.setdefault(function, (types, subject))
        if types == known:
            continue
        error = SharedFunctionError(
            where=subject.where("aclnn"),
            got=f"{function}({write_types(types)}), and {function}({write_types(known)}) from "
            f"{first.operator.name} at {first.operator.place}",
            fix=f'name another function for one of them: aclnn="{own_function(subject)}"',
        )
        yield subject.operator.place, error


def own_function(subject: Subject) -> str:
    """Return a name for the function of an operator that distinguishes it from its overloads.

    CANN's functions that work in place begin with aclnnInplace.
    """
    schema = subject.schema
    is_in_place = bool(schema.mutated) and not schema.is_out_variant
    return f"aclnn{'Inplace' * is_in_place}{camel_case(f'{schema.name}_{schema.overload}')}"


def write_types(types: tuple[CType, ...]) -> str:
    """Write the types of a C function's parameters."""
    return ", ".join(ctype.value for ctype in types)


def signature_of(subject: Subject) -> tuple[CType, ...] | None:
    """Return the C types of what an operator passes.

    None for a function of CANN, whose types are known, for an operator that calls none, and where
    something is wrong that other rules report.
    """
    operator = subject.operator
    call = operator.call
    if call is False or find_known_parameters(function_name(call, subject.schema.name)) is not None:
        return None
    listed = actuals(subject)
    if not listed:
        if isinstance(operator.prototype, Prototype):
            return tuple(parameter.ctype for parameter in derive(operator.prototype).parameters)
        listed = derive_order(subject)
        if operator.prototype is not False:  # the order of CANN's generator: inputs come first
            listed = tuple(sorted(listed, key=lambda each: place_of(each, subject)))
    found = []
    for actual in listed:
        can = find_possible(actual, subject)
        ctype = actual.ctype or (can[0] if can else None)
        if ctype is None:
            return None
        found.append(ctype)
    return tuple(found)


def place_of(actual: Actual, subject: Subject) -> int:
    """Return where a derived call passes a value: inputs, attributes, outputs."""
    argument = subject.schema.argument(source_name(actual))
    if argument is None or argument.is_out:
        return 2
    return 0 if argument.type.has_tensors else 1


RULES = (c_types,)
SET_RULES = (check_shared_functions,)

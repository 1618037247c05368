"""Rules for the call of the aclnn function.

What a value can be passed as is what the live tier's native reader accepts
(native/live/plan_reader.cpp), and the built tier's adapter with it.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, assert_never

from opwright.aclnn.known import known_parameters
from opwright.aclnn.signature import CType
from opwright.declare.call import Actual, DtypeOf, Literal, Named
from opwright.declare.errors import UnknownNameError
from opwright.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    DtypeArgument,
    Like,
    Promoted,
    ReducedOf,
    SameDtype,
    ShapeFunction,
)
from opwright.declare.schema import Base
from opwright.errors import nearest_first
from opwright.validate.errors import (
    NoComputationError,
    NotPassedError,
    NullByValueError,
    ParameterCountError,
    ParameterOrderError,
    ParameterTypeError,
    PassedTypeError,
    UnusedArgumentError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.aclnn.known import KnownParameter
    from opwright.declare.call import Call
    from opwright.declare.rules import DtypeRule, ShapeRule
    from opwright.declare.schema import ValueType
    from opwright.errors import OpwrightError
    from opwright.validate.subject import Subject

__all__ = ["ALLOCATION", "RULES", "camel_case"]

# Arguments that say where and how to allocate; no aclnn function takes them.
ALLOCATION = frozenset(
    {Base.DEVICE, Base.LAYOUT, Base.MEMORY_FORMAT, Base.GENERATOR, Base.STREAM, Base.STORAGE}
)
INTEGERS = (
    *(CType.INT64, CType.INT32, CType.INT16, CType.INT8),
    *(CType.UINT64, CType.UINT32, CType.UINT16, CType.UINT8),
)
REALS = (CType.DOUBLE, CType.FLOAT)
# What a value can be passed as, the usual type first.
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
# What a constant can be passed as.
CONSTANTS: dict[type, tuple[CType, ...]] = {
    bool: (CType.BOOL, *INTEGERS, CType.SCALAR),
    int: (*INTEGERS, *REALS, CType.SCALAR),
    float: (*REALS, CType.SCALAR),
    str: (CType.TEXT, CType.DTYPE),
    type(None): tuple(ctype for ctype in CType if ctype.is_pointer),
}


def camel_case(name: str) -> str:
    """Return an operator's name as aclnn functions and operator types have it.

    >>> camel_case("rms_norm_")
    'RmsNorm'
    """
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def passed_as(value_type: ValueType) -> tuple[CType, ...]:
    """Return the C types that a value can be passed as."""
    if value_type.base is Base.SYMBOOL and value_type.is_list:
        return ()  # its elements may be nodes of a graph, and nothing reads them
    base = SYMBOLIC.get(value_type.base, value_type.base)
    return (LISTS if value_type.is_list else PASSED).get(base, ())


def type_of(name: str, subject: Subject) -> ValueType | None:
    """Return the type of an argument or output."""
    argument = subject.schema.argument(name)
    if argument is not None:
        return argument.type
    return next((o.type for o in subject.new_outputs() if o.name == name), None)


def described(actual: Actual) -> str:
    """Write a parameter as an author does."""
    ctype = "" if actual.ctype is None else f"{actual.ctype.value} "
    match actual.source:
        case Named(name, otherwise):
            return f"{ctype}{name}" + ("" if otherwise is None else f" or {otherwise.value!r}")
        case DtypeOf(name):
            return f"{ctype}{name}.dtype"
        case Literal(value):
            return f"{ctype}{value!r}"
        case _:
            assert_never(actual.source)


def names(subject: Subject) -> Iterator[OpwrightError]:
    """Check that parameters name arguments or outputs."""
    for actual in actuals(subject):
        if isinstance(actual.source, Named | DtypeOf):
            name = actual.source.name
            if type_of(name, subject) is None:
                yield UnknownNameError(
                    where=subject.where("aclnn"),
                    got=repr(name),
                    allowed=nearest_first(name, subject.names()),
                    fix="name an argument or output of the schema, or write a constant",
                )


def actuals(subject: Subject) -> tuple[Actual, ...]:
    """Return the parameters that the author wrote; nothing if they are derived."""
    call = subject.operator.call
    return () if not call or call.actuals is None else call.actuals


def computed(subject: Subject) -> Iterator[OpwrightError]:
    """Check that something computes the operator."""
    if subject.operator.call is False and subject.operator.reference is None:
        yield NoComputationError(where=subject.where("aclnn"), got="False, and no reference")


def passed(subject: Subject) -> Iterator[OpwrightError]:
    """Check that outputs are passed, and arguments used."""
    call = subject.operator.call
    if not call or call.actuals is None or any(names(subject)) or miscounted(call):
        return  # what is missing may be what is misspelt
    passed_names = {a.source.name for a in call.actuals if isinstance(a.source, Named)}
    for output in subject.outputs():
        if output.type.has_tensors and output.name not in passed_names:
            what = "output" if output.argument is None else "mutated argument"
            yield NotPassedError(
                where=subject.where("aclnn"),
                got=f"{text_of(call)}, without {what} {output.name!r}",
                fix=f"pass {output.name} where the function writes it",
            )
    of_dtypes = {a.source.name for a in call.actuals if isinstance(a.source, DtypeOf)}
    used = passed_names | of_dtypes | used_by_rules(subject)
    for argument in subject.schema.arguments:
        if not (argument.name in used or argument.is_written or argument.type.base in ALLOCATION):
            yield UnusedArgumentError(
                where=subject.where(f"argument {argument.name!r}"), got=text_of(call)
            )


def miscounted(call: Call) -> bool:
    """Tell whether a function of CANN has another number of parameters."""
    known = known_parameters(call.function)
    return known is not None and len(known) != len(call.actuals or ())


def text_of(call: Call) -> str:
    """Write a call as an author does."""
    return f"{call.function}({', '.join(map(described, call.actuals or ()))})"


def used_by_rules(subject: Subject) -> set[str]:
    """Return the names in shape and dtype rules of outputs."""
    found: set[str] = set()
    for output in subject.new_outputs():
        found |= names_in_shape(subject.operator.shapes.get(output.name), subject)
        found |= names_in_dtype(subject.operator.dtypes.get(output.name))
    return found


def names_in_shape(rule: ShapeRule | None, subject: Subject) -> set[str]:
    """Return the names in a shape rule."""
    match rule:
        case None:
            return set()
        case Dims(text) | Cpp(text):
            return set(re.findall(r"[A-Za-z_]\w*", text))
        case Like(tensor):
            return {tensor}
        case BroadcastOf(tensors):
            return set(tensors)
        case ReducedOf(tensor, dim, keepdim):
            return {name for name in (tensor, dim, keepdim) if name}
        case ShapeFunction():  # it gets all arguments
            return set(subject.arguments)


def names_in_dtype(rule: DtypeRule | None) -> set[str]:
    """Return the names in a dtype rule."""
    match rule:
        case SameDtype(tensor):
            return {tensor}
        case Promoted(tensors):
            return set(tensors)
        case DtypeArgument(name, otherwise):
            return {name} | names_in_dtype(otherwise)
        case Cpp(text):
            return set(re.findall(r"[A-Za-z_]\w*", text))
        case _:
            return set()


def c_types(subject: Subject) -> Iterator[OpwrightError]:
    """Check that each value can be passed as its C type."""
    call = subject.operator.call
    if call is False:
        return
    listed = actuals(subject) or in_order(subject)
    function = call.function if call else f"aclnn{camel_case(subject.schema.name)}"
    known = known_parameters(function) or ()
    types = [each.ctype for each in known] if len(known) == len(listed) else [None] * len(listed)
    for actual, of_function in zip(listed, types, strict=True):
        where = subject.where(f"aclnn, parameter {described(actual)!r}")
        ctype = actual.ctype or of_function
        can = possible(actual, subject)
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
            got = f"{whose} for {what(actual, subject)}"
            fix = None if actual.ctype else f"pass what {function} takes at this place"
            allowed = [each.value for each in can]
            yield PassedTypeError(where=where, got=got, allowed=allowed, fix=fix)
        else:
            yield from out_of_range(actual, ctype or can[0], where)
            yield from null_by_value(actual, ctype or can[0], subject, where)


def source_name(actual: Actual) -> str:
    """Return the name of what is passed; empty for a constant."""
    return "" if isinstance(actual.source, Literal) else actual.source.name


def what(actual: Actual, subject: Subject) -> str:
    """Describe what is passed."""
    match actual.source:
        case Literal(value):
            return f"the constant {value!r}"
        case DtypeOf():
            return "a dtype"
        case Named(name):
            return f"{type_of(name, subject)} {name}"


def possible(actual: Actual, subject: Subject) -> tuple[CType, ...] | None:
    """Return the C types that a parameter can have; None if it names nothing."""
    match actual.source:
        case Literal(value):
            return CONSTANTS[type(value)]
        case DtypeOf():
            return (CType.DTYPE,)
        case Named(name):
            value_type = type_of(name, subject)
            return None if value_type is None else passed_as(value_type)


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
    if decided_by_output(source.name, subject):
        return
    if value_type is not None and value_type.optional and source.otherwise is None:
        fix = f"say what stands for None: {described(actual)} or 0"
        if ctype is CType.DTYPE and subject.new_outputs():
            fix = f"pass the dtype of the result: {subject.new_outputs()[0].name}.dtype"
        yield NullByValueError(
            where=where, got=f"{value_type} {source.name} as {ctype.value}", fix=fix
        )


def decided_by_output(name: str, subject: Subject) -> bool:
    """Tell whether the derived call passes the dtype of an output in place of an argument."""
    call = subject.operator.call
    is_written = call is not None and call is not False and call.actuals is not None
    rules = (subject.operator.dtypes.get(output.name) for output in subject.new_outputs())
    having = any(isinstance(rule, DtypeArgument) and rule.name == name for rule in rules)
    return having and not is_written


def known_function(subject: Subject) -> Iterator[OpwrightError]:
    """Check the call of a function of CANN against its parameters."""
    call = subject.operator.call
    if call is False:
        return
    function = call.function if call else f"aclnn{camel_case(subject.schema.name)}"
    known = known_parameters(function)
    if known is None:
        return
    where = subject.where("aclnn")
    listed = f"{function}({', '.join(map(written, known))})"
    written_actuals = call.actuals if call else None
    ordered = in_order(subject) if written_actuals is None else written_actuals
    if len(ordered) != len(known):
        yield ParameterCountError(
            where=where,
            got=f"{len(ordered)} parameters: {', '.join(map(described, ordered))}",
            allowed=[listed],
            fix=in_place_fix(subject),
        )
        return
    if misplaced(ordered, known):
        got = f"{function}({', '.join(map(described, ordered))})"
        yield ParameterOrderError(where=where, got=got, allowed=[listed])
        return
    for actual, parameter in zip(ordered, known, strict=True):
        yield from known_type(actual, parameter, function, subject)


def in_place_fix(subject: Subject) -> str | None:
    """Return what to do if CANN has a function that works in place, and the author named none."""
    name = f"aclnnInplace{camel_case(subject.schema.name)}"
    is_named = bool(subject.operator.call)
    if is_named or not subject.schema.mutated or known_parameters(name) is None:
        return None
    return f'name the function that works in place: aclnn="{name}"'


def written(parameter: KnownParameter) -> str:
    """Write a parameter of a function of CANN."""
    return f"{parameter.ctype.value} {parameter.name}"


def in_order(subject: Subject) -> tuple[Actual, ...]:
    """Return what is passed where the author did not say: arguments, new outputs, out arguments."""
    names_ = [
        argument.name
        for argument in subject.schema.arguments
        if argument.type.base not in ALLOCATION
        and not (argument.is_written and argument.keyword_only)
    ]
    names_ += [output.name for output in subject.new_outputs()]
    names_ += [a.name for a in subject.schema.arguments if a.is_written and a.keyword_only]
    return tuple(Actual(source=Named(name)) for name in names_)


def misplaced(ordered: Sequence[Actual], known: Sequence[KnownParameter]) -> bool:
    """Tell whether values have the names of parameters at other places."""
    places = {plain(parameter.name): index for index, parameter in enumerate(known)}
    passed_names = [plain(source_name(actual)) for actual in ordered]
    return any(
        name in places and places[name] != index and passed_names[places[name]] != name
        for index, name in enumerate(passed_names)
    )


def plain(name: str) -> str:
    """Return a name without what C and Python write differently."""
    return name.replace("_", "").casefold().removesuffix("optional").removesuffix("ref")


def known_type(
    actual: Actual, parameter: KnownParameter, function: str, subject: Subject
) -> Iterator[OpwrightError]:
    """Check one parameter of a function of CANN."""
    where = subject.where(f"aclnn, parameter {described(actual)!r}")
    if actual.ctype is not None and actual.ctype is not parameter.ctype:
        bare = described(Actual(source=actual.source))
        yield ParameterTypeError(
            where=where,
            got=actual.ctype.value,
            allowed=[parameter.ctype.value],
            fix=f"write {parameter.ctype.value} {bare}, or leave the type out: {function} is known",
        )


RULES = (names, computed, passed, c_types, known_function)

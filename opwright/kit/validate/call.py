"""Rules for the call of the aclnn function: what is passed, and what CANN's functions take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.aclnn.known import find_known_parameters
from opwright.kit.declare.call import (
    Actual,
    DrawnFrom,
    DtypeOf,
    Literal,
    Named,
    camel_case,
    function_name,
)
from opwright.kit.declare.errors import UnknownNameError
from opwright.kit.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    DtypeArgument,
    EachOf,
    Like,
    Promoted,
    ReducedOf,
    SameDtype,
    ShapeFunction,
    strip_index,
)
from opwright.kit.declare.schema import Base
from opwright.kit.validate.errors import (
    NoComputationError,
    NotPassedError,
    ParameterCountError,
    ParameterOrderError,
    ParameterTypeError,
    UndrawnGeneratorError,
    UnusedArgumentError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.aclnn.known import KnownParameter
    from opwright.errors import OpwrightError
    from opwright.kit.declare.call import Call
    from opwright.kit.declare.rules import DtypeRule, ShapeRule
    from opwright.kit.declare.schema import ValueType
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES", "actuals", "derive_order", "describe", "source_name", "type_of"]


def type_of(name: str, subject: Subject) -> ValueType | None:
    """Return the type of an argument or output."""
    argument = subject.schema.argument(name)
    if argument is not None:
        return argument.type
    return next((o.type for o in subject.new_outputs() if o.name == name), None)


def describe(actual: Actual) -> str:
    """Write a parameter as an author does."""
    ctype = "" if actual.ctype is None else f"{actual.ctype.value} "
    match actual.source:
        case Named(name, otherwise):
            return f"{ctype}{name}" + ("" if otherwise is None else f" or {otherwise.value!r}")
        case DtypeOf(name):
            return f"{ctype}{name}.dtype"
        case DrawnFrom(name, part):
            return f"{ctype}{name}.{part}"
        case Literal(value):
            return f"{ctype}{value!r}"
        case _:
            assert_never(actual.source)


def names(subject: Subject) -> Iterator[OpwrightError]:
    """Check that parameters name arguments or outputs."""
    for actual in actuals(subject):
        if isinstance(actual.source, DrawnFrom):
            yield from generator_name(actual.source, subject)
        elif isinstance(actual.source, Named | DtypeOf):
            name = actual.source.name
            if type_of(name, subject) is None:
                yield UnknownNameError(
                    where=subject.where("aclnn"),
                    got=repr(name),
                    allowed=subject.names(),
                    near=name,
                    fix="name an argument or output of the schema, or write a constant",
                )


def generator_name(source: DrawnFrom, subject: Subject) -> Iterator[OpwrightError]:
    """Check that a seed or an offset is drawn from a generator."""
    generators = [argument.name for argument in subject.schema.generators]
    if source.name not in generators:
        yield UnknownNameError(
            where=subject.where("aclnn"),
            got=f"{source.name}.{source.part}",
            allowed=generators,
            near=source.name,
            fix="name an argument of type Generator",
        )


def actuals(subject: Subject) -> tuple[Actual, ...]:
    """Return the parameters that the author wrote; nothing if they are derived."""
    call = subject.operator.call
    return () if not call or call.actuals is None else call.actuals


def check_computed(subject: Subject) -> Iterator[OpwrightError]:
    """Check that something computes the operator."""
    if subject.operator.call is False and subject.operator.reference is None:
        yield NoComputationError(where=subject.where("aclnn"), got="False, and no reference")


def check_passed(subject: Subject) -> Iterator[OpwrightError]:
    """Check that outputs are passed, and arguments used."""
    call = subject.operator.call
    if not call or call.actuals is None or any(names(subject)) or has_wrong_count(call):
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
    used = passed_names | of_dtypes | find_names_in_rules(subject)
    used |= {argument.name for argument in subject.schema.generators}  # check_generators reports
    yield from check_generators(call, subject)
    for argument in subject.schema.arguments:
        if not (argument.name in used or argument.is_written or argument.type.base.is_allocation):
            yield UnusedArgumentError(
                where=subject.where(f"argument {argument.name!r}"), got=text_of(call)
            )


def check_generators(call: Call, subject: Subject) -> Iterator[OpwrightError]:
    """Check that seed and offset of each generator are passed."""
    sources = [actual.source for actual in call.actuals or ()]
    parts = {(each.name, each.part) for each in sources if isinstance(each, DrawnFrom)}
    for argument in subject.schema.generators:
        wanted = [f"{argument.name}.seed", f"{argument.name}.offset"]
        missing = [
            text
            for text, part in zip(wanted, ("seed", "offset"), strict=True)
            if (argument.name, part) not in parts
        ]
        if missing:
            yield UndrawnGeneratorError(
                where=subject.where(f"argument {argument.name!r}"),
                got=f"{text_of(call)}, without {' and '.join(missing)}",
                fix=f"pass {' and '.join(wanted)} where the function takes its seed and offset",
            )


def has_wrong_count(call: Call) -> bool:
    """Return whether a function of CANN has another number of parameters."""
    known = find_known_parameters(call.function)
    return known is not None and len(known) != len(call.actuals or ())


def text_of(call: Call) -> str:
    """Write a call as an author does."""
    return f"{call.function}({', '.join(map(describe, call.actuals or ()))})"


def find_names_in_rules(subject: Subject) -> set[str]:
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
            return {strip_index(tensor)}
        case BroadcastOf(tensors):
            return {strip_index(tensor) for tensor in tensors}
        case ReducedOf(tensor, dim, keepdim):
            return {name for name in (strip_index(tensor), dim, keepdim) if name}
        case EachOf(count, shape):
            return set(re.findall(r"[A-Za-z_]\w*", count)) | names_in_shape(shape, subject)
        case ShapeFunction():  # it gets all arguments
            return set(subject.arguments)


def names_in_dtype(rule: DtypeRule | None) -> set[str]:
    """Return the names in a dtype rule."""
    match rule:
        case SameDtype(tensor):
            return {tensor}
        case Promoted(tensors):
            return set(tensors)
        case DtypeArgument(name, otherwise) if otherwise is not None:
            return {name} | names_in_dtype(otherwise)
        case DtypeArgument(name):
            return {name}
        case Cpp(text):
            return set(re.findall(r"[A-Za-z_]\w*", text))
        case _:
            return set()


def source_name(actual: Actual) -> str:
    """Return the name of what is passed; empty for a constant."""
    match actual.source:
        case Literal():
            return ""
        case DrawnFrom(_, part):
            return part
        case source:
            return source.name


def check_known_function(subject: Subject) -> Iterator[OpwrightError]:
    """Check the call of a function of CANN against its parameters."""
    call = subject.operator.call
    if call is False:
        return
    function = function_name(call, subject.schema.name)
    known = find_known_parameters(function)
    if known is None:
        return
    where = subject.where("aclnn")
    listed = f"{function}({', '.join(map(write_parameter, known))})"
    written_actuals = call.actuals if call else None
    ordered = derive_order(subject) if written_actuals is None else written_actuals
    if len(ordered) != len(known):
        yield ParameterCountError(
            where=where,
            got=f"{len(ordered)} parameters: {', '.join(map(describe, ordered))}",
            allowed=[listed],
            fix=in_place_fix(subject),
        )
        return
    if has_misplaced(ordered, known):
        got = f"{function}({', '.join(map(describe, ordered))})"
        yield ParameterOrderError(where=where, got=got, allowed=[listed])
        return
    for actual, parameter in zip(ordered, known, strict=True):
        yield from known_type(actual, parameter, function, subject)


def in_place_fix(subject: Subject) -> str | None:
    """Return what to do if CANN has a function that works in place, and the author named none."""
    name = f"aclnnInplace{camel_case(subject.schema.name)}"
    is_named = bool(subject.operator.call)
    if is_named or not subject.schema.mutated or find_known_parameters(name) is None:
        return None
    return f'name the function that works in place: aclnn="{name}"'


def write_parameter(parameter: KnownParameter) -> str:
    """Write a parameter of a function of CANN."""
    return f"{parameter.ctype.value} {parameter.name}"


def derive_order(subject: Subject) -> tuple[Actual, ...]:
    """Return what is passed where the author did not say: arguments, new outputs, out arguments."""
    sources: list[Named | DrawnFrom] = []
    for argument in subject.schema.arguments:
        if argument.type.base is Base.GENERATOR:
            sources += [DrawnFrom(argument.name, "seed"), DrawnFrom(argument.name, "offset")]
        elif not argument.type.base.is_allocation and not argument.is_out:
            sources.append(Named(argument.name))
    sources += [Named(output.name) for output in subject.new_outputs()]
    sources += [Named(a.name) for a in subject.schema.arguments if a.is_out]
    return tuple(Actual(source=source) for source in sources)


def has_misplaced(ordered: Sequence[Actual], known: Sequence[KnownParameter]) -> bool:
    """Return whether values have the names of parameters at other places."""
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
    where = subject.where(f"aclnn, parameter {describe(actual)!r}")
    if actual.ctype is not None and actual.ctype is not parameter.ctype:
        bare = describe(Actual(source=actual.source))
        yield ParameterTypeError(
            where=where,
            got=actual.ctype.value,
            allowed=[parameter.ctype.value],
            fix=f"write {parameter.ctype.value} {bare}, or leave the type out: {function} is known",
        )


RULES = (names, check_computed, check_passed, check_known_function)

"""Rules for the prototype: it says the same as the schema.

Ports and attributes stand for the arguments at the same place among the tensors and among the
others. An input that the host reads as a scalar or an array stands for the argument of its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.errors import write_count
from opwright.kit.declare.schema import Base
from opwright.kit.declare.values import drawn_names
from opwright.kit.validate.errors import (
    AttributeTypeError,
    PresenceError,
    PrototypeCountError,
    PrototypeNameError,
    PrototypeOrderError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.aclnn.prototype import Attribute, Port, Prototype
    from opwright.errors import OpwrightError
    from opwright.kit.declare.schema import Argument, ValueType
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES"]

# The attribute types of REG_OP that a value can be, the usual one first.
ATTRIBUTES = {
    Base.INT: ("Int",),
    Base.SYMINT: ("Int",),
    Base.FLOAT: ("Float",),
    Base.SYMFLOAT: ("Float",),
    Base.BOOL: ("Bool",),
    Base.SYMBOOL: ("Bool",),
    Base.STR: ("String", "AscendString"),
    Base.SCALAR: ("Float", "Int"),
    Base.SCALAR_TYPE: ("Int", "Type"),
}
LISTS = {
    Base.INT: ("ListInt",),
    Base.SYMINT: ("ListInt",),
    Base.FLOAT: ("ListFloat",),
    Base.BOOL: ("ListBool",),
    Base.STR: ("ListString", "ListAscendString"),
    Base.SCALAR: ("ListFloat", "ListInt"),
    Base.SCALAR_TYPE: ("ListType", "ListInt"),
}


def prototype(subject: Subject) -> Iterator[OpwrightError]:
    """Compare the prototype with the schema."""
    given = subject.operator.prototype
    if not given or isinstance(given, str):
        return  # derived from the schema
    of_host = [port for port in given.inputs if port.scalar or port.values]
    by_name = {port.name for port in of_host}
    tensors = [
        argument
        for argument in subject.schema.arguments
        if argument.type.has_tensors and not argument.is_out and argument.name not in by_name
    ]
    others = [
        argument
        for argument in subject.schema.arguments
        if not argument.type.has_tensors
        and not argument.type.base.is_allocation
        and argument.type.base is not Base.GENERATOR
        and argument.name not in by_name
    ]
    ports = [port for port in given.inputs if port not in of_host or not_of(port, subject)]
    yield from inputs(given, ports, tensors, subject)
    yield from attributes(given, others, subject)
    yield from outputs(given, subject)


def not_of(port: Port, subject: Subject) -> bool:
    """Return whether no argument has the name of a port."""
    return subject.schema.argument(port.name) is None


def place(given: Prototype, subject: Subject, field: str = "") -> str:
    """Return a place in the prototype, for messages."""
    return subject.where(f"prototype {given.op_type}" + (f", {field}" if field else ""))


def in_other_order(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the same names come in different orders, as far as they are the same."""
    common = [name for name in names if name in wanted]
    return common != [name for name in wanted if name in common]


def compare(
    given: Prototype, what: str, names: Sequence[str], wanted: Sequence[str], subject: Subject
) -> OpwrightError | None:
    """Compare count and order."""
    if len(names) != len(wanted):
        return PrototypeCountError(
            where=place(given, subject),
            got=write_list(names, what),
            allowed=[f"{write_list(wanted, what)}, as the schema has"],
        )
    if in_other_order(names, wanted):
        return PrototypeOrderError(
            where=place(given, subject),
            got=f"{what}s {', '.join(names)}",
            allowed=[f"the order of the schema: {', '.join(wanted)}"],
        )
    return None


def write_list(names: Sequence[str], what: str) -> str:
    """Write how many there are, and their names."""
    return f"{write_count(len(names), what)}: {', '.join(names)}" if names else f"no {what}"


def inputs(
    given: Prototype, ports: Sequence[Port], tensors: Sequence[Argument], subject: Subject
) -> Iterator[OpwrightError]:
    """Compare inputs with tensor arguments."""
    names, wanted = [port.name for port in ports], [argument.name for argument in tensors]
    if error := compare(given, "input", names, wanted, subject):
        yield error
        return
    for port, argument in zip(ports, tensors, strict=True):
        yield from presence(given, f"input {port.name!r}", port, argument.type, subject)


def presence(
    given: Prototype, what: str, port: Port, value_type: ValueType, subject: Subject
) -> Iterator[OpwrightError]:
    """Compare what may be absent: a port may be optional where the schema always has a tensor."""
    allowed = ["required", "optional"]
    if value_type.is_list:
        allowed = ["dynamic"]
    elif value_type.optional:
        allowed = ["optional"]
    if port.presence not in allowed:
        yield PresenceError(
            where=place(given, subject, what),
            got=f"{port.presence}, while the schema has {value_type}",
            allowed=allowed,
        )


def attributes(
    given: Prototype, others: Sequence[Argument], subject: Subject
) -> Iterator[OpwrightError]:
    """Compare attributes with the arguments that are no tensors."""
    schema = subject.schema
    drawn = {name for each in schema.generators for name in drawn_names(each, schema)}
    of_arguments = [attribute for attribute in given.attributes if attribute.name not in drawn]
    names = [attribute.name for attribute in of_arguments]
    wanted = [argument.name for argument in others]
    if error := compare(given, "attribute", names, wanted, subject):
        yield error
        return
    for attribute, argument in zip(of_arguments, others, strict=True):
        yield from attribute_of(given, attribute, argument, subject)


def attribute_of(
    given: Prototype, attribute: Attribute, argument: Argument, subject: Subject
) -> Iterator[OpwrightError]:
    """Compare one attribute with its argument."""
    where = place(given, subject, f"attribute {attribute.name!r}")
    allowed = (LISTS if argument.type.is_list else ATTRIBUTES).get(argument.type.base, ())
    if attribute.type_name not in allowed:
        got = f"{attribute.type_name} for {argument.type} {argument.name}"
        yield AttributeTypeError(where=where, got=got, allowed=allowed)
    if attribute.required and argument.type.optional:
        yield PresenceError(
            where=where,
            got=f"REQUIRED_ATTR, while the schema has {argument.type}",
            allowed=["ATTR with a default"],
        )
    if attribute.name != argument.name:
        yield PrototypeNameError(where=where, got=repr(attribute.name), allowed=[argument.name])


def outputs(given: Prototype, subject: Subject) -> Iterator[OpwrightError]:
    """Compare outputs with what the operator writes: results and mutated arguments."""
    wanted = [output for output in subject.outputs() if output.type.has_tensors]
    names = [port.name for port in given.outputs]
    if error := compare(given, "output", names, [output.name for output in wanted], subject):
        yield error
        return
    for port, output in zip(given.outputs, wanted, strict=True):
        is_list = port.presence == "dynamic"
        if is_list != output.type.is_list:
            yield PresenceError(
                where=place(given, subject, f"output {port.name!r}"),
                got=f"{port.presence}, while the schema has {output.type}",
                allowed=["dynamic"] if output.type.is_list else ["required", "optional"],
            )


RULES = (prototype,)

"""The operator types that the user's kernels serve: those of the same names as their functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.aclnn.prototype import Attribute, Port, Prototype, PrototypeError, derive
from opwright.aclnn.signature import CType
from opwright.graph_engine.calls.slots import Served, Slot
from opwright.graph_engine.kernels.library_functions import find_library_served
from opwright.graph_engine.prototypes.packages import find_installed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.aclnn.prototype import Interface
    from opwright.aclnn.signature import Parameter
    from opwright.kit.derive.facts import OperatorFacts
    from opwright.kit.derive.facts import Parameter as DeclaredParameter
    from opwright.twin.user_kernels.registry import Registration

__all__ = ["find_corresponding_prototype", "find_declared_prototype", "find_served"]

PREFIX = "aclnn"
# Attribute types for C types that REG_OP has none for.
KINDS = {
    CType.SCALAR: "Float",
    CType.SCALAR_LIST: "ListFloat",
    CType.DTYPE: "Type",
    CType.FLOAT: "Float",
}
LISTS = {CType.TENSOR_LIST, CType.SCALAR_LIST}


def find_served(op_type: str) -> Served | None:
    """Return what serves an operator type: the user's kernel in Python, in C++, or libopapi."""
    for found in candidates():
        if found.prototype.op_type == op_type:
            return found
    from opwright.twin.user_kernels.cpp_kernels import find_compiled_kernel  # noqa: PLC0415 - importing the twin arms it

    compiled = find_compiled_kernel(f"{PREFIX}{op_type}")
    if compiled is None:
        return find_library_served(op_type)
    return next(find_declared(compiled), None) or derive_from_signature(compiled)


def find_declared_prototype(op_type: str) -> Prototype | None:
    """Return the prototype of a user's kernel that was declared with one."""
    for registration in registrations():
        for found in find_declared(registration):
            if found.prototype.op_type == op_type:
                return found.prototype
    return None


def find_corresponding_prototype(op_type: str) -> Prototype | None:
    """Return the prototype of a user's kernel, which need not have been declared with one."""
    found = find_served(op_type)
    return found.prototype if found else None


def candidates() -> Iterator[Served]:
    """Yield the operator types that the user's kernels serve; declared prototypes first."""
    for registration in registrations():
        yield from find_declared(registration)
    for registration in registrations():
        if not is_declared(registration):
            yield derive_from_signature(registration)


def registrations() -> tuple[Registration, ...]:
    """Return the kernels of this process, once each; those of kernel files are loaded."""
    from opwright.twin.user_kernels.files import load_kernel_files  # noqa: PLC0415 - importing the twin arms it
    from opwright.twin.user_kernels.registry import registry  # noqa: PLC0415 - as above

    load_kernel_files()
    with registry.lock:
        found = {id(entry): entry for entry in registry.entries.values()}
    return tuple(found.values())


def is_declared(registration: Registration) -> bool:
    """Return whether the kernel came with a prototype."""
    return bool(operators_of(registration)) or registration.interface.prototype is not None


def operators_of(registration: Registration) -> tuple[OperatorFacts, ...]:
    """Return the operators of the kit that a kernel is the reference of."""
    found: tuple[OperatorFacts, ...] = getattr(registration.function, "opwright_operators", ())
    return found


def find_declared(registration: Registration) -> Iterator[Served]:
    """Yield the types of a kernel that came with prototypes."""
    interface = registration.interface
    if interface.prototype is not None:
        yield Served(
            prototype=interface.prototype,
            parameters=interface.parameters,
            slots=slots_in_order(interface.prototype),
            registration=registration,
        )
    for facts in operators_of(registration):
        if facts.prototype is not None and facts.call is not None:
            names = names_of(facts, facts.prototype)
            yield Served(
                prototype=facts.prototype,
                parameters=interface.parameters,
                slots=tuple(slot_of(parameter, names) for parameter in facts.call.parameters),
                registration=registration,
                facts=facts,
            )


def slots_in_order(prototype: Prototype) -> tuple[Slot, ...]:
    """Return the slots of a function that follows from the prototype."""
    inputs = [port.name for port in prototype.inputs]
    attributes = [attribute.name for attribute in prototype.attributes]
    outputs = [port.name for port in prototype.outputs if port.name not in inputs]
    return tuple(Slot(name) for name in (*inputs, *attributes, *outputs))


def names_of(facts: OperatorFacts, prototype: Prototype) -> dict[str, str]:
    """Return the names in the prototype of an operator's arguments, outputs, seeds and offsets.

    A prototype that the author wrote may have names of its own, but has the order of the schema.
    """
    from opwright.kit.declare.values import drawn_names  # noqa: PLC0415 - only where operators are declared

    tensors = [
        argument.name
        for argument in facts.schema.arguments
        if argument.type.has_tensors and not argument.is_out
    ]
    drawn = {
        f"{generator.name}.{part}": name
        for generator in facts.schema.generators
        for part, name in zip(("seed", "offset"), drawn_names(generator, facts.schema), strict=True)
    }
    attributes = [a.name for a in prototype.attributes if a.name not in drawn.values()]
    apart = {*tensors, *(generator.name for generator in facts.schema.generators)}
    others = [a.name for a in facts.schema.arguments if a.name not in apart]
    plain = others if any(name in attributes for name in others) else attributes
    named = zip(others, plain, strict=False)
    outputs = [output.name for output in facts.outputs if output.type.has_tensors]
    return {
        **drawn,
        **dict(named),
        **dict(zip(outputs, (port.name for port in prototype.outputs), strict=False)),
        **dict(zip(tensors, (port.name for port in prototype.inputs), strict=False)),
    }


def slot_of(parameter: DeclaredParameter, names: dict[str, str]) -> Slot:
    """Return the slot for a parameter of a declared operator's function."""
    from opwright.kit.derive.facts import (  # noqa: PLC0415 - only where operators are declared
        DtypeOfTensor,
        FromArgument,
        FromGenerator,
        FromOutput,
    )

    match parameter.source:
        case FromArgument(name) | FromOutput(name):
            return Slot(names.get(name, name))
        case DtypeOfTensor(name):
            return Slot(names.get(name, name), of_dtype=True)
        case FromGenerator(name, part):
            return Slot(names[f"{name}.{part}"])
        case constant:
            return Slot("", constant=constant.value)


def derive_from_signature(registration: Registration) -> Served:
    """Return the type of a kernel that was declared by its C signature.

    If an installed package has the prototype, its names are those of the parameters in order.
    """
    interface = registration.interface
    prototype = find_installed(interface.functions[0].name.removeprefix(PREFIX))
    if prototype is not None and follows_from(prototype, interface):
        slots = slots_in_order(prototype)
    else:
        prototype, slots = derive_prototype(interface)
    return Served(
        prototype=prototype,
        parameters=interface.parameters,
        slots=slots,
        registration=registration,
    )


def follows_from(prototype: Prototype, interface: Interface) -> bool:
    """Return whether a prototype has the parameters of another function, up to their names."""
    try:
        parameters = derive(prototype).parameters
    except PrototypeError:
        return False
    return [p.ctype for p in parameters] == [p.ctype for p in interface.parameters]


def derive_prototype(interface: Interface) -> tuple[Prototype, tuple[Slot, ...]]:
    """Return the prototype that corresponds to a C signature, and what the parameters are."""
    inputs: list[Port] = []
    outputs: list[Port] = []
    attributes: list[Attribute] = []
    names = [plain_name(parameter) for parameter in interface.parameters]
    for name, parameter in zip(names, interface.parameters, strict=True):
        port = Port(
            name=name,
            presence="dynamic"
            if parameter.ctype in LISTS
            else "optional"
            if parameter.optional
            else "required",
        )
        if parameter.role == "attribute":
            kind = KINDS.get(parameter.ctype, "")
            if not kind and parameter.ctype.value.startswith(("int", "uint")):
                kind = "Int"
            attributes.append(
                Attribute(
                    name=name,
                    ctype=parameter.ctype,
                    kind=kind,
                    # `optional` is said of pointers, and a number has no null: its name says that
                    # a node may leave it out; the kernel then gets 0.
                    required=not parameter.name.endswith("Optional"),
                )
            )
        if parameter.role in ("input", "ref"):
            inputs.append(port)
        if parameter.role in ("output", "ref"):
            outputs.append(port)
    prototype = Prototype(
        op_type=interface.functions[0].name.removeprefix(PREFIX),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        attributes=tuple(attributes),
    )
    return prototype, tuple(Slot(name) for name in names)


def plain_name(parameter: Parameter) -> str:
    """Return a parameter's name as the prototype had it.

    >>> from opwright.aclnn.signature import Parameter
    >>> plain_name(Parameter(name="xRef", ctype=CType.TENSOR))
    'x'
    """
    name = parameter.name.removesuffix("Optional")
    if parameter.role == "ref":
        return name.removesuffix("Ref")
    if parameter.role == "output" and name != "Out":
        return name.removesuffix("Out")
    return name

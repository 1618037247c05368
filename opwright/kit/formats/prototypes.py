"""Prototypes of operators (REG_OP, OpDef, msOpGen's JSON) -> declarations.

Inputs become tensors, attributes the types of PyTorch that carry them, outputs results; an output
with the name of an input is that argument, written. Dtypes become rules. A prototype says nothing
of shapes: by default an output is like the first tensor, as far as the author does not say better.
"""

from __future__ import annotations

import dataclasses
import keyword
from typing import TYPE_CHECKING

from opwright.aclnn.dtypes import torch_dtypes
from opwright.aclnn.prototype import derive
from opwright.aclnn.reg_op import snake_case
from opwright.aclnn.signature import CType
from opwright.kit.declare.call import Actual, Call, Named
from opwright.kit.declare.dtypes import DTYPES
from opwright.kit.declare.operator import Operator
from opwright.kit.declare.reserved import CPP_WORDS, RESERVED_NAMES
from opwright.kit.declare.rules import DtypeSet, SameDtype
from opwright.kit.declare.schema import Alias, Argument, Base, Result, Schema, ValueType
from opwright.kit.formats.imported import Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.aclnn.prototype import Attribute, Default, Port, Prototype
    from opwright.kit.declare.place import Place
    from opwright.kit.declare.rules import DtypeRule

__all__ = ["operators_of"]

# The type that carries an attribute in a schema, by its type in operator_reg.h.
TYPES = {
    "Int": ValueType(base=Base.INT),
    "Float": ValueType(base=Base.FLOAT),
    "Bool": ValueType(base=Base.BOOL),
    "String": ValueType(base=Base.STR),
    "ListInt": ValueType(base=Base.INT, is_list=True),
    "ListFloat": ValueType(base=Base.FLOAT, is_list=True),
    "ListBool": ValueType(base=Base.BOOL, is_list=True),
    "AscendString": ValueType(base=Base.STR),
    "ListString": ValueType(base=Base.STR, is_list=True),
    "ListAscendString": ValueType(base=Base.STR, is_list=True),
    "Type": ValueType(base=Base.SCALAR_TYPE),
}
TENSOR = ValueType(base=Base.TENSOR)
ALIASES = "abcdefghijklmnopqrstuvwxyz"


def operators_of(
    prototypes: Sequence[tuple[Prototype, Place]],
) -> tuple[tuple[Operator, ...], tuple[Note, ...]]:
    """Return an operator for each prototype that a schema can say, and notes."""
    operators: dict[str, Operator] = {}
    notes: list[Note] = []
    for prototype, place in prototypes:
        unsaid = [a.name for a in prototype.attributes if a.required and a.type_name not in TYPES]
        if unsaid:
            kinds = {a.name: a.type_name for a in prototype.attributes}
            detail = ", ".join(f"{name} ({kinds[name]})" for name in unsaid)
            subject = "left out, a required attribute has no type in a schema"
            notes.append(Note(place, prototype.op_type, subject, detail))
            continue
        operator = operator_of(prototype, place, notes)
        known = operators.get(operator.name)
        if known is not None:
            subject = "left out, the operator is there already"
            notes.append(Note(place, prototype.op_type, subject, f"at {known.place}"))
            continue
        operators[operator.name] = operator
    return tuple(operators.values()), tuple(notes)


def operator_of(prototype: Prototype, place: Place, notes: list[Note]) -> Operator:
    """Return the operator of a prototype."""
    op_type = prototype.op_type
    attributes = tuple(a for a in prototype.attributes if a.type_name in TYPES)
    notes += [
        Note(place, op_type, "attribute without a type left out", f"{a.name} ({a.type_name})")
        for a in prototype.attributes
        if a.type_name not in TYPES
    ]
    notes += [Note(place, op_type, "subgraph left out", g.name) for g in prototype.graphs]
    kept = dataclasses.replace(prototype, attributes=attributes, graphs=())
    names = argument_names(kept, place, notes)
    schema = schema_of(kept, names, place, notes)
    notes += [Note(place, op_type, subject, name) for subject, name in find_unknown_shapes(schema)]
    dtypes = dict(dtype_rules(kept, schema, names, place, notes))
    return Operator(
        schema=schema,
        place=place,
        call=call_of(kept, schema, names),
        prototype=in_words_of_reg_op(kept),
        dtypes=dtypes,
    )


def find_unknown_shapes(schema: Schema) -> Iterator[tuple[str, str]]:
    """Return outputs for which no default rule can hold."""
    has_tensor = any(a.type.is_tensor and not a.type.optional for a in schema.arguments)
    for result, name in zip(schema.results, schema.output_names(), strict=True):
        if result.type.is_list:
            yield "how many tensors an output has is not said", name
        elif not has_tensor:
            yield "shape and dtype of an output are not said", name


def argument_names(prototype: Prototype, place: Place, notes: list[Note]) -> dict[str, str]:
    """Return the names of arguments by those of ports and attributes; some words are reserved."""
    names: dict[str, str] = {}
    given = (*(p.name for p in prototype.inputs), *(a.name for a in prototype.attributes))
    for old in given:
        name = old
        while keyword.iskeyword(name) or name in CPP_WORDS or name in names.values():
            name += "_"
        if name != old:
            detail = f"{old}, now {name}"
            notes.append(Note(place, prototype.op_type, "reserved word as a name", detail))
        names[old] = name
    return names


def schema_of(
    prototype: Prototype, names: dict[str, str], place: Place, notes: list[Note]
) -> Schema:
    """Return the schema."""
    written = {port.name for port in prototype.outputs} & {p.name for p in prototype.inputs}
    letters = iter(ALIASES)
    inputs = [
        Argument(
            name=names[port.name],
            type=port_type(port),
            alias=Alias(name=next(letters), is_write=True) if port.name in written else None,
        )
        for port in prototype.inputs
    ]
    given = [attribute_argument(a, names[a.name], place, notes) for a in prototype.attributes]
    new = [port for port in prototype.outputs if port.name not in written]
    taken = {argument.name for argument in (*inputs, *given)}
    with_names = len(new) > 1 and not taken & {port.name for port in new}
    name = snake_case(prototype.op_type)
    if keyword.iskeyword(name) or name in CPP_WORDS | RESERVED_NAMES:
        name += "_op"  # a name that ends with _ is that of an in-place operator
    return Schema(
        name=name,
        arguments=tuple(order_arguments([*add_none_defaults(inputs), *given])),
        results=tuple(
            Result(type=port_type(port, output=True), name=port.name if with_names else None)
            for port in new
        ),
    )


def port_type(port: Port, *, output: bool = False) -> ValueType:
    """Return the type of a port."""
    base = Base.SCALAR if port.scalar else Base.TENSOR
    if port.values is not None:
        arrays = {CType.FLOAT_ARRAY: Base.FLOAT, CType.BOOL_ARRAY: Base.BOOL}
        return ValueType(
            base=arrays.get(port.values, Base.INT),
            is_list=True,
            optional=port.presence == "optional",
        )
    return ValueType(
        base=base,
        is_list=port.presence == "dynamic",
        optional=port.presence == "optional" and not output,
    )


def add_none_defaults(inputs: Sequence[Argument]) -> Iterator[Argument]:
    """Give the optional tensors at the end None as default."""
    last = max((i for i, argument in enumerate(inputs) if not argument.type.optional), default=-1)
    for index, argument in enumerate(inputs):
        has_default = index > last and argument.alias is None
        yield dataclasses.replace(argument, default="None") if has_default else argument


def order_arguments(arguments: Sequence[Argument]) -> Iterator[Argument]:
    """Make keyword-only what follows the first default if a later argument has none."""
    with_default = [i for i, argument in enumerate(arguments) if argument.default is not None]
    without = [i for i, argument in enumerate(arguments) if argument.default is None]
    is_bad = bool(with_default and without and without[-1] > with_default[0])
    start = with_default[0] if is_bad else len(arguments)
    for index, argument in enumerate(arguments):
        yield dataclasses.replace(argument, keyword_only=True) if index >= start else argument


def attribute_argument(
    attribute: Attribute, name: str, place: Place, notes: list[Note]
) -> Argument:
    """Return the argument of an attribute."""
    value_type = TYPES[attribute.type_name]
    if attribute.required:
        return Argument(name=name, type=value_type)
    default = default_text(attribute.default)
    if attribute.type_name == "Type":  # a schema has no dtype as a default
        return Argument(
            name=name, type=dataclasses.replace(value_type, optional=True), default="None"
        )
    if default is None:
        notes.append(Note(place, attribute.name, "default that is no literal left out", name))
    return Argument(name=name, type=value_type, default=default)


def default_text(value: Default | None) -> str | None:
    """Write a default as a schema does."""
    if value is None:
        return None
    if isinstance(value, tuple):
        parts = [default_text(part) for part in value]
        return "[" + ", ".join(part for part in parts if part is not None) + "]"
    if isinstance(value, str):
        quote = '"' if "'" in value and '"' not in value else "'"
        escaped = value.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n")
        return f"{quote}{escaped}{quote}"
    return repr(value)


def dtype_rules(
    prototype: Prototype,
    schema: Schema,
    names: dict[str, str],
    place: Place,
    notes: list[Note],
) -> Iterator[tuple[str, DtypeRule]]:
    """Return the dtype rules of tensors."""
    firsts: dict[object, str] = {}
    written = {port.name for port in prototype.inputs}
    outputs = iter(name for name in schema.output_names())
    ports = [(port, names[port.name], False) for port in prototype.inputs]
    ports += [(p, next(outputs), True) for p in prototype.outputs if p.name not in written]
    for port, name, is_output in ports:
        known, missing = torch_dtypes(prototype.dtypes(port))
        if port.values is not None or port.scalar or not known:
            if missing and not known:
                text = ", ".join(missing)
                notes.append(Note(place, prototype.op_type, f"dtypes of {name} left out", text))
            continue
        same = same_as(prototype, port)
        first = firsts.get(same) if same is not None else None
        if first is not None:
            yield name, SameDtype(first)
        elif not is_output:
            if same is not None:
                firsts.setdefault(same, name)
            if not set(known) >= set(DTYPES[: len(DTYPES) - 4]):
                yield name, DtypeSet(known)
        elif len(known) == 1:
            yield name, DtypeSet(known)
        else:
            yield from output_rule(prototype, port, name, names, place, notes)
    if prototype.combinations and has_more_columns(prototype):
        notes.append(Note(place, prototype.op_type, "combinations of dtypes are not kept"))


def same_as(prototype: Prototype, port: Port) -> object | None:
    """Return what two ports have in common if they always have one dtype."""
    if port.symbol is not None:
        return port.symbol
    if prototype.combinations and len(set(port.dtypes)) > 1:
        return port.dtypes
    return None


def output_rule(
    prototype: Prototype,
    port: Port,
    name: str,
    names: dict[str, str],
    place: Place,
    notes: list[Note],
) -> Iterator[tuple[str, DtypeRule]]:
    """Return the rule of an output that may have several dtypes."""
    wanted = set(torch_dtypes(prototype.dtypes(port))[0])
    like = [
        each.name
        for each in prototype.inputs
        if each.presence == "required" and set(torch_dtypes(prototype.dtypes(each))[0]) == wanted
    ]
    if like:
        # Ports with equal sets have one dtype by the convention of CANN's headers.
        if like[0] != prototype.inputs[0].name:
            yield name, SameDtype(names[like[0]])
        return
    subject = "which dtype an output has is not said"
    notes.append(Note(place, prototype.op_type, subject, f"{name}: {' '.join(sorted(wanted))}"))


def has_more_columns(prototype: Prototype) -> bool:
    """Whether columns say more than that ports have one dtype, or one of a set."""
    columns = {p.dtypes for p in (*prototype.inputs, *prototype.outputs) if len(set(p.dtypes)) > 1}
    return len(columns) > 1


def call_of(prototype: Prototype, schema: Schema, names: dict[str, str]) -> Call | None:
    """Return the call where it does not follow from the prototype in words of REG_OP."""
    ports = (*prototype.inputs, *prototype.outputs)
    of_host = any(port.scalar or port.values or port.version for port in ports)
    if not of_host and not any(a.version or a.ctype is None for a in prototype.attributes):
        return None
    taken = dataclasses.replace(
        prototype, attributes=tuple(a for a in prototype.attributes if a.ctype is not None)
    )
    forms = [form for form in derive(taken).functions if not form.name.endswith("Tensor")]
    sources = [
        *(names[port.name] for port in taken.inputs),
        *(names[attribute.name] for attribute in taken.attributes),
        *(name for name in schema.output_names() if schema.argument(name) is None),
    ]
    return Call(
        function=forms[-1].name,
        actuals=tuple(
            Actual(source=Named(name), ctype=parameter.ctype)
            for name, parameter in zip(sources, forms[-1].parameters, strict=True)
        ),
    )


def in_words_of_reg_op(prototype: Prototype) -> Prototype | str:
    """Return a prototype with what REG_OP can say, or the operator type alone.

    REG_OP has no word for an input that the host reads; then the prototype follows from the schema.
    """
    if any(port.scalar or port.values for port in prototype.inputs):
        return prototype.op_type

    def plain(port: Port, *, output: bool) -> Port:
        optional = output and port.presence == "optional"
        return dataclasses.replace(
            port,
            presence="required" if optional else port.presence,
            version=0,
            dtypes=tuple(dict.fromkeys(port.dtypes)),
        )

    return dataclasses.replace(
        prototype,
        inputs=tuple(plain(port, output=False) for port in prototype.inputs),
        outputs=tuple(plain(port, output=True) for port in prototype.outputs),
        attributes=tuple(dataclasses.replace(a, version=0) for a in prototype.attributes),
        combinations=False,
    )

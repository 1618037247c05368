"""The call of the aclnn function: C parameters with their types and what is passed for each.

Where the author wrote the parameters, they are taken as written. A function of CANN itself gets the
arguments in the order of the schema and then the outputs, as op-plugin's EXEC_NPU_CMD does. Any
other function is one that CANN's generator made from the prototype: inputs, attributes, outputs.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

from opwright.aclnn import prototype as rules
from opwright.aclnn.known import KnownParameter, find_known_parameters
from opwright.aclnn.signature import AclnnSignature, CType
from opwright.aclnn.signature import Parameter as CParameter
from opwright.kit.declare.call import DrawnFrom, DtypeOf, Literal, Named, function_name
from opwright.kit.declare.errors import CallError
from opwright.kit.declare.rules import DtypeArgument
from opwright.kit.declare.schema import Base
from opwright.kit.derive.facts import (
    AclnnCall,
    DtypeOfTensor,
    FromArgument,
    FromConstant,
    FromGenerator,
    FromOutput,
    Parameter,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.aclnn.prototype import Prototype
    from opwright.kit.declare.call import Actual, DrawnPart
    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.schema import Schema
    from opwright.kit.derive.facts import Output, Source
    from opwright.kit.derive.values import ValueFacts

__all__ = ["derive_call"]

# The sources of a parameter that is no constant.
Variable: TypeAlias = FromArgument | FromOutput | DtypeOfTensor | FromGenerator


def derive_call(
    operator: Operator,
    outputs: tuple[Output, ...],
    prototype: Prototype | None,
    values: ValueFacts,
    *,
    where: str,
) -> AclnnCall:
    """Return the call.

    Raises
    ------
    CallError
        OPW-D006.
    """
    schema, call = operator.schema, operator.call or None
    function = function_name(call, schema.name)
    where = f"{where}, {function}"
    known = find_known_parameters(function)
    if call is not None and call.actuals is not None:
        given = written(call.actuals, schema, outputs, known, values, where=where)
    elif known is None and prototype is not None:
        given = generated(prototype, schema, outputs, where=where)
    else:
        given = in_order(schema, outputs, known, values, where=where)
    parameters = tuple(
        dataclasses.replace(each, name=rules.lower_camel(each.name)) for each in given
    )
    signature = AclnnSignature(
        name=function, parameters=tuple(c_parameter(each, schema, outputs) for each in parameters)
    )
    return AclnnCall(function=function, parameters=parameters, signature=signature)


def written(
    actuals: Sequence[Actual],
    schema: Schema,
    outputs: tuple[Output, ...],
    known: Sequence[KnownParameter] | None,
    values: ValueFacts,
    *,
    where: str,
) -> Iterator[Parameter]:
    """Yield the parameters that the author wrote."""
    fits = known is not None and len(known) == len(actuals)
    types = [each.ctype for each in known] if known and fits else [None] * len(actuals)
    for index, (actual, of_function) in enumerate(zip(actuals, types, strict=True)):
        name, source = source_of(actual.source, schema, outputs, values)
        ctype = actual.ctype or of_function or natural(source, values, where=where)
        yield Parameter(name=name or f"constant{index}", ctype=ctype, source=source)


def source_of(
    source: Named | DtypeOf | DrawnFrom | Literal,
    schema: Schema,
    outputs: tuple[Output, ...],
    values: ValueFacts,
) -> tuple[str, Source]:
    """Return the name of a parameter and where its value comes from.

    A constant has no name; a written argument is an argument, not an output.
    """
    match source:
        case Literal(value):
            return "", FromConstant(value)
        case DtypeOf(name):
            return f"{name}_dtype", DtypeOfTensor(name)
        case DrawnFrom(name, part):
            return drawn_name(name, part, values), FromGenerator(name, part)
        case Named(name, otherwise):
            if schema.argument(name) is None and any(output.name == name for output in outputs):
                return name, FromOutput(name)
            return name, FromArgument(name, None if otherwise is None else otherwise.value)


def natural(source: Source, values: ValueFacts, *, where: str) -> CType:
    """Return the C type that follows from the schema, or from a constant."""
    match source:
        case FromArgument(name) | FromOutput(name):
            if name not in values.carriers:
                fix = "write its C type in front of it"
                raise CallError(where=where, got=f"parameter {name!r}", fix=fix)
            return values.carriers[name]
        case DtypeOfTensor():
            return CType.DTYPE
        case FromGenerator():
            return CType.INT64
        case FromConstant(value):
            by_type = {bool: CType.BOOL, int: CType.INT64, float: CType.DOUBLE, str: CType.TEXT}
            return by_type.get(type(value), CType.TENSOR)


def in_order(
    schema: Schema,
    outputs: tuple[Output, ...],
    known: Sequence[KnownParameter] | None,
    values: ValueFacts,
    *,
    where: str,
) -> Iterator[Parameter]:
    """Yield the arguments in the order of the schema, then what is written for the caller."""
    given = [
        argument
        for argument in schema.arguments
        if not argument.type.base.is_allocation and not argument.is_out
    ]
    last = [argument for argument in schema.arguments if argument.is_out]
    sources: list[Variable] = [
        source
        for each in given
        for source in (
            seed_and_offset(each.name)
            if each.type.base is Base.GENERATOR
            else (resolve_dtype(FromArgument(each.name), schema, outputs),)
        )
    ]
    sources += [FromOutput(output.name) for output in outputs if output.is_new]
    sources += [FromArgument(argument.name) for argument in last]
    if known is None:
        types = [natural(each, values, where=where) for each in sources]
    elif len(known) == len(sources):
        types = [each.ctype for each in known]
    else:
        raise CallError(
            where=where,
            got=f"{len(sources)} arguments and outputs",
            allowed=[f"{len(known)} parameters: {', '.join(each.name for each in known)}"],
            fix="write the call with its parameters",
        )
    for source, ctype in zip(sources, types, strict=True):
        name = source.name
        if isinstance(source, FromGenerator):
            name = drawn_name(name, source.part, values)
        yield Parameter(name=name, ctype=ctype, source=source)


def drawn_name(generator: str, part: DrawnPart, values: ValueFacts) -> str:
    """Return the name of a seed or an offset; those of several generators differ."""
    seed, offset = values.drawn[generator]
    return seed if part == "seed" else offset


def seed_and_offset(generator: str) -> tuple[FromGenerator, FromGenerator]:
    """Return what stands for a generator, in the order of CANN's functions."""
    return FromGenerator(generator, "seed"), FromGenerator(generator, "offset")


def resolve_dtype(source: Source, schema: Schema, outputs: tuple[Output, ...]) -> Variable:
    """Return for a dtype that may be None the output that has it in the end."""
    assert not isinstance(source, FromConstant)
    if isinstance(source, FromGenerator):
        return source
    given = schema.argument(source.name)
    if given is None or given.type.base is not Base.SCALAR_TYPE or not given.type.optional:
        return source
    rules = ((output, output.dtype) for output in outputs)
    having = (o for o, r in rules if isinstance(r, DtypeArgument) and r.name == source.name)
    output = next(having, None)
    return source if output is None else DtypeOfTensor(output.name)


def generated(
    prototype: Prototype, schema: Schema, outputs: tuple[Output, ...], *, where: str
) -> Iterator[Parameter]:
    """Yield the parameters of the function that CANN's generator makes of a prototype.

    Ports and attributes stand for arguments of the same place among the tensors and among the
    others, so that a prototype may name them differently.
    """
    inputs = [a.name for a in schema.arguments if a.type.has_tensors and not a.is_out]
    attributes = [
        source
        for a in schema.arguments
        if not a.type.has_tensors and not a.type.base.is_allocation
        for source in (
            seed_and_offset(a.name) if a.type.base is Base.GENERATOR else (FromArgument(a.name),)
        )
    ]
    sources: dict[str, Source] = {}
    values: Sequence[Variable]
    for ports, values in (
        ([port.name for port in prototype.inputs], [FromArgument(name) for name in inputs]),
        ([attribute.name for attribute in prototype.attributes], attributes),
    ):
        if len(ports) != len(values):
            raise CallError(
                where=where,
                got=f"a prototype with {len(ports)} where the schema has {len(values)}",
                allowed=[each.name for each in values],
                fix="make prototype and schema match, or write the call with its parameters",
            )
        sources |= dict(zip(ports, values, strict=True))
    sources |= {name: resolve_dtype(source, schema, outputs) for name, source in sources.items()}
    tensors = [output for output in outputs if output.type.has_tensors]
    for port, output in zip(prototype.outputs, tensors, strict=False):
        sources.setdefault(
            port.name,
            FromOutput(output.name) if output.is_new else FromArgument(output.argument or ""),
        )
    in_c = rules.derive(prototype).parameters
    ordered = [
        *(port.name for port in prototype.inputs),
        *(attribute.name for attribute in prototype.attributes),
        *(
            port.name
            for port in prototype.outputs
            if port.name not in {each.name for each in prototype.inputs}
        ),
    ]
    for name, parameter in zip(ordered, in_c, strict=True):
        yield Parameter(name=parameter.name, ctype=parameter.ctype, source=sources[name])


def c_parameter(parameter: Parameter, schema: Schema, outputs: tuple[Output, ...]) -> CParameter:
    """Return a parameter of the signature.

    Its name says whether it is written (Ref) and may be null (Optional), as in the functions that
    CANN's generator makes.
    """
    name, source = parameter.name, parameter.source
    given = schema.argument(source.name) if isinstance(source, FromArgument) else None
    is_ref = any(given is not None and output.argument == given.name for output in outputs)
    is_null = isinstance(source, FromConstant) and source.value is None
    if given is not None and given.type.optional and isinstance(source, FromArgument):
        is_null = source.otherwise is None
    if parameter.ctype is CType.TENSOR_LIST:
        is_null = True  # torch_npu passes an empty list as null
    name = name.removesuffix("Optional")
    if is_ref and parameter.ctype.is_tensor and not name.endswith("Ref"):
        name = f"{name}Ref"
    if is_null and parameter.ctype.is_pointer:
        name = f"{name}Optional"
    is_written = is_ref or isinstance(source, FromOutput)
    const = parameter.ctype.is_pointer and parameter.ctype is not CType.TEXT and not is_written
    return CParameter(name=name, ctype=parameter.ctype, const=const)

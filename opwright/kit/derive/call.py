"""The call of the aclnn function: C parameters with their types and what is passed for each.

Where the author wrote the parameters, they are taken as written. A function of CANN itself gets the
arguments in the order of the schema and then the outputs, as op-plugin's EXEC_NPU_CMD does. Any
other function is one that CANN's generator made from the prototype: inputs, attributes, outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from opwright.aclnn import prototype as rules
from opwright.aclnn.known import KnownParameter, known_parameters
from opwright.aclnn.signature import AclnnSignature, CType
from opwright.aclnn.signature import Parameter as CParameter
from opwright.kit.declare.call import DrawnFrom, DtypeOf, Literal, Named, function_name
from opwright.kit.declare.errors import CallError
from opwright.kit.declare.rules import DtypeArgument
from opwright.kit.declare.schema import Base
from opwright.kit.declare.values import drawn_names
from opwright.kit.derive.facts import (
    AclnnCall,
    DtypeOfTensor,
    FromArgument,
    FromConstant,
    FromGenerator,
    FromOutput,
    Parameter,
)
from opwright.kit.derive.prototype import carrier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.aclnn.prototype import Prototype
    from opwright.kit.declare.call import Actual, Call
    from opwright.kit.declare.schema import Schema
    from opwright.kit.derive.facts import Output, Source

__all__ = ["derive_call"]

# The sources of a parameter that is no constant.
Variable: TypeAlias = FromArgument | FromOutput | DtypeOfTensor | FromGenerator


def derive_call(
    schema: Schema,
    outputs: tuple[Output, ...],
    call: Call | None,
    prototype: Prototype | None,
    *,
    where: str,
) -> AclnnCall:
    """Return the call.

    Raises
    ------
    CallError
        OPW-D006.
    """
    function = function_name(call, schema.name)
    known = known_parameters(function)
    if call is not None and call.actuals is not None:
        parameters = written(call.actuals, schema, outputs, known, where=f"{where}, {function}")
    elif known is None and prototype is not None:
        parameters = generated(prototype, schema, outputs, where=f"{where}, {function}")
    else:
        parameters = in_order(schema, outputs, known, where=f"{where}, {function}")
    signature = AclnnSignature(
        name=function, parameters=tuple(c_parameter(each, schema, outputs) for each in parameters)
    )
    return AclnnCall(function=function, parameters=parameters, signature=signature)


def written(
    actuals: Sequence[Actual],
    schema: Schema,
    outputs: tuple[Output, ...],
    known: Sequence[KnownParameter] | None,
    *,
    where: str,
) -> tuple[Parameter, ...]:
    """Return the parameters that the author wrote."""
    fits = known is not None and len(known) == len(actuals)
    types = [each.ctype for each in known] if known and fits else [None] * len(actuals)
    parameters: list[Parameter] = []
    for actual, of_function in zip(actuals, types, strict=True):
        source = source_of(actual.source, schema, outputs)
        ctype = actual.ctype or of_function or natural(source, schema, outputs)
        if ctype is None:
            raise CallError(
                where=where,
                got=f"parameter {describe(actual)}",
                fix="write its C type in front of it",
            )
        name = c_name(actual.source, schema) or f"constant{len(parameters)}"
        parameters.append(Parameter(name=name, ctype=ctype, source=source))
    return tuple(parameters)


def c_name(source: Named | DtypeOf | DrawnFrom | Literal, schema: Schema) -> str:
    """Return the name of a parameter in C; empty for a constant."""
    match source:
        case Named(name):
            return rules.lower_camel(name)
        case DtypeOf(name):
            return f"{rules.lower_camel(name)}Dtype"
        case DrawnFrom(name, part):
            return drawn_name(name, part, schema)
        case Literal():
            return ""


def describe(actual: Actual) -> str:
    """Return a parameter for a message."""
    source = actual.source
    return repr(source.value) if isinstance(source, Literal) else repr(source.name)


def source_of(
    source: Named | DtypeOf | DrawnFrom | Literal, schema: Schema, outputs: tuple[Output, ...]
) -> Source:
    """Return where a value comes from; a written argument is an argument, not an output."""
    match source:
        case Literal(value):
            return FromConstant(value)
        case DtypeOf(name):
            return DtypeOfTensor(name)
        case DrawnFrom(name, part):
            return FromGenerator(name, part)
        case Named(name, otherwise):
            if schema.argument(name) is None and any(output.name == name for output in outputs):
                return FromOutput(name)
            return FromArgument(name, None if otherwise is None else otherwise.value)


def natural(source: Source, schema: Schema, outputs: tuple[Output, ...]) -> CType | None:
    """Return the C type that follows from the schema, or from a constant."""
    match source:
        case FromArgument(name):
            argument = schema.argument(name)
            return carrier(argument.type) if argument else None
        case FromOutput(name):
            output = next(output for output in outputs if output.name == name)
            return carrier(output.type)
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
    *,
    where: str,
) -> tuple[Parameter, ...]:
    """Return the arguments in the order of the schema, then what is written for the caller."""
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
    types: Sequence[CType | None] = [natural(each, schema, outputs) for each in sources]
    if known is not None:
        if len(known) != len(sources):
            raise CallError(
                where=where,
                got=f"{len(sources)} arguments and outputs",
                allowed=[f"{len(known)} parameters: {', '.join(each.name for each in known)}"],
                fix="write the call with its parameters",
            )
        types = [each.ctype for each in known]
    return tuple(
        Parameter(name=parameter_name(each, schema), ctype=ctype, source=each)
        for each, ctype in zip(sources, types, strict=True)
        if ctype is not None
    )


def parameter_name(source: Variable, schema: Schema) -> str:
    """Return the name of a parameter in C."""
    if isinstance(source, FromGenerator):
        return drawn_name(source.name, source.part, schema)
    return rules.lower_camel(source.name)


def drawn_name(generator: str, part: str, schema: Schema) -> str:
    """Return the name in C of a seed or an offset; those of several generators differ."""
    argument = schema.argument(generator)
    assert argument is not None
    names = dict(zip(("seed", "offset"), drawn_names(argument, schema), strict=True))
    return rules.lower_camel(names[part])


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
) -> tuple[Parameter, ...]:
    """Return the parameters of the function that CANN's generator makes of a prototype.

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
    return tuple(
        Parameter(name=parameter.name, ctype=parameter.ctype, source=sources[name])
        for name, parameter in zip(ordered, in_c, strict=True)
    )


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

"""`converters.py` of the package: for TorchAir, arguments of the schema -> a node's inputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.declare.schema import Base
from opwright.derive.functional import graph_form, has_graph_form
from opwright.derive.prototype import ALLOCATION
from opwright.emit.python.annotations import default_text
from opwright.emit.python.api import signature_exemptions
from opwright.emit.python.ge import node_names
from opwright.emit.python.module import module
from opwright.emit.python.names import overload_expression
from opwright.emit.python.prototypes import GE_DTYPES, function_name, graph_operators
from opwright.emit.python.text import bracketed, docstring

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.aclnn.prototype import Port, Prototype
    from opwright.declare.schema import Argument
    from opwright.derive.facts import OperatorFacts, SetFacts
    from opwright.emit.options import EmitOptions

__all__ = ["emit_converters"]


# Functions of the module, written where a converter calls them.
AS_TENSOR = [
    "def as_tensor(value: Any) -> Any:",
    *docstring("Return values as a tensor of the graph; None stays None.", indent="    "),
    "    return value if value is None or isinstance(value, Tensor) else Const(value)",
]
GE_DTYPE = [
    "def ge_dtype(dtype: Any) -> Any:",
    *docstring("Return GE's number of a dtype; None stays None.", indent="    "),
    "    return GE_DTYPES.get(dtype, dtype)",
]
DTYPE_TABLE = [
    bracketed(
        "GE_DTYPES = {",
        [f"torch.{dtype}: DataType.DT_{name}" for dtype, name in sorted(GE_DTYPES.items())],
        "}",
    )
]


def emit_converters(facts: SetFacts, options: EmitOptions) -> str:
    """Return the converters."""
    nodes = node_names(facts)
    pairs = [
        (form, nodes[operator.name])
        for operator in graph_operators(facts)
        for form in (operator, *([graph_form(operator)] if has_graph_form(operator) else []))
    ]
    operators = [operator for operator, _ in pairs]
    package = options.package
    converters = [converter(operator, facts, node) for operator, node in pairs]
    calls = "\n".join(line for each in converters for line in each)
    has_dtypes, has_tensors = "ge_dtype(" in calls, "as_tensor(" in calls
    used = {
        "Clone": "Clone(" in calls,
        "Const": has_tensors,
        "DataType": has_dtypes,
        "Tensor": has_tensors,
    }
    names = [name for name, is_used in used.items() if is_used]
    return module(
        "Converters for TorchAir: the operators as nodes of a GE graph. Import registers them.",
        DTYPE_TABLE if has_dtypes else [],
        GE_DTYPE if has_dtypes else [],
        AS_TENSOR if has_tensors else [],
        *converters,
        source=facts.declaration.source.name,
        imports=[
            ["from typing import Any"] if converters else [],
            [
                *(["import torch"] if has_dtypes else []),
                "from torch_npu.dynamo.torchair import register_fx_node_ge_converter",
                *([f"from torchair.ge import {', '.join(names)}"] if names else []),
            ],
            [f"from {package} import ge", f"from {package}._ops import ops"],
        ],
        comments=[
            "# Signatures are those of the schemas, as TorchAir calls converters.",
            f"# ruff: noqa: {', '.join(converter_exemptions(operators))}",
            "# mypy: ignore-errors",
        ],
    )


def converter_exemptions(operators: Sequence[OperatorFacts]) -> list[str]:
    """Return the rules of ruff that converters break."""
    codes = {"ANN401", *signature_exemptions(operator.schema for operator in operators)}
    codes -= {"FBT001", "N802"}  # parameters are annotated Any, names begin with convert_
    for operator in operators:
        prototype = operator.prototype
        assert prototype is not None
        used = " ".join(node_arguments(operator, prototype))
        names = [argument.name for argument in operator.schema.arguments]
        if any(not re.search(rf"\b{name}\b(?!=)", used) for name in names):
            codes.add("ARG001")
    return sorted(codes)


def converter(operator: OperatorFacts, facts: SetFacts, node: str) -> list[str]:
    """Return the converter of an operator."""
    prototype = operator.prototype
    assert prototype is not None
    parameters: list[str] = []
    for argument in operator.schema.arguments:
        if argument.keyword_only and "*" not in parameters:
            parameters.append("*")
        default = default_text(argument)
        parameters.append(f"{argument.name}: Any" + ("" if default is None else f" = {default}"))
    dynamic = any(port.presence == "dynamic" for port in prototype.outputs)
    if dynamic:
        parameters.append("meta_outputs: Any = None")
    copies = [f"    {name} = Clone({name})" for name in operator.clones]
    call = bracketed(f"ge.{node}(", node_arguments(operator, prototype), ")", indent="    ")
    returned = result_lines(operator, prototype, facts, call.lstrip())
    return [
        f"@register_fx_node_ge_converter({overload_expression(operator, 'ops')})",
        bracketed(f"def convert_{function_name(operator.name)}(", parameters, ") -> Any:"),
        *docstring(f"Convert ``{operator.name}`` to ``{prototype.op_type}``.", indent="    "),
        *copies,
        *returned,
    ]


def node_arguments(operator: OperatorFacts, prototype: Prototype) -> list[str]:
    """Return what the function that adds the node gets."""
    arguments = operator.schema.arguments
    by_name = {argument.name: argument for argument in arguments}
    hosted = {p.name for p in prototype.inputs if (p.scalar or p.values) and p.name in by_name}
    written_out = {
        a.name for a in operator.operator.schema.arguments if a.is_written and a.keyword_only
    }
    tensors = iter(
        [a for a in arguments if a.type.has_tensors and a.name not in hosted | written_out]
    )
    others = iter(
        [
            a
            for a in arguments
            if not a.type.has_tensors and a.type.base not in ALLOCATION and a.name not in hosted
        ]
    )
    items = []
    for port in prototype.inputs:
        if port.name in hosted:
            items.append(f"as_tensor({port.name})")
        else:
            argument = next(tensors)
            items.append(argument.name)
    items += [
        f"size_of_{port.name}={size_of(port, operator)}"
        for port in prototype.outputs
        if port.presence == "dynamic"
    ]
    items += [
        f"{attribute.name}={argument_value(argument)}"
        for attribute, argument in zip(prototype.attributes, others, strict=False)
    ]
    return items


def size_of(port: Port, operator: OperatorFacts) -> str:
    """Return how many tensors a list of results has."""
    names = [output.name for output in operator.outputs if output.result is not None]
    if len(names) == 1:
        return "len(meta_outputs)"
    place = names.index(port.name) if port.name in names else 0
    return f"len(meta_outputs[{place}])"


def argument_value(argument: Argument) -> str:
    """Return an argument as the value of an attribute."""
    return f"ge_dtype({argument.name})" if argument.type.base is Base.SCALAR_TYPE else argument.name


def result_lines(
    operator: OperatorFacts, prototype: Prototype, facts: SetFacts, call: str
) -> list[str]:
    """Return the lines that add the node and return what the schema returns."""
    original = facts.operator(operator.operator.name) or operator
    ports = [
        output.argument or output.name for output in original.outputs if output.type.has_tensors
    ]
    wanted = [
        ports.index(output.argument or output.name)
        for output in sorted(operator.outputs, key=lambda each: each.result or 0)
        if output.result is not None and output.type.has_tensors
    ]
    if len(prototype.outputs) <= 1 or len(ports) != len(prototype.outputs):
        return [f"    return {call}"] if wanted else [f"    {call}"]
    if wanted == list(range(len(ports))):
        return [f"    return {call}"]
    picked = ", ".join(f"results[{index}]" for index in wanted)
    if not wanted:
        return [f"    {call}"]
    return [f"    results = {call}", f"    return {picked}"]

"""Graph mode: `ge.py`, `converters.py`, and the prototypes as REG_OP text."""

from __future__ import annotations

import builtins
import dataclasses
import re
from typing import TYPE_CHECKING

from opwright.aclnn.dtypes import CANN_DTYPES
from opwright.aclnn.reg_op import write_reg_op
from opwright.declare.rules import DtypeSet, SameDtype
from opwright.declare.schema import Base
from opwright.derive.prototype import ALLOCATION
from opwright.emit.header import with_header
from opwright.emit.python.annotations import default_text
from opwright.emit.python.api import signature_exemptions
from opwright.emit.python.module import module
from opwright.emit.python.names import overload_expression
from opwright.emit.python.text import Group, bracketed, docstring, literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.aclnn.prototype import Attribute, Port, Prototype
    from opwright.declare.schema import Argument
    from opwright.derive.facts import OperatorFacts, SetFacts
    from opwright.emit.options import EmitOptions

__all__ = ["emit_converters", "emit_ge", "emit_reg_op", "graph_operators", "typed_prototype"]

# The attribute types of operator_reg.h -> the classes of torchair.ge.attr, and their values.
ATTRIBUTES = {
    "Int": ("Int", "int"),
    "Float": ("Float", "float"),
    "Bool": ("Bool", "bool"),
    "String": ("Str", "str"),
    "AscendString": ("Str", "str"),
    "Type": ("DataType", "int"),
    "ListInt": ("ListInt", "list[int]"),
    "ListFloat": ("ListFloat", "list[float]"),
    "ListBool": ("ListBool", "list[bool]"),
    "ListString": ("ListStr", "list[str]"),
    "ListAscendString": ("ListStr", "list[str]"),
    "ListType": ("ListDataType", "list[int]"),
    "ListListInt": ("ListListInt", "list[list[int]]"),
}
# torch's dtype -> CANN's name: the first that CANN has for it.
GE_DTYPES = {
    dtype: name
    for name, dtype in reversed(CANN_DTYPES.items())
    if name not in {"FLOAT32", "BFLOAT16"}
}


def graph_operators(facts: SetFacts) -> tuple[OperatorFacts, ...]:
    """Return the operators that have a prototype which TorchAir can build a node for."""
    return tuple(
        operator
        for operator in facts.operators
        if operator.prototype is not None
        and not operator.prototype.graphs
        and all(each.type_name in ATTRIBUTES for each in operator.prototype.attributes)
    )


def typed_prototype(operator: OperatorFacts) -> Prototype:
    """Return the prototype with the dtypes that the declaration gives, where it has none."""
    prototype = operator.prototype
    assert prototype is not None
    return dataclasses.replace(
        prototype,
        inputs=tuple(typed_port(port, operator) for port in prototype.inputs),
        outputs=tuple(typed_port(port, operator) for port in prototype.outputs),
    )


def typed_port(port: Port, operator: OperatorFacts) -> Port:
    """Return a port with dtypes."""
    if port.dtypes or port.symbol:
        return port
    names = dtypes_of(port.name, operator, seen=())
    return dataclasses.replace(port, dtypes=names or ("ALL",))


def dtypes_of(name: str, operator: OperatorFacts, seen: tuple[str, ...]) -> tuple[str, ...]:
    """Return CANN's names of the dtypes of an argument or output; empty if any is allowed."""
    output = operator.output(name)
    rule = operator.dtypes.get(name) or (output.dtype if output else None)
    match rule:
        case DtypeSet(names):
            return tuple(f"DT_{GE_DTYPES[each]}" for each in names if each in GE_DTYPES)
        case SameDtype(tensor) if tensor not in seen:
            return dtypes_of(tensor, operator, (*seen, name))
    return ()


def emit_reg_op(facts: SetFacts) -> str:
    """Return a header with the prototypes."""
    prototypes: dict[str, Prototype] = {}
    for operator in facts.operators:
        if operator.prototype is not None:
            prototypes.setdefault(operator.prototype.op_type, typed_prototype(operator))
    guard = f"{facts.declaration.namespace.upper()}_OP_PROTO_H_"
    parts = [f"{write_reg_op(each)}\n" for each in prototypes.values()]
    include = '#include "graph/operator_reg.h"'
    head = f"#ifndef {guard}\n#define {guard}\n\n{include}\n\nnamespace ge {{\n\n"
    tail = f"\n}}  // namespace ge\n\n#endif  // {guard}\n"
    body = head + "\n".join(parts) + tail
    return with_header(body, source=facts.declaration.source.name, comment="//")


def function_name(name: str) -> str:
    """Return an operator's name as part of a function's."""
    return name.replace(".", "_")


def emit_ge(facts: SetFacts, options: EmitOptions) -> str:
    """Return the functions that add nodes to a GE graph."""
    del options
    names = node_names(facts)
    functions: dict[str, list[str]] = {}
    for operator in graph_operators(facts):
        name = names[operator.name]
        if name not in functions:
            functions[name] = node_function(operator, name)
    helper = [
        "def given(**attributes: Any) -> dict[str, Any]:",
        *docstring(
            "Leave out attributes that are None: the operator's default holds.", indent="    "
        ),
        "    return {name: value for name, value in attributes.items() if value is not None}",
    ]
    has_attributes = any(f.prototype and f.prototype.attributes for f in graph_operators(facts))
    return module(
        "Functions that add the operators to a graph of GE, for TorchAir's converters.",
        [bracketed("__all__ = [", [literal(name) for name in sorted(functions)], "]")],
        helper if has_attributes else [],
        *functions.values(),
        source=facts.declaration.source.name,
        imports=[
            ["from typing import Any"],
            [f"from torchair.ge import Tensor, {'attr, ' if has_attributes else ''}custom_op"],
        ],
        comments=exemptions(facts),
    )


def exemptions(facts: SetFacts) -> list[str]:
    """Return the comment that exempts from rules which prototypes may break."""
    most = 10
    codes = {"ANN401"}
    for operator in graph_operators(facts):
        assert operator.prototype is not None
        items = node_parameters(operator.prototype)
        names = [item.partition(":")[0] for item in items]
        if len([name for name in names if name != "*"]) > most:
            codes.add("PLR0913")
        if names.index("*") > most:
            codes.add("PLR0917")
        if {"l", "O", "I"} & set(names):
            codes.add("E741")
        if any(name in dir(builtins) for name in names):
            codes.add("A002")
        if any(name != name.lower() for name in names):
            codes.add("N803")
    return [
        "# Names are those of the prototypes; TorchAir has no types.",
        '# mypy: disable-error-code="import-not-found, import-untyped"',
        f"# ruff: noqa: {', '.join(sorted(codes))}",
    ]


def snake(op_type: str) -> str:
    """Return an operator type as the name of a function.

    >>> snake("AddRmsNorm"), snake("GeGluV2")
    ('add_rms_norm', 'ge_glu_v2')
    """
    text = "".join(f"_{char.lower()}" if char.isupper() else char for char in op_type)
    return text.lstrip("_").replace("__", "_")


def node_names(facts: SetFacts) -> dict[str, str]:
    """Return by operator the function that adds its node.

    Operators of one type have one function, unless their prototypes have other names.
    """
    known: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for operator in graph_operators(facts):
        prototype = operator.prototype
        assert prototype is not None
        name = snake(prototype.op_type)
        if known.setdefault(name, node_parameters(prototype)) != node_parameters(prototype):
            name = f"{name}_of_{function_name(operator.operator.name)}"
            known[name] = node_parameters(prototype)
        names[operator.name] = name
    return names


def node_parameters(prototype: Prototype) -> list[str]:
    """Return the parameters of the function that adds a node."""
    kinds = {"required": "Tensor", "optional": "Tensor | None", "dynamic": "list[Tensor]"}
    items = [f"{port.name}: {kinds[port.presence]}" for port in prototype.inputs]
    sizes = [
        f"size_of_{port.name}: int" for port in prototype.outputs if port.presence == "dynamic"
    ]
    required = [
        f"{each.name}: {ATTRIBUTES[each.type_name][1]}"
        for each in prototype.attributes
        if each.required
    ]
    optional = [
        f"{each.name}: {ATTRIBUTES[each.type_name][1]} | None = None"
        for each in prototype.attributes
        if not each.required
    ]
    return [*items, "*", *sizes, *required, *optional, "node_name: str | None = None"]


def node_function(operator: OperatorFacts, name: str) -> list[str]:
    """Return the function that adds a node."""
    prototype = operator.prototype
    assert prototype is not None
    inputs = tuple(f'"{port.name}": {port.name}' for port in prototype.inputs)
    outputs = tuple(
        f'("{port.name}", size_of_{port.name})' if port.presence == "dynamic" else f'"{port.name}"'
        for port in prototype.outputs
    )
    items: list[str | Group] = [
        literal(prototype.op_type),
        Group("inputs={", inputs, "}"),
        Group("outputs=[", outputs, "]"),
    ]
    if prototype.attributes:
        attributes = [f"{each.name}={attribute_value(each)}" for each in prototype.attributes]
        items.append(Group("attrs=given(", tuple(attributes), ")"))
    items.append("node_name=node_name")
    doc = [
        f"Add a node ``{prototype.op_type}``.",
        "",
        "::",
        "",
        *(f"    {line}" for line in write_reg_op(typed_prototype(operator)).splitlines()),
    ]
    return [
        bracketed(f"def {name}(", node_parameters(prototype), ") -> Any:"),
        *docstring("\n".join(doc), indent="    "),
        bracketed("return custom_op(", items, ")", indent="    "),
    ]


def attribute_value(attribute: Attribute) -> str:
    """Return what makes an attribute of a parameter."""
    made = f"attr.{ATTRIBUTES[attribute.type_name][0]}({attribute.name})"
    return made if attribute.required else f"None if {attribute.name} is None else {made}"


# Converters: the arguments of the schema -> inputs and attributes of the node.


def emit_converters(facts: SetFacts, options: EmitOptions) -> str:
    """Return the converters."""
    operators = graph_operators(facts)
    package = options.package
    names_of_nodes = node_names(facts)
    converters = [
        converter(operator, facts, names_of_nodes[operator.name]) for operator in operators
    ]
    text = "\n".join(line for each in converters for line in each)
    helpers: list[str] = []
    ge_dtype: list[str] = []
    if "ge_dtype(" in text:
        helpers = [
            bracketed(
                "GE_DTYPES = {",
                [f"torch.{dtype}: DataType.DT_{name}" for dtype, name in sorted(GE_DTYPES.items())],
                "}",
            ),
        ]
        ge_dtype = [
            "def ge_dtype(dtype: Any) -> Any:",
            *docstring("Return GE's number of a dtype; None stays None.", indent="    "),
            "    return GE_DTYPES.get(dtype, dtype)",
        ]
    as_tensor = []
    if "as_tensor(" in text:
        as_tensor = [
            "def as_tensor(value: Any) -> Any:",
            *docstring("Return values as a tensor of the graph; None stays None.", indent="    "),
            "    return value if value is None or isinstance(value, Tensor) else Const(value)",
        ]
    names = [
        name
        for name in ("Clone", "Const", "DataType", "Tensor")
        if f"{name}(" in text + "".join(as_tensor)
        or (name == "DataType" and helpers)
        or (name == "Tensor" and as_tensor)
    ]
    typing = ["from typing import Any"] if "Any" in text or helpers or as_tensor else []
    return module(
        "Converters for TorchAir: the operators as nodes of a GE graph. Import registers them.",
        helpers,
        ge_dtype,
        as_tensor,
        *converters,
        source=facts.declaration.source.name,
        imports=[
            typing,
            [
                *(["import torch"] if helpers else []),
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

"""`ge.py` of the package: functions that add the operators to a graph of GE."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from opwright.aclnn.reg_op import write_reg_op
from opwright.emit.python.api import MOST_PARAMETERS
from opwright.emit.python.module import module
from opwright.emit.python.prototypes import (
    ATTRIBUTES,
    function_name,
    graph_operators,
    typed_prototype,
)
from opwright.emit.python.text import Group, bracketed, docstring, literal

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Attribute, Prototype
    from opwright.derive.facts import OperatorFacts, SetFacts

__all__ = ["emit_ge", "node_names"]


def emit_ge(facts: SetFacts) -> str:
    """Return the functions that add nodes to a GE graph."""
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
    codes = {"ANN401"}
    for operator in graph_operators(facts):
        assert operator.prototype is not None
        items = node_parameters(operator.prototype)
        names = [item.partition(":")[0] for item in items]
        if len([name for name in names if name != "*"]) > MOST_PARAMETERS:
            codes.add("PLR0913")
        if names.index("*") > MOST_PARAMETERS:
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

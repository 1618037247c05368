"""`ge.py` of the package: functions that add the operators to a graph of GE."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from opwright.aclnn.dtypes import DTYPE_NUMBERS
from opwright.aclnn.reg_op import write_reg_op
from opwright.kit.emit.python.api import MOST_PARAMETERS
from opwright.kit.emit.python.module import module
from opwright.kit.emit.python.names import function_name
from opwright.kit.emit.python.prototypes import ATTRIBUTES, graph_operators, type_prototype
from opwright.kit.emit.python.text import Group, bracket, docstring, literal

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Attribute, Port, Prototype
    from opwright.kit.derive.facts import OperatorFacts, SetFacts
    from opwright.kit.emit.options import EmitOptions

__all__ = ["emit_ge", "node_names"]

# Methods of an IR definition, by how an input is present.
WORDS = {"required": "input", "optional": "optional_input", "dynamic": "dynamic_input"}
# Values for a default that is none, or no literal; lists are empty.
NOTHING = {"Bool": False, "DataType": DTYPE_NUMBERS["UNDEFINED"], "Float": 0.0, "Int": 0, "Str": ""}


def emit_ge(facts: SetFacts, options: EmitOptions) -> str:
    """Return the functions that add nodes to a GE graph."""
    names = node_names(facts)
    functions: dict[str, list[str]] = {}
    for operator in graph_operators(facts):
        name = names[operator.name]
        if name not in functions:
            functions[name] = node_function(operator, name)
    made = [f.prototype for f in graph_operators(facts) if f.prototype]
    has_attributes = any(each.attributes for each in made)
    return module(
        "Functions that add the operators to a graph of GE, for TorchAir's converters.",
        [bracket("__all__ = [", [literal(name) for name in sorted(functions)], "]")],
        *functions.values(),
        source=facts.declaration.source.name,
        imports=[
            ["from typing import Any"],
            [
                "from torchair._ge_concrete_graph.compat_ir import IrDef, ge_op",
                f"from torchair.ge import Tensor{', attr' if has_attributes else ''}",
            ],
            [f"from {options.package}._converting import attributes"] if has_attributes else [],
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
        attributes = operator.prototype.attributes
        if any(isinstance(each.default, bool) for each in attributes if not each.required):
            codes.add("FBT003")
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
    typed = type_prototype(operator)
    items: list[str | Group] = [
        literal(prototype.op_type),
        Group("inputs={", tuple(f'"{p.name}": {p.name}' for p in prototype.inputs), "}"),
    ]
    if prototype.attributes:
        given = [f"{a.name}=(attr.{kind_of(a)}, {a.name})" for a in prototype.attributes]
        items.append(Group("attrs=attributes(", (literal(prototype.op_type), *given), ")"))
    outputs = tuple(
        f'("{port.name}", size_of_{port.name})' if port.presence == "dynamic" else f'"{port.name}"'
        for port in prototype.outputs
    )
    items += [Group("outputs=[", outputs, "]"), "node_name=node_name", "ir=ir"]
    doc = [
        f"Add a node ``{prototype.op_type}``.",
        "",
        "::",
        "",
        *(f"    {line}" for line in write_reg_op(typed).splitlines()),
    ]
    return [
        bracket(f"def {name}(", node_parameters(prototype), ") -> Any:"),
        *docstring("\n".join(doc), indent="    "),
        *ir_lines(typed),
        bracket("return ge_op(", items, ")", indent="    "),
    ]


def ir_lines(prototype: Prototype) -> list[str]:
    """Return the prototype as TorchAir compares it with what CANN has.

    A CANN that lacks an optional input or attribute can be used as long as nobody gives it.
    """
    calls = [
        f"ir.{WORDS[port.presence]}({literal(port.name)}, {literal(', '.join(dtypes(port)))})"
        for port in prototype.inputs
    ]
    for attribute in prototype.attributes:
        kind, name = f"attr.{kind_of(attribute)}", literal(attribute.name)
        if attribute.required:
            calls.append(f"ir.required_attr({name}, {kind})")
        else:
            calls.append(f"ir.attr({name}, {kind}({default_of(attribute)}))")
    for port in prototype.outputs:
        word = "dynamic_output" if port.presence == "dynamic" else "output"
        calls.append(f"ir.{word}({literal(port.name)}, {literal(', '.join(dtypes(port)))})")
    return [f"    ir = IrDef({literal(prototype.op_type)})", *(f"    {call}" for call in calls)]


def dtypes(port: Port) -> tuple[str, ...]:
    """Return what an IR definition says of a port's dtypes."""
    return port.dtypes or ((port.symbol,) if port.symbol else ())


def kind_of(attribute: Attribute) -> str:
    """Return the class of an attribute."""
    return ATTRIBUTES[attribute.type_name][0]


def default_of(attribute: Attribute) -> str:
    """Return the default of an attribute as text."""
    if attribute.default is None:
        return literal(NOTHING.get(kind_of(attribute), []))
    return literal(plain(attribute.default))


def plain(value: object) -> object:
    """Return a default with lists for tuples, and numbers for GE's names of dtypes."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, str) and value.startswith("DT_"):
        return DTYPE_NUMBERS.get(value.removeprefix("DT_"), DTYPE_NUMBERS["UNDEFINED"])
    return value

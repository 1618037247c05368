"""Prototypes as the functions with which TorchAir's converters build a graph of GE.

It is what TorchAir's build makes of a header (`generate_ge_raw_custom_ops`): names, parameters and
their order are the same, so that converters work with either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.aclnn.dtypes import TYPE_SETS
from opwright.aclnn.reg_op import write_reg_op
from opwright.errors import write_count
from opwright.kit.emit.python.module import module
from opwright.kit.emit.python.prototypes import ATTRIBUTES
from opwright.kit.emit.python.raw_names import (
    IMPORTS,
    Names,
    aliases,
    names_of,
    node_function,
    order_given,
)
from opwright.kit.emit.python.text import WIDTH, Group, bracket, lay_out, literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.aclnn.prototype import Attribute, Default, Port, Prototype

__all__ = ["emit_raw_ops", "explain_skip", "find_left_out"]

# Types that TorchAir builds by hand.
DEFORMED = frozenset(
    {
        *("Const", "Constant", "Data", "Cast", "Variable", "VariableV2"),
        *("Placeholder", "PlaceholderV2", "PlaceholderWithDefault"),
    }
)
# Values for a default that a prototype does not state; of a list, no elements.
NOTHING: Mapping[str, Default] = {
    "Int": 0,
    "Float": 0.0,
    "Bool": False,
    "String": "",
    "AscendString": "",
    "Type": "DT_UNDEFINED",
}
# The sets of dtypes -> TorchAir's constants: NumberType is TT_NUMBER, FloatingDataType TT_FLOATING.
TENSOR_TYPES = {
    name: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.sub(r"(?:Data)?Type$", "", name)).upper()
    for name in TYPE_SETS
}
UNKNOWN = "UNKNOWN"
INDICES = {"DT_INT32", "DT_INT64"}
PREFIX = {"required": "", "optional": "optional_", "dynamic": "dynamic_"}


def emit_raw_ops(prototypes: Sequence[Prototype], *, source: str) -> str:
    """Return the module with a function for each operator that a graph can have.

    Parameters
    ----------
    source
        The names of the headers, without folders.
    """
    reasons = [explain_skip(each) for each in prototypes]
    pairs = list(zip(prototypes, reasons, strict=True))
    kept = [each for each, reason in pairs if reason is None]
    skipped = [f"# {each.op_type} has none: {why}" for each, why in pairs if why is not None]
    local = aliases(kept)
    functions = [Writer(each, names_of(each), local).function() for each in kept]
    exported = [literal(name) for name in sorted(node_function(each) for each in kept)]
    return module(
        "Functions that add operators to a graph of GE, for TorchAir's converters.",
        [bracket("__all__ = [", exported, "]")],
        *functions,
        source=source,
        imports=imports("\n".join(line for part in functions for line in part), local),
        comments=[
            f"# Functions: {len(kept)}, of {write_count(len(pairs), 'operator')}.",
            *skipped,
            "# Names are those of the prototypes; TorchAir has no types.",
            "# mypy: ignore-errors",
            "# pylint: skip-file",
            "# ruff: noqa",
        ],
    )


def explain_skip(prototype: Prototype) -> str | None:
    """Return why TorchAir cannot build a node of the operator; None if it can."""
    if prototype.op_type in DEFORMED:
        return "TorchAir builds it by hand"
    if prototype.graphs:
        return "dynamic graph" if prototype.graphs[0].dynamic else "graph"
    if any(port.presence == "optional" for port in prototype.outputs):
        return "optional output"
    for each in prototype.attributes:
        if each.required and each.type_name not in ATTRIBUTES:
            return f"required attribute {each.name} of type {each.type_name}"
    return None


def find_left_out(prototype: Prototype) -> tuple[Attribute, ...]:
    """Return the attributes that TorchAir has no values for; their defaults hold."""
    return tuple(each for each in prototype.attributes if each.type_name not in ATTRIBUTES)


def imports(code: str, local: Mapping[str, str]) -> list[list[str]]:
    """Return the groups of imports that code needs."""
    found: list[str] = []
    for source, names in IMPORTS.items():
        used = [name for name in names if re.search(rf"\b{local[name]}\b", code)]
        if used:
            texts = [name if local[name] == name else f"{name} as {local[name]}" for name in used]
            found.append(f"from {source} import {', '.join(texts)}")
    return [
        [line for line in found if line.startswith("from typing")],
        [line for line in found if not line.startswith("from typing")],
    ]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the function of a prototype.

    Parameters
    ----------
    local
        The names under which TorchAir's are imported.
    """

    prototype: Prototype
    names: Names
    local: Mapping[str, str]

    def function(self) -> list[str]:
        """Return the function."""
        prototype = self.prototype
        head = f"def {node_function(prototype)}("
        decorator = f"@{self.local['auto_convert_to_tensor']}("
        return [
            *(
                f"# Attribute {each.name} ({each.type_name}) has no parameter: its default holds"
                for each in find_left_out(prototype)
            ),
            bracket(decorator, self.conversions(), ")"),
            bracket(head, self.parameters(), "):"),
            *documentation(prototype),
            bracket(f"return {self.local['ge_op']}(", self.node(), ")", indent="    "),
        ]

    def conversions(self) -> list[str | Group]:
        """Return what TorchAir has to know of the inputs to make tensors of plain numbers."""
        inputs = self.prototype.inputs
        flags: list[str | Group] = [
            Group("[", tuple(str(port.presence == presence) for port in inputs), "]")
            for presence in ("dynamic", "optional")
        ]
        kinds = [tensor_type(port) for port in inputs]
        if any(kind != UNKNOWN for kind in kinds):
            items = tuple(f"{self.local['TensorType']}.TT_{kind}" for kind in kinds)
            flags.append(Group("inputs_tensor_type=[", items, "]"))
        return flags

    def parameters(self) -> list[str]:
        """Return the parameters with their types and defaults."""
        tensor = self.local["Tensor"]
        types = {
            "required": tensor,
            "optional": f"{self.local['Optional']}[{tensor}]",
            "dynamic": f"{self.local['List']}[{tensor}]",
        }
        inputs = [
            f"{name}: {types[port.presence]}"
            for name, port in zip(self.names.inputs, self.prototype.inputs, strict=True)
        ]
        sizes = [f"{size}: int" for size in self.names.sizes.values()]
        attributes = [
            f"{name}: {self.annotation(each)}"
            + ("" if each.required else f" = {self.default(each)}")
            for name, each in self.attributes()
        ]
        return [*inputs, "*", *sizes, *attributes, "dependencies=[]", "node_name=None"]

    def attributes(self) -> list[tuple[str, Attribute]]:
        """Return the attributes with the names of their parameters."""
        return list(zip(self.names.attributes, order_given(self.prototype), strict=True))

    def annotation(self, attribute: Attribute) -> str:
        """Return the type of an attribute's value."""
        return ATTRIBUTES[attribute.type_name][1].replace("list[", f"{self.local['List']}[")

    def default(self, attribute: Attribute) -> str:
        """Return the default of an attribute in Python."""
        kind, value = attribute.type_name, attribute.default
        if value is None:
            value = NOTHING.get(kind, ())
        if kind == "Type":
            return f"{self.local['DataType']}.{value}"
        if kind == "ListType" and isinstance(value, tuple):
            items = [f"{self.local['DataType']}.{each}" for each in value]
            return f"[{', '.join(items)}]"
        return literal(as_list(value))

    def node(self) -> list[str | Group]:
        """Return what the node is made of."""
        inputs = [
            f"{literal(port.name)}: {name}"
            for name, port in zip(self.names.inputs, self.prototype.inputs, strict=True)
        ]
        attributes = [
            f"{literal(each.name)}: {self.value_class(each)}({name})"
            for name, each in self.attributes()
        ]
        outputs = [
            f"({literal(port.name)}, {self.names.sizes[port.name]})"
            if port.presence == "dynamic"
            else literal(port.name)
            for port in self.prototype.outputs
        ]
        return [
            f"op_type={literal(self.prototype.op_type)}",
            Group("inputs={", tuple(inputs), "}"),
            Group("attrs={", tuple(attributes), "}"),
            Group("outputs=[", tuple(outputs), "]"),
            "dependencies=dependencies",
            "node_name=node_name",
            self.definition(),
        ]

    def value_class(self, attribute: Attribute) -> str:
        """Return the class of an attribute's value."""
        return f"{self.local['attr']}.{ATTRIBUTES[attribute.type_name][0]}"

    def definition(self) -> str:
        """Return the prototype as TorchAir compares it with the one that GE knows."""
        calls = [
            *(ir_port("input", port) for port in self.prototype.inputs),
            *(self.ir_attribute(each) for each in order_given(self.prototype)),
            *(ir_port("output", port) for port in self.prototype.outputs),
        ]
        head = f"ir={self.local['IrDef']}({literal(self.prototype.op_type)})"
        line = "".join(map(str, [head, *calls]))
        indent = " " * 8
        if len(f"{indent}{line},") <= WIDTH:
            return line
        # The comma after the last call is written by whoever puts this between brackets.
        if len(calls) == 1:
            only = Group(f"{head}{calls[0].opening}", calls[0].items, calls[0].closing)
            return "\n".join(lay_out(only, indent=indent, tail=",")).strip().removesuffix(",")
        tails = [""] * (len(calls) - 1) + [","]
        broken = [
            each
            for call, tail in zip(calls, tails, strict=True)
            for each in lay_out(call, indent=indent, tail=tail)
        ]
        return "\n".join([head, *broken]).removesuffix(",")

    def ir_attribute(self, attribute: Attribute) -> Group:
        """Return an attribute of the definition."""
        name, made = literal(attribute.name), self.value_class(attribute)
        if attribute.required:
            return Group(".required_attr(", (name, made), ")")
        return Group(".attr(", (name, Group(f"{made}(", (self.default(attribute),), ")")), ")")


def ir_port(what: str, port: Port) -> Group:
    """Return a port of the definition, with the dtypes that it lists."""
    dtypes = ", ".join(name for name in port.dtypes if name.startswith("DT_"))
    name = f".{PREFIX[port.presence]}{what}("
    return Group(name, (literal(port.name), literal(dtypes)), ")")


def tensor_type(port: Port) -> str:
    """Return which of TorchAir's sets of dtypes a port has."""
    if set(port.dtypes) == INDICES:
        return "INDEX_NUMBER"
    return TENSOR_TYPES.get(port.dtypes[0], UNKNOWN) if len(port.dtypes) == 1 else UNKNOWN


def as_list(value: object) -> object:
    """Return a value with lists for tuples."""
    return [as_list(each) for each in value] if isinstance(value, tuple) else value


def documentation(prototype: Prototype) -> list[str]:
    """Return the docstring: the prototype."""
    *shown, _end = write_reg_op(prototype).splitlines()
    lines = [line.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for line in shown]
    if len(lines) == 1:
        return [f'    """{lines[0]}"""']
    return [f'    """{lines[0]}', *(f"    {line}" for line in lines[1:]), '    """']

"""Whether the converter that an author wrote fits the schema and the prototype.

Read are the calls of custom_op and ge_op in the function's text: type, inputs, outputs and
attributes, as far as they are literals. What a converter computes is checked when a graph is made.
"""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING

from opwright.kit.emit.python.errors import ConverterNodeError, ConverterParametersError
from opwright.kit.emit.python.prototypes import ATTRIBUTES
from opwright.kit.emit.python.source import Definition, first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.aclnn.prototype import Prototype
    from opwright.kit.derive.facts import OperatorFacts, SetFacts

__all__ = ["check_converters"]

NODES = {"custom_op", "ge_op"}
META = "meta_outputs"


def check_converters(facts: SetFacts) -> None:
    """Raise if a converter contradicts the schema or the prototype of its operator.

    Raises
    ------
    ConverterParametersError, ConverterNodeError
        OPW-E004, OPW-E005.
    """
    for operator in facts.operators:
        function = operator.operator.converter
        if function is None or operator.role != "declared":
            continue
        name = f"{facts.declaration.namespace}::{operator.name}"
        where = f"{operator.operator.place}, operator {name}, converter {function.__name__}"
        check_parameters(function, operator, where=where)
        if operator.prototype is not None:
            for call in node_calls(function):
                check_node(call, operator.prototype, where=where)


def check_parameters(
    function: Callable[..., object], operator: OperatorFacts, *, where: str
) -> None:
    """Raise unless a converter can be called with the arguments of the schema.

    TorchAir passes those of an operator that writes by their names, others in their order.
    """
    arguments = operator.schema.arguments
    positional = [argument.name for argument in arguments if not argument.keyword_only]
    keywords = {argument.name: argument.name for argument in arguments if argument.keyword_only}
    signature = inspect.signature(function)
    if META in signature.parameters:
        keywords[META] = META
    try:
        bound = signature.bind(*positional, **keywords)
    except TypeError as error:
        raise ConverterParametersError(
            where=where, got=f"{signature}: {error}", allowed=[write_parameters(operator)]
        ) from error
    by_name = bool(operator.schema.mutated)
    swapped = next(
        (n for n, v in bound.arguments.items() if v != n and (by_name or n in positional)), None
    )
    if swapped is not None:
        got = f"{signature}: its {swapped!r} would be the schema's {bound.arguments[swapped]!r}"
        raise ConverterParametersError(where=where, got=got, allowed=[write_parameters(operator)])


def write_parameters(operator: OperatorFacts) -> str:
    """Write the parameters of a converter."""
    parts: list[str] = []
    for argument in operator.schema.arguments:
        if argument.keyword_only and "*" not in parts:
            parts.append("*")
        parts.append(argument.name)
    return f"({', '.join([*parts, f'{META}=None'])})"


def node_calls(function: Callable[..., object]) -> Iterator[ast.Call]:
    """Yield the calls that add nodes."""
    try:
        # The whole file: the lines of a function alone, of a lambda in a dict, are no program.
        lines, _ = inspect.findsource(function)
    except OSError:
        return  # typed in an interpreter
    first = inspect.unwrap(function).__code__.co_firstlineno
    for definition in ast.walk(ast.parse("".join(lines))):
        if not isinstance(definition, Definition) or first_line(definition) != first:
            continue
        for node in ast.walk(definition):
            if isinstance(node, ast.Call) and name_of(node.func) in NODES:
                yield node


def name_of(node: ast.expr) -> str:
    """Return the last part of a dotted name."""
    match node:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
    return ""


def check_node(call: ast.Call, prototype: Prototype, *, where: str) -> None:
    """Raise unless a node fits the prototype of its type."""
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    first = call.args[0] if call.args else given.get("op_type")
    if not isinstance(first, ast.Constant) or first.value != prototype.op_type:
        return  # a node of another type: graphs compare it with CANN's prototype
    place = f"{where}, node {prototype.op_type}"
    if len(call.args) > 1 and not any(isinstance(each, ast.Starred) for each in call.args):
        names = [port.name for port in prototype.inputs]
        names += [attribute.name for attribute in prototype.attributes]
        if len(call.args) - 1 != len(names):
            got = f"{len(call.args) - 1} values"
            raise ConverterNodeError(where=place, got=got, allowed=[", ".join(names)])
    if isinstance(inputs := given.get("inputs"), ast.Dict):
        required = [port.name for port in prototype.inputs if port.presence == "required"]
        allowed = [port.name for port in prototype.inputs]
        check_names("input", keys(inputs), allowed, required, where=place)
    if isinstance(outputs := given.get("outputs"), ast.List | ast.Tuple):
        allowed = [port.name for port in prototype.outputs]
        check_names("output", items(outputs), allowed, allowed, where=place)
    if isinstance(attributes := given.get("attrs"), ast.Dict):
        required = [each.name for each in prototype.attributes if each.required]
        allowed = [each.name for each in prototype.attributes]
        check_names("attribute", keys(attributes), allowed, required, where=place)
        check_kinds(attributes, prototype, where=place)


def keys(node: ast.Dict) -> list[str | None]:
    """Return the keys of a literal; None for those that are computed."""
    return [literal(key) for key in node.keys]


def items(node: ast.List | ast.Tuple) -> list[str | None]:
    """Return the names of outputs; a list of outputs is a pair of name and length."""
    pairs = [each.elts[0] if isinstance(each, ast.Tuple) else each for each in node.elts]
    return [literal(each) for each in pairs]


def literal(node: ast.expr | None) -> str | None:
    """Return a text that stands in the source; None for one that is computed."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def check_names(
    what: str, given: list[str | None], allowed: list[str], required: list[str], *, where: str
) -> None:
    """Raise if a name is not allowed, or one that is required is missing."""
    for name in given:
        if name is not None and name not in allowed:
            raise ConverterNodeError(
                where=where, got=f"{what} {name!r}", allowed=allowed, near=name
            )
    missing = [name for name in required if name not in given]
    if missing and None not in given:
        raise ConverterNodeError(
            where=where, got=f"no {what} {missing[0]!r}, which is required", allowed=allowed
        )


def check_kinds(attributes: ast.Dict, prototype: Prototype, *, where: str) -> None:
    """Raise if an attribute is made of another type than the prototype says."""
    kinds = {each.name: ATTRIBUTES.get(each.type_name, ("",))[0] for each in prototype.attributes}
    known = {kind for kind, _ in ATTRIBUTES.values()}
    for key, value in zip(attributes.keys, attributes.values, strict=True):
        name = literal(key)
        made = name_of(value.func) if isinstance(value, ast.Call) else ""
        if name in kinds and made in known and kinds[name] and made != kinds[name]:
            raise ConverterNodeError(
                where=where, got=f"attr.{made} for attribute {name!r}", allowed=[kinds[name]]
            )

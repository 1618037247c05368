"""`api.py` of the package: a typed function with a docstring for each operator."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from opwright.kit.declare.schema import Base
from opwright.kit.emit.python.annotations import parameters, result_annotation, signature_items
from opwright.kit.emit.python.docs import operator_docstring, replacement
from opwright.kit.emit.python.module import module
from opwright.kit.emit.python.names import overload_expression, public_names, public_operators
from opwright.kit.emit.python.text import bracket, docstring, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opwright.kit.declare.schema import Schema
    from opwright.kit.derive.facts import OperatorFacts, SetFacts
    from opwright.kit.emit.options import EmitOptions

__all__ = ["emit_api", "is_sequence", "signature_exemptions"]

MOST_PARAMETERS = 10


def emit_api(facts: SetFacts, options: EmitOptions) -> str:
    """Return the text of the module."""
    names = public_names(facts)
    operators = public_operators(facts)
    functions = [
        function(operator, names[operator.name], facts.declaration.namespace, options)
        for operator in operators
    ]
    deprecated = any(operator.operator.deprecated for operator in operators)
    schemas = [operator.schema for operator in operators]
    sequence = is_sequence(schemas)
    imports = [
        f"from {options.package}._ops import ops",
        *([f"from {options.package}._runtime import warn_once"] if deprecated else []),
    ]
    checked: list[str] = []
    if sequence:
        checked += ["    from collections.abc import Sequence", ""]
    needs_torch = uses_torch_at_definition(operators)
    if not needs_torch:
        checked += ["    import torch", ""]
    checked = ["if TYPE_CHECKING:", *checked[:-1]] if checked else []
    bound = []
    for operator in operators:
        name = bound_name(names[operator.name], operator.schema)
        bound.append(f"{name} = {overload_expression(operator, 'ops')}")
    exported = bracket("__all__ = [", [literal(name) for name in sorted(names.values())], "]")
    return module(
        f"The operators of ``torch.ops.{facts.declaration.namespace}`` as functions.",
        [exported, "", *bound],
        *functions,
        source=facts.declaration.source.name,
        imports=[
            ["from typing import TYPE_CHECKING"] if checked else [],
            ["import torch"] if needs_torch else [],
            imports,
            checked,
        ],
        comments=exemptions(schemas, names.values()),
    )


def bound_name(name: str, schema: Schema) -> str:
    """Return the name of the overload that a function calls; no argument has it."""
    bound = f"_{name}"
    while schema.argument(bound):
        bound = f"_{bound}"
    return bound


def function(facts: OperatorFacts, name: str, namespace: str, options: EmitOptions) -> list[str]:
    """Return the function that calls an operator."""
    schema = facts.schema
    head = bracket(
        f"def {name}(", parameters(schema.arguments), f") -> {result_annotation(schema)}:"
    )
    opening = f"{'' if not schema.results else 'return '}{bound_name(name, schema)}("
    call = bracket(opening, signature_items(schema), ")", indent="    ")
    warning = []
    if facts.operator.deprecated is not None:
        warning = [f"    warn_once({literal(replacement(facts, options.package))})"]
    doc = docstring(operator_docstring(facts, namespace, options), indent="    ")
    return [head, *doc, *warning, call]


def is_sequence(schemas: Iterable[Schema]) -> bool:
    """Return whether a parameter is a sequence."""
    return any(argument.type.is_list for schema in schemas for argument in schema.arguments)


def uses_torch_at_definition(operators: Iterable[OperatorFacts]) -> bool:
    """Return whether a default is a value of torch."""
    return any(
        default.startswith("torch.")
        for operator in operators
        for item in parameters(operator.schema.arguments)
        if (default := item.partition(" = ")[2])
    )


def exemptions(schemas: Sequence[Schema], names: Iterable[str]) -> list[str]:
    """Return the comment that exempts a file from rules that a schema may break."""
    codes = signature_exemptions(schemas)
    if any(name in dir(builtins) for name in names):
        codes = sorted([*codes, "A001"])
    if not codes:
        return []
    return ["# Signatures are those of the schemas.", f"# ruff: noqa: {', '.join(codes)}"]


def signature_exemptions(schemas: Iterable[Schema], *, stub: bool = False) -> list[str]:
    """Return the rules of ruff that signatures taken from schemas break."""
    codes = set()
    for schema in schemas:
        for argument in schema.arguments:
            if argument.name in dir(builtins):
                codes.add("A002")
            if (
                argument.type.base in {Base.BOOL, Base.SYMBOOL}
                and not argument.keyword_only
                and not argument.type.is_list
                and not stub
            ):
                codes |= {"FBT001"} if argument.default is None else {"FBT001", "FBT002"}
            if argument.name != argument.name.lower():
                codes.add("N803")
            if argument.name in {"l", "O", "I"}:
                codes.add("E741")
        if len(schema.arguments) > MOST_PARAMETERS:
            codes.add("PLR0913")
        if sum(not a.keyword_only for a in schema.arguments) > MOST_PARAMETERS:
            codes.add("PLR0917")
        if stub and schema.name.endswith("_"):
            codes.add("N801")
        if schema.name != schema.name.lower():
            codes.add("N802")
    if stub:
        codes -= {"E741", "PLR0913", "PLR0917"}
    return sorted(codes)

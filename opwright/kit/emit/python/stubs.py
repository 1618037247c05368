"""`_ops.py` with its stub `_ops.pyi`: `torch.ops.<namespace>` with types; `__init__.pyi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.emit.python.annotations import parameters, result_annotation
from opwright.kit.emit.python.api import is_sequence, signature_exemptions
from opwright.kit.emit.python.module import module, stub
from opwright.kit.emit.python.names import class_name, public_names
from opwright.kit.emit.python.package import comment_shadowing
from opwright.kit.emit.python.text import bracket, literal

if TYPE_CHECKING:
    from opwright.kit.derive.facts import OperatorFacts, SetFacts
    from opwright.kit.emit.options import EmitOptions

__all__ = ["emit_init_stub", "emit_ops", "emit_ops_stub"]


def emit_ops(facts: SetFacts, options: EmitOptions) -> str:
    """Return the module that has the operators."""
    return module(
        f"The namespace ``torch.ops.{facts.declaration.namespace}``, loaded.",
        ["ops = load_library()"],
        source=facts.declaration.source.name,
        imports=[[f"from {options.package}._loading import load_library"]],
    )


def emit_ops_stub(facts: SetFacts, options: EmitOptions) -> str:
    """Return the types of the operators: a class for each overload, packet and the namespace."""
    del options
    packets: dict[str, list[OperatorFacts]] = {}
    for operator in facts.operators:
        packets.setdefault(operator.schema.name, []).append(operator)
    schemas = [operator.schema for operator in facts.operators]
    classes: list[list[str]] = []
    for name, overloads in packets.items():
        classes += [overload_class(operator) for operator in overloads]
        classes.append(packet_class(name, overloads))
    classes.append(
        ["class Namespace:", *(f"    {name}: {class_name(name)}" for name in packets)]
        if packets
        else ["class Namespace: ..."]
    )
    codes = signature_exemptions(schemas, stub=True)
    if any(schema.argument("self") for schema in schemas):
        codes = sorted([*codes, "N805"])
    return stub(
        [line for group in classes for line in [*group, ""]] + ["ops: Namespace"],
        source=facts.declaration.source.name,
        imports=[
            ["from collections.abc import Sequence"] if is_sequence(schemas) else [],
            ["import torch"] if schemas else [],
        ],
        comments=[f"# ruff: noqa: {', '.join(codes)}"] if codes else [],
    )


def overload_class(operator: OperatorFacts) -> list[str]:
    """Return the type of an overload."""
    return [f"class {overload_name(operator)}:", call_method(operator)]


def overload_name(operator: OperatorFacts) -> str:
    """Return the name of the type of an overload."""
    overload = class_name(operator.schema.overload or "default")
    return f"{class_name(operator.schema.name)}{overload}Overload"


def call_method(operator: OperatorFacts) -> str:
    """Return the method that calls an overload."""
    schema = operator.schema
    # Many operators of ATen's style have an argument that is called self.
    own = "_operator, /" if schema.argument("self") else "self"
    return bracket(
        "def __call__(",
        [own, *parameters(schema.arguments, stub=True)],
        f") -> {result_annotation(schema)}: ...",
        indent="    ",
    )


def packet_class(name: str, overloads: list[OperatorFacts]) -> list[str]:
    """Return the type of an operator with its overloads.

    One with several has no type for a call without naming the overload: signatures of overloads may
    overlap, which type checkers refuse.
    """
    own = class_name(name)
    lines = [
        f"    {each.schema.overload or 'default'}: {overload_name(each)}" for each in overloads
    ]
    if len(overloads) == 1:
        lines.append(call_method(overloads[0]))
    return [f"class {own}:", *lines]


def emit_init_stub(facts: SetFacts, options: EmitOptions) -> str:
    """Return the types of the package itself."""
    names = sorted(public_names(facts).values())
    package = options.package
    imports = [f"from {package}._ops import ops as ops"]
    imports += [f"from {package}.api import {name} as {name}" for name in names]
    return stub(
        [
            bracket("__all__ = [", [literal(name) for name in sorted([*names, "ops"])], "]"),
            "",
            "__version__: str",
        ],
        source=facts.declaration.source.name,
        imports=[imports],
        comments=comment_shadowing(names),
    )

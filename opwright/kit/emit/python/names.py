"""Names in the emitted package."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.kit.derive.facts import OperatorFacts, SetFacts

__all__ = ["class_name", "function_name", "overload_expression", "public_names", "public_operators"]


def public_operators(facts: SetFacts) -> tuple[OperatorFacts, ...]:
    """Return the operators that users call: those that the author declared."""
    return tuple(operator for operator in facts.operators if operator.role == "declared")


def public_names(facts: SetFacts) -> dict[str, str]:
    """Return the Python function of each public operator, by the operator's full name.

    Each overload is a function: that of the default overload has the operator's name, others have
    the overload's name behind it (`rescale.out` is `rescale_out`). Calling through one name for all
    would resolve the overload at each call.
    """
    operators = public_operators(facts)
    plain = {operator.schema.name for operator in operators if not operator.schema.overload}
    names: dict[str, str] = {operator: operator for operator in plain}
    for operator in operators:
        schema = operator.schema
        if not schema.overload:
            continue
        name = f"{schema.name.rstrip('_')}_{schema.overload}" + (
            "_" if schema.name.endswith("_") and not schema.overload.endswith("_") else ""
        )
        while name in names.values() or keyword.iskeyword(name):
            name += "_"
        names[operator.name] = name
    return {operator.name: names[operator.name] for operator in operators}


def function_name(name: str) -> str:
    """Return an operator's full name as that of a function, or as part of it."""
    return name.replace(".", "_")


def overload_expression(operator: OperatorFacts, ops: str) -> str:
    """Return how an overload is written in Python, for example `ops.rescale.default`."""
    return f"{ops}.{operator.schema.name}.{operator.schema.overload or 'default'}"


def class_name(name: str) -> str:
    """Return the name of a class for an operator, different for each name.

    >>> class_name("rescale_"), class_name("rescale.out"), class_name("rms_norm")
    ('Rescale_', 'RescaleOut', 'RmsNorm')
    """
    words = [word for word in re.split(r"[_.]+", name) if word]
    tail = "_" if name.endswith("_") else ""
    return "".join(word[:1].upper() + word[1:] for word in words) + tail

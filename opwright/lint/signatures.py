"""A Python function against the schema whose arguments it is called with.

The dispatcher, and a graph, leave out what equals its default in the schema: positional arguments
at the end, and keyword-only ones. So a function needs the same names, and defaults with the same
values.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.lint.definitions import Function, Parameter
    from opwright.lint.schema import ForeignArgument, ForeignSchema

__all__ = ["compare_defaults", "compare_names", "match"]

WORDS = {"true": True, "false": False, "inf": float("inf"), "nan": float("nan")}
# Names of schemas that stand for numbers in Python: dtypes, layouts, reductions.
UNREADABLE = object()


def match(
    schema: ForeignSchema, function: Function, ignored: frozenset[str] = frozenset()
) -> tuple[list[tuple[ForeignArgument, Parameter]], list[ForeignArgument], list[Parameter]]:
    """Return pairs as a call makes them, and the arguments and parameters that have no partner."""
    given = [each for each in function.parameters if each.name not in ignored]
    positional = [each for each in given if not each.keyword_only]
    plain = [each for each in schema.arguments if not each.keyword_only]
    pairs = [*zip(plain, positional, strict=False)]
    missing = plain[len(positional) :]
    used = {parameter.name for _, parameter in pairs}
    for argument in schema.arguments:
        if not argument.keyword_only:
            continue
        parameter = next(
            (each for each in given if each.name == argument.name and each.name not in used), None
        )
        if parameter is None:
            missing.append(argument)
        else:
            used.add(parameter.name)
            pairs.append((argument, parameter))
    extra = [each for each in given if each.name not in used]
    return pairs, missing, extra


def compare_names(
    schema: ForeignSchema,
    function: Function,
    ignored: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """Yield what does not fit in the names, the order and the number of parameters."""
    pairs, missing, extra = match(schema, function, ignored)
    names = {each.name for each in schema.arguments}
    if missing and not function.takes_any:
        shown = ", ".join(str(each.name) for each in missing)
        yield f"does not take {shown}"
    needed = [each for each in extra if each.default is None]
    if needed:
        yield f"needs {', '.join(each.name for each in needed)}, which the schema does not have"
    swapped = [
        (argument, parameter)
        for argument, parameter in pairs
        if argument.name != parameter.name and parameter.name in names and not argument.keyword_only
    ]
    if swapped:
        shown = ", ".join(f"{argument.name} as {parameter.name}" for argument, parameter in swapped)
        yield f"gets arguments in another order: {shown}"


def compare_defaults(
    schema: ForeignSchema, function: Function, ignored: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Yield what does not fit in the defaults."""
    pairs, _, _ = match(schema, function, ignored)
    given = [(one, other) for one, other in pairs if one.default is not None]
    missing = [one for one, other in given if other.default is None]
    if missing:
        names = ", ".join(f"{each.name}={each.default}" for each in missing)
        yield f"has no defaults where the schema has {names}"
    wrong = [
        (one, other)
        for one, other in given
        # None stands for the function's own choice, which is what another default is.
        if other.default is not None and one.default != "None" and are_different(one, other.default)
    ]
    if wrong:
        own = ", ".join(f"{other.name}={other.default}" for _, other in wrong)
        theirs = ", ".join(f"{one.name}={one.default}" for one, _ in wrong)
        yield f"has {own}, the schema {theirs}"


def are_different(argument: ForeignArgument, default: str) -> bool:
    """Return whether two defaults certainly have different values."""
    left, right = schema_value(argument), value_of(default)
    if left is UNREADABLE or right is UNREADABLE:
        return False
    if argument.is_list and isinstance(right, tuple) and isinstance(left, int | float):
        return any(each != left for each in right)
    return left != right and not (left != left and right != right)  # noqa: PLR0124 - nan


def schema_value(argument: ForeignArgument) -> object:
    """Return the value of a default in a schema."""
    written = argument.default or ""
    if written in WORDS:
        return WORDS[written]
    if argument.base not in {"int", "SymInt", "float", "bool", "str", "Tensor", "Scalar"}:
        return None if written == "None" else UNREADABLE
    return value_of(written)


def value_of(written: str) -> object:
    """Return the value of a literal; lists as tuples."""
    try:
        value = ast.literal_eval(written.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return UNREADABLE
    return tuple(value) if isinstance(value, list) else value

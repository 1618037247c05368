"""A declaration -> all that is wrong in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.validate import (
    aliasing,
    backward,
    c_types,
    call,
    defaults,
    dtypes,
    metadata,
    names,
    prototype,
    reference,
    relations,
    samples,
    shapes,
)
from opwright.kit.validate.diagnostic import Diagnostic, InvalidDeclarationError
from opwright.kit.validate.errors import ValidationError
from opwright.kit.validate.subject import subjects

if TYPE_CHECKING:
    from collections.abc import Collection

    from opwright.errors import OpwrightError
    from opwright.kit.declare.operator import Declaration
    from opwright.kit.declare.place import Place

__all__ = ["check", "validate"]

THEMES = (
    *(defaults, aliasing, names, shapes, dtypes, call, c_types, prototype),
    *(reference, backward, relations, samples, metadata),
)
OPERATOR_RULES = tuple(rule for theme in THEMES for rule in theme.RULES)
# Of operators that another library calls and prepares for graphs itself.
EXISTING_RULES = tuple(r for t in THEMES if t not in {call, c_types, prototype} for r in t.RULES)
SET_RULES = (*names.SET_RULES, *c_types.SET_RULES, *metadata.SET_RULES)


def validate(
    declaration: Declaration, *, as_errors: Collection[str] = ()
) -> tuple[Diagnostic, ...]:
    """Return all that is wrong in a declaration, in the order of the author's file.

    Parameters
    ----------
    as_errors
        Identifiers of warnings that are errors here.
    """
    found = [
        diagnostic(error, place, as_errors)
        for rule in SET_RULES
        for place, error in rule(declaration)
    ]
    for subject in subjects(declaration):
        found += [
            diagnostic(error, subject.operator.place, as_errors)
            for rule in (EXISTING_RULES if declaration.existing else OPERATOR_RULES)
            for error in rule(subject)
        ]
    return tuple(sorted(found, key=lambda each: each.place))


def diagnostic(error: OpwrightError, place: Place, as_errors: Collection[str]) -> Diagnostic:
    """Give an error its place and severity."""
    is_warning = isinstance(error, ValidationError) and error.severity == "warning"
    severe = not is_warning or error.id in as_errors
    return Diagnostic(place=place, severity="error" if severe else "warning", error=error)


def check(declaration: Declaration, *, as_errors: Collection[str] = ()) -> tuple[Diagnostic, ...]:
    """Raise if a declaration has errors.

    Parameters
    ----------
    as_errors
        Identifiers of warnings that are errors here.

    Returns
    -------
    warnings
        What was found besides.

    Raises
    ------
    InvalidDeclarationError
        OPW-D010: all errors in one, and the warnings.
    """
    found = validate(declaration, as_errors=as_errors)
    errors = [each.error for each in found if each.severity == "error"]
    if errors:
        raise InvalidDeclarationError(
            where=f"{declaration.place}, operator set {declaration.namespace}",
            errors=errors,
            warnings=[each.error for each in found if each.severity == "warning"],
        )
    return found

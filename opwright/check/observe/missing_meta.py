"""Errors that say that an operator has no Meta function."""

from __future__ import annotations

from opwright.check.row_context import NotApplicableError
from opwright.internals.fake_tensors import UnsupportedOperatorException

__all__ = ["NO_META", "is_missing_meta", "must_have_meta"]

NO_META = "the operator has no Meta function: see row meta"
# Dynamo and AOTAutograd may keep nothing of an error but its text.
TEXTS = (
    "does not support running with fake tensors",
    "no fake impl",
    "UnsupportedOperatorException",
)
LONGEST = 20  # errors that led to one


def is_missing_meta(error: BaseException) -> bool:
    """Return whether an error, or one that led to it, says that an operator has no Meta."""
    current: BaseException | None = error
    for _ in range(LONGEST):
        if current is None:
            break
        if is_about_missing_meta(current):
            return True
        current = current.__cause__ or current.__context__
    return False


def is_about_missing_meta(error: BaseException) -> bool:
    """Return whether one error says it."""
    if isinstance(error, UnsupportedOperatorException):
        return True
    text = str(error)
    if isinstance(error, NotImplementedError) and "'Meta' backend" in text:
        return True
    return any(each in text for each in TEXTS)


def must_have_meta(error: BaseException) -> None:
    """Leave it to the row `meta` if an operator has no Meta.

    Raises
    ------
    NotApplicableError
        It has none.
    """
    if is_missing_meta(error):
        raise NotApplicableError(NO_META) from error

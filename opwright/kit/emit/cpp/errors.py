"""Limits of the built tier."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["CppTypeError"]


class CppTypeError(OpwrightError):
    """A type that the C++ of the built tier has no way to pass."""

    id = "OPW-E101"
    title = "a type that generated C++ cannot pass"
    usual_fix = "change the type in the schema or in the call, or use the operator live only"

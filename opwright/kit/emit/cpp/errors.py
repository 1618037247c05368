"""Limits of the built tier."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["CppRuleError", "CppTypeError"]


class CppTypeError(OpwrightError):
    """A type that the C++ of the built tier has no way to pass."""

    id = "OPW-E101"
    title = "a type that generated C++ cannot pass"
    usual_fix = "change the type in the schema or in the call, or use the operator live only"


class CppRuleError(OpwrightError):
    """A shape rule, condition or backward in Python for which the generated C++ has no form."""

    id = "OPW-E102"
    title = "a rule that cannot be written as C++"
    usual_fix = 'write the rule as text, or as C++ with opwright.cpp("...")'

"""Limits of the expression language."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["CppRuleError"]


class CppRuleError(OpwrightError):
    """A shape rule, condition or backward in Python for which the generated C++ has no form."""

    id = "OPW-E102"
    title = "a rule that cannot be written as C++"
    usual_fix = 'write the rule as text, or as C++ with opwright.cpp("...")'

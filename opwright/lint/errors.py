"""Errors that end `opwright lint`."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["LintOutputError", "LintPathError", "UnknownRuleError"]


class LintPathError(OpwrightError):
    """A path that is not there or holds nothing to read."""

    id = "OPW-C060"
    title = "nothing to lint"
    usual_fix = "name a folder with C++, Python or YAML sources, or such a file"


class UnknownRuleError(OpwrightError):
    """A rule that does not exist."""

    id = "OPW-C061"
    title = "unknown rule of opwright lint"
    usual_fix = "use a rule of docs/lint.md; opwright lint --rules lists them"


class LintOutputError(OpwrightError):
    """A report that cannot be written."""

    id = "OPW-C062"
    title = "the report cannot be written"
    usual_fix = "name a file in a folder that exists and may be written"

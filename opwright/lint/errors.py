"""What keeps `opwright lint` from its work."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["LintPathError", "UnknownRuleError"]


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

"""What keeps a declaration's Python from being shipped."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["ForeignFunctionError", "OpwrightUseError", "SourceMissingError"]


class OpwrightUseError(OpwrightError):
    """A function that is shipped and uses opwright, which is not there at run time."""

    id = "OPW-E001"
    title = "a shipped function uses opwright"
    usual_fix = "use torch and plain Python in references, backward and vmap functions"


class ForeignFunctionError(OpwrightError):
    """A function that is not written at the top level of the declaration file."""

    id = "OPW-E002"
    title = "a function that cannot be shipped"
    usual_fix = "define it at the top level of the declaration file"


class SourceMissingError(OpwrightError):
    """A declaration with functions, but without a file."""

    id = "OPW-E003"
    title = "the declaration has no source file"
    usual_fix = "write the declaration to a file; its functions are copied from there"

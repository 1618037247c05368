"""What can be wrong with a project's folder, its configuration and its declaration file."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["ConfigError", "DeclarationFileError", "NoProjectError", "OperatorSetError"]


class NoProjectError(OpwrightError):
    """A folder that is no project."""

    id = "OPW-P001"
    title = "not a project"
    usual_fix = (
        "go to the folder whose pyproject.toml has [tool.opwright], or make one with 'opwright new'"
    )


class ConfigError(OpwrightError):
    """A key of [tool.opwright] that does not exist, or a value that it cannot have."""

    id = "OPW-P002"
    title = "not a valid [tool.opwright]"
    usual_fix = "correct pyproject.toml"


class DeclarationFileError(OpwrightError):
    """A declaration file that is not there or cannot be run."""

    id = "OPW-P003"
    title = "the declaration file cannot be loaded"
    usual_fix = "correct the file; 'python FILE' shows the whole traceback"


class OperatorSetError(OpwrightError):
    """A declaration file without an operator set, or with several."""

    id = "OPW-P004"
    title = "not one operator set"
    usual_fix = 'write ops = opwright.OperatorSet("my_ops") in the file, once'

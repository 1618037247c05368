"""Faults of a project's folder, its configuration and its declaration file."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = [
    "CannotAddError",
    "CannotWriteError",
    "ConfigError",
    "DeclarationFileError",
    "FolderExistsError",
    "NestedProjectError",
    "NoProjectError",
    "OperatorSetError",
    "ProjectNameError",
    "TorchVersionError",
    "UnknownTemplateError",
]


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


class TorchVersionError(OpwrightError):
    """A value of --torch that is not a minor version of torch."""

    id = "OPW-P016"
    title = "not a minor version of torch"
    usual_fix = "give its major and minor number, as in 2.10"


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


class ProjectNameError(OpwrightError):
    """A name that a project's package cannot have."""

    id = "OPW-P010"
    title = "not a name for a project"
    usual_fix = "use a letter, then letters, digits and _, for example my_ops"


class FolderExistsError(OpwrightError):
    """Something is already where a project is to be made."""

    id = "OPW-P011"
    title = "the folder is there already"
    usual_fix = "choose another name, or remove it; nothing is ever overwritten"


class UnknownTemplateError(OpwrightError):
    """A template that does not exist."""

    id = "OPW-P012"
    title = "unknown template"
    usual_fix = "use one of them"


class CannotWriteError(OpwrightError):
    """A file or folder of a project that cannot be written."""

    id = "OPW-P013"
    title = "the project cannot be written"
    usual_fix = "make the folder writable, or free space on its disk; nothing was changed"


class CannotAddError(OpwrightError):
    """An operator that cannot be added to the project's declaration."""

    id = "OPW-P014"
    title = "the operator cannot be added"
    usual_fix = "write the declaration by hand"


class NestedProjectError(OpwrightError):
    """A place for a project that is inside another project."""

    id = "OPW-P015"
    title = "the place is inside another project"
    usual_fix = "go to a folder outside of it; 'opwright add' adds an operator to that project"

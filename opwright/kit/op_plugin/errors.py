"""Faults of op-plugin's files, and of what is made of them."""

from __future__ import annotations

from opwright.errors import DiagnosticsError, OpwrightError

__all__ = [
    "InputsError",
    "KernelError",
    "NoEntryError",
    "OpPluginError",
    "OutOfTreeError",
    "PythonFileError",
    "TreeError",
    "UndefinedFunctionError",
    "UnknownKeyError",
    "UnknownKeysError",
]


class OpPluginError(OpwrightError):
    """The root of what can be wrong with files for op-plugin."""


class InputsError(OpPluginError):
    """Paths that do not make up an extension of op-plugin."""

    id = "OPW-O001"
    title = "not the files of an op-plugin operator"
    usual_fix = "give op_plugin_functions.yaml, kernels (.cpp, .h), and Python files, or a folder"


class UnknownKeyError(OpPluginError):
    """A key that op-plugin's YAML does not have in this place."""

    id = "OPW-O002"
    title = "not a key of op-plugin's YAML"
    usual_fix = "write one of the allowed keys"


class UnknownKeysError(DiagnosticsError):
    """All unknown keys of a file."""

    id = "OPW-O003"
    title = "the YAML has unknown keys"


class OutOfTreeError(OpPluginError):
    """An entry that only a build of torch_npu itself can take."""

    id = "OPW-O004"
    title = "the entry cannot be built outside of op-plugin's tree"
    usual_fix = "leave it out, or bring it into the tree with `opwright op-plugin patch`"


class NoEntryError(OpPluginError):
    """A file of which no entry is for the installed torch."""

    id = "OPW-O005"
    title = "no entry is for the installed torch"
    usual_fix = "write op_api: all_version, or a range that includes this version"


class UndefinedFunctionError(OpPluginError):
    """A function that is declared or called, and that nothing defines."""

    id = "OPW-O006"
    title = "a function is not defined"
    usual_fix = "define it in one of the .cpp files, with exactly this signature"


class PythonFileError(OpPluginError):
    """A Python file that cannot be a module of the package."""

    id = "OPW-O007"
    title = "the Python file cannot be a module of the package"
    usual_fix = "correct the file at this line"


class TreeError(OpPluginError):
    """A folder that is no source tree of op-plugin, or has another operator of this name."""

    id = "OPW-O008"
    title = "the source tree cannot take the operator"
    usual_fix = "name the root of a checkout of op-plugin, or of torch_npu with its submodules"


class KernelError(OpPluginError):
    """The compiler refuses a kernel; `got` has its first error and the lines around it."""

    id = "OPW-O009"
    title = "a kernel cannot be compiled"
    usual_fix = (
        "correct the line: in the kernel, the C++ of gen_opapi, or the formula in derivatives.yaml"
    )

"""Errors of building an operator project."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = [
    "ChipError",
    "HostCodeError",
    "KernelCodeError",
    "KernelSourceError",
    "NewOperatorError",
    "ProjectLayoutError",
]


class ProjectLayoutError(OpwrightError):
    """A folder that is not laid out as an operator project."""

    id = "OPW-A010"
    title = "not an operator project"
    usual_fix = "name the folder that has op_host and op_kernel, as msOpGen makes it"


class HostCodeError(OpwrightError):
    """Code of op_host that does not compile, or whose definitions are wrong."""

    id = "OPW-A011"
    title = "the project's host code cannot be built"
    usual_fix = (
        "correct the source where the compiler points; docs/ascend_c_projects.md lists the headers"
    )


class KernelSourceError(OpwrightError):
    """A kernel that is not where the operator's definition leads."""

    id = "OPW-A012"
    title = "the operator's kernel does not fit its definition"
    usual_fix = (
        "write `__global__ __aicore__ void NAME(inputs, outputs, workspace, tiling)` in op_kernel, "
        "NAME being the operator type in snake case"
    )


class KernelCodeError(OpwrightError):
    """A kernel that the compiler refuses; the text has what it says, with file and line."""

    id = "OPW-A013"
    title = "the operator's kernel cannot be compiled"
    usual_fix = "correct the source where the compiler points; docs/ascend_c_api.md lists the API"


class ChipError(OpwrightError):
    """A project whose operators are for other chips than it is built for."""

    id = "OPW-A014"
    title = "the operator has no configuration for the chip"
    usual_fix = 'call AICore().AddConfig("CHIP") in the definition, or build for another with --soc'


class NewOperatorError(OpwrightError):
    """A source from which no operator project can be made."""

    id = "OPW-A015"
    title = "no operator project can be made from it"
    usual_fix = "give an msOpGen JSON, a REG_OP header, or a declaration with a GE prototype"

"""Errors of compiling, packing and running Ascend C."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["CompilerOptionError", "LaunchSyntaxError"]


class LaunchSyntaxError(OpwrightError):
    """Something between <<< and >>> that is no launch of a kernel."""

    id = "OPW-A001"
    title = "not a launch of a kernel"
    usual_fix = "write kernel<<<blocks, l2, stream>>>(arguments), with every bracket closed"


class CompilerOptionError(OpwrightError):
    """An option of the compiler driver that it does not have on a CPU."""

    id = "OPW-A002"
    title = "an option that the Ascend C compiler does not have here"
    usual_fix = "leave it out, or compile this file with the vendor's compiler"

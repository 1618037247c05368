"""Errors of exporting a profile."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["MsprofOptionError", "RecordingError"]


class MsprofOptionError(OpwrightError):
    """An option of CANN's msprof that the twin's does not have."""

    id = "OPW-T050"
    title = "msprof cannot do that here"
    usual_fix = (
        "profile with torch_npu.profiler.profile; the twin's msprof exports what it recorded"
    )


class RecordingError(OpwrightError):
    """A folder that holds no recording of the twin."""

    id = "OPW-T051"
    title = "not a profile that the twin recorded"
    usual_fix = "name a folder PROF_... of a program that ran on the twin and ended its profile"

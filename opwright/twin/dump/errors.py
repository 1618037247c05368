"""Errors of reading data dumps."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["DumpFileError", "NoDumpError"]


class DumpFileError(OpwrightError):
    """A file that is no data dump, or is damaged."""

    id = "OPW-T052"
    title = "not a data dump"
    usual_fix = "name a file that CANN or the twin wrote, or the folder named as dump_path"


class NoDumpError(OpwrightError):
    """A place without data dumps."""

    id = "OPW-T053"
    title = "there are no data dumps here"
    usual_fix = "name the folder that was the dump_path, after a dumped run was synchronized"

"""Errors of the document of a run of `opwright check`."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["RunDocumentError"]


class RunDocumentError(OpwrightError):
    """A file that is not the document of a run, or that is of another version."""

    id = "OPW-C020"
    title = "not a run of opwright check"
    usual_fix = "name a file that `opwright check --json FILE` of this version wrote"

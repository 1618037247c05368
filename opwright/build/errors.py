"""What can go wrong when emitted files are written."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = ["EditedFilesError", "WriteError"]


class EditedFilesError(OpwrightError):
    """Files of the generated folder that a person edited or made."""

    id = "OPW-B001"
    title = "generated files were edited by hand"
    usual_fix = (
        "move what you wrote into the declaration, or C++ into csrc/ of the project, which "
        "replaces emitted files of the same name; then delete the files named above and run it "
        "again"
    )


class WriteError(OpwrightError):
    """A folder or file that cannot be written."""

    id = "OPW-B002"
    title = "the generated folder cannot be written"
    usual_fix = "make room, or change the permissions of the folder"

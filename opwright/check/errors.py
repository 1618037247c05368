"""Errors that end `opwright check`."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = [
    "ImportFailedError",
    "LibraryError",
    "LoadEndedError",
    "NoOperatorsError",
    "NotRunError",
    "NumberError",
    "OperatorEndedError",
    "OutputError",
    "PartialReleaseError",
    "StartError",
    "TargetError",
    "UnknownColumnError",
    "UnknownOperatorError",
    "UnknownRowOptionError",
]


class TargetError(OpwrightError):
    """A target that is no file, folder, module or namespace."""

    id = "OPW-C001"
    title = "nothing to check by this name"
    usual_fix = (
        "name a declaration (FILE.py or a module), a project's folder, an installed package, or a "
        "namespace with --load FILE.so"
    )


class NoOperatorsError(OpwrightError):
    """A target that was found, but that has no operators."""

    id = "OPW-C002"
    title = "no operators to check"
    usual_fix = "name what declares or registers operators"


class LibraryError(OpwrightError):
    """A file after --load that does not exist, or that the dynamic linker or Python refuses."""

    id = "OPW-C003"
    title = "the library cannot be loaded"
    usual_fix = "name a library or a Python file that registers operators with torch"


class ImportFailedError(OpwrightError):
    """A target that raises when it is loaded."""

    id = "OPW-C004"
    title = "the target raises when it is loaded"
    usual_fix = (
        "correct it; `opwright run -- python -c 'import MODULE'`, of a file "
        "`opwright run -- python FILE`, shows the whole traceback"
    )


class LoadEndedError(OpwrightError):
    """A target that crashes, hangs, or ends the process when it is loaded."""

    id = "OPW-C005"
    title = "the target did not survive being loaded"
    usual_fix = "correct what runs when it is loaded; no operator was checked"


class UnknownOperatorError(OpwrightError):
    """A name after --op that no operator of the target has."""

    id = "OPW-C006"
    title = "unknown operator"
    usual_fix = "name an operator of the target, with or without its namespace"


class UnknownRowOptionError(OpwrightError):
    """A name after --row that no row has."""

    id = "OPW-C007"
    title = "unknown row"
    usual_fix = "name a row; docs/checks has a page for each"


class UnknownColumnError(OpwrightError):
    """A column after --row ROW/COLUMN that the row does not have."""

    id = "OPW-C008"
    title = "the row has no such column"
    usual_fix = "name one of its columns"


class NumberError(OpwrightError):
    """A number of workers, or of seconds, that makes no sense."""

    id = "OPW-C009"
    title = "number out of range"
    usual_fix = "give a number in the allowed range"


class OutputError(OpwrightError):
    """A file or folder that cannot be written."""

    id = "OPW-C010"
    title = "the result cannot be written there"
    usual_fix = "name a file in an existing folder that you may write to"


class StartError(OpwrightError):
    """The process that imports torch and torch_npu did not come up."""

    id = "OPW-C011"
    title = "torch_npu could not be imported on the twin"
    usual_fix = "`opwright doctor` says what is wrong"


class PartialReleaseError(OpwrightError):
    """--release with a part of the check: schemas that were not checked would be kept."""

    id = "OPW-C012"
    title = "a release needs the whole check"
    usual_fix = "release all operators with all rows: give it without --op, --row and --list"


class OperatorEndedError(OpwrightError):
    """An operator that ends the process when it is asked which rows apply to it."""

    id = "OPW-C013"
    title = "an operator ends the process before it is checked"
    usual_fix = "run the row alone, without --list: the result says more; then correct the operator"


class NotRunError(OpwrightError):
    """A run that ended before all cells had an outcome."""

    id = "OPW-C014"
    title = "not all cells were run"
    usual_fix = "run them again with --op and --row; please report it, this is a fault of opwright"

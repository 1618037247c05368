"""Faults of a file that declarations are read from, and limits of one that they are written to."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = [
    "EntryError",
    "HeaderError",
    "MsOpGenError",
    "NotWritableError",
    "SourceError",
    "UnknownSourceError",
    "UnknownTypeError",
    "VersionError",
    "YamlError",
]


class SourceError(OpwrightError):
    """The root of what can be wrong with other sources of declarations."""


class YamlError(SourceError):
    """A text that is not YAML, or has another structure than op-plugin's files."""

    id = "OPW-S001"
    title = "not a YAML file of op-plugin"
    usual_fix = "correct the file at this line"


class EntryError(SourceError):
    """An entry of op-plugin's YAML that contradicts itself or another one."""

    id = "OPW-S002"
    title = "not an operator's entry"
    usual_fix = "correct the entry"


class VersionError(SourceError):
    """A text that does not say which versions of torch an entry is for."""

    id = "OPW-S003"
    title = "not versions of torch"
    usual_fix = "write all_version, a list (v2.1, v2.2) or a range ([v2.1, newest])"


class MsOpGenError(SourceError):
    """A JSON text that msOpGen would not take."""

    id = "OPW-S004"
    title = "not an operator definition of msOpGen"
    usual_fix = "correct the definition"


class UnknownSourceError(SourceError):
    """A file that is of no kind that declarations can be read from."""

    id = "OPW-S005"
    title = "no source of declarations"
    usual_fix = "give op-plugin's YAML, a C++ file with REG_OP or OpDef, or a JSON file for msOpGen"


class NotWritableError(SourceError):
    """A declaration that the wanted text cannot say."""

    id = "OPW-S006"
    title = "the declaration has what this text cannot say"
    usual_fix = "leave the field out, or keep the declaration as Python"


class HeaderError(SourceError):
    """A header without prototypes, or with one that contradicts itself or another."""

    id = "OPW-S008"
    title = "not a header with prototypes"
    usual_fix = "correct the header at this line"


class UnknownTypeError(SourceError):
    """An operator type that nobody declares: no installed package, and not CANN."""

    id = "OPW-S010"
    title = "no such operator type"
    usual_fix = "write a type of CANN or of an installed operator package, as REG_OP names it"

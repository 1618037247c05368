"""Needed functions against the twin's libraries: implemented, refused, or absent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from opwright.coverage.needed import needs
from opwright.errors import OpwrightError
from opwright.twin.symbols import read_library
from opwright.twin.toolkit import LOAD_ORDER, installed_toolkit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.coverage.needed import Need
    from opwright.twin.symbols import SharedLibrary

__all__ = ["Function", "Status", "StatusError", "check_status", "judge", "measure"]

Status = Literal["implemented", "refused", "absent"]
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function that torch_npu needs, and what the twin has for it.

    Parameters
    ----------
    library
        Library of the twin that exports it, or else the one in which CANN has it.
    """

    name: str
    library: str
    how: Literal["linked", "looked up"]
    status: Status


class StatusError(OpwrightError):
    """A word that names no status."""

    id = "OPW-T031"
    title = "unknown coverage status"
    usual_fix = "use one of the allowed words"


def check_status(word: str) -> Status:
    """Return the word if it is a status, else raise StatusError (OPW-T031)."""
    for status in STATUSES:
        if word == status:
            return status
    raise StatusError(where="--list", got=repr(word), allowed=STATUSES)


def measure() -> tuple[Function, ...]:
    """Read the libraries of the installed torch_npu and of the twin, and compare them."""
    folder = installed_toolkit().libraries
    return judge(needs(), [read_library(folder / name) for name in sorted(LOAD_ORDER)])


def judge(needed: Iterable[Need], twin: Iterable[SharedLibrary]) -> tuple[Function, ...]:
    """Give each needed function its status: all symbols must be exported, and none refused."""
    exporters: dict[str, str] = {}
    refused: set[str] = set()
    for library in twin:
        refused |= library.refused
        for symbol in library.exported:
            exporters.setdefault(symbol, library.name.removesuffix(".so"))

    def status(need: Need) -> Status:
        if not all(symbol in exporters for symbol in need.symbols):
            return "absent"
        return "implemented" if refused.isdisjoint(need.symbols) else "refused"

    return tuple(
        Function(
            name=need.name,
            library=exporters.get(need.symbols[0], need.library),
            how=need.how,
            status=status(need),
        )
        for need in needed
    )

"""Findings in a declaration, and the group that is raised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from opwright.errors import DiagnosticsError

if TYPE_CHECKING:
    from opwright.errors import OpwrightError
    from opwright.kit.declare.place import Place

__all__ = ["Diagnostic", "InvalidDeclarationError", "Severity"]

# An error makes an operator wrong or impossible; a warning is about something that an author
# probably did not mean.
Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing that is wrong, at a place of the author's file."""

    place: Place
    severity: Severity
    error: OpwrightError

    @property
    def id(self) -> str:
        """The identifier of the error."""
        return self.error.id

    def __str__(self) -> str:
        return str(self.error) if self.severity == "error" else f"{self.severity} {self.error}"


class InvalidDeclarationError(DiagnosticsError):
    """All faults of a declaration, in the order of the file."""

    id = "OPW-D010"
    title = "the declaration has errors"

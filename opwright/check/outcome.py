"""An outcome: what became of one cell of the matrix, a row and a column for one operator.

It holds the findings of its cell; a `Record` holds the outcomes of a run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.check.finding import Finding

__all__ = ["Outcome", "Status"]

# passed           it ran and nothing was found
# failed           it has findings
# not applicable   the row says nothing of this operator; the reason says why
# blocked          an eager call fails, which another row reports
# crashed, hung, out of memory    the process that ran it did not survive; the reason has the rest
# error            the row itself failed: a fault of opwright
Status: TypeAlias = Literal[
    "passed",
    "failed",
    "not applicable",
    "blocked",
    "crashed",
    "hung",
    "out of memory",
    "error",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A cell.

    Parameters
    ----------
    operator
        Its name with namespace.
    reason
        Why it is not applicable, blocked, or ended as it did.
    seconds
        Wall-clock time.
    calls
        How often the operator was called: a cell that passed has called it, or read what the row
        is about.
    samples
        The samples that were run, as text, at most the first few.
    details
        Texts that a report opens: graphs, timings.
    """

    operator: str
    row: str
    column: str
    status: Status
    reason: str = ""
    seconds: float = 0.0
    calls: int = 0
    samples: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)

"""Whether an order is bad: it fails, or has other results than the order of the launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.twin.explore.compare import find_difference

if TYPE_CHECKING:
    from opwright.twin.explore.compare import Baseline, Difference
    from opwright.twin.explore.outcome import Outcome

__all__ = ["Verdict", "judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """An outcome, and the first result that differs, which is looked for if the run ended well."""

    outcome: Outcome
    difference: Difference | None

    @property
    def is_bad(self) -> bool:
        """Whether the order fails or differs."""
        return self.outcome.status != 0 or self.difference is not None

    @property
    def kind(self) -> tuple[int | None, bool]:
        """Orders of one kind fail in the same way, as far as that can be compared."""
        return self.outcome.status, self.difference is not None

    @property
    def exit_code(self) -> int:
        """The program's own status, or 1."""
        return self.outcome.status or 1


def judge(outcome: Outcome, baseline: Baseline) -> Verdict:
    """Compare an outcome with the baseline."""
    difference = find_difference(baseline, outcome) if outcome.status == 0 else None
    return Verdict(outcome=outcome, difference=difference)

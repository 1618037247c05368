"""Results beside the ledger: what is as expected, what is not, and the share that passes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.conformance.ledger import Expected, lookup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conformance.pool import Result

FAILURES = {"failed", "crashed", "timeout"}


@dataclass(frozen=True)
class Verdict:
    """A result, and what the ledger says of its case."""

    result: Result
    expected: Expected | None

    @property
    def complaint(self) -> str | None:
        """Return what is wrong, or None if the ledger and the result agree."""
        case, outcome = self.result.case, self.result.outcome
        if outcome in FAILURES and self.expected is None:
            return f"{case} {outcome}: {self.result.message}"
        if outcome == "crashed" and self.expected is not None and self.expected.reason == "twin":
            return f"{case} crashed, and the twin may not: {self.result.message}"
        if outcome not in FAILURES and self.expected is not None:
            return f"{case} {outcome}, but the ledger expects it to fail: {self.expected.why}"
        return None


@dataclass(frozen=True)
class Share:
    """How many cases of one kind there are, and what became of them."""

    cases: int
    passed: int
    unsupported: int
    twin: int
    numerics: int

    @property
    def supported(self) -> int:
        """Return how many cases torch_npu itself supports."""
        return self.cases - self.unsupported

    @property
    def percent(self) -> float:
        """Return the share of the supported cases that pass, in percent."""
        return 100.0 * self.passed / self.supported if self.supported else 100.0


def judge(results: Iterable[Result], ledger: list[Expected]) -> list[Verdict]:
    """Put the ledger's word beside each result."""
    return [Verdict(result, lookup(ledger, result.case)) for result in results]


def share_of(verdicts: Iterable[Verdict]) -> Share:
    """Count; cases without a sample count for nothing. What nobody expected is the twin's fault."""
    counts: Counter[str] = Counter()
    for verdict in verdicts:
        if verdict.result.outcome == "nothing":
            continue
        counts["cases"] += 1
        if verdict.result.outcome == "passed":
            counts["passed"] += 1
        else:
            counts[verdict.expected.reason if verdict.expected else "twin"] += 1
    return Share(
        counts["cases"], counts["passed"], counts["torch_npu"], counts["twin"], counts["numerics"]
    )

"""Results beside the ledger: what is as expected, what is not, and the share that passes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.conformance.ledger import Expected, Reason, lookup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conformance.pool import Result

# The outcomes that agree with the ledger's reason; None: the ledger does not know the case.
AGREEING: dict[Reason | None, frozenset[str]] = {
    None: frozenset({"passed"}),
    "torch_npu": frozenset({"failed", "crashed", "timeout"}),
    "twin": frozenset({"failed", "timeout"}),  # the twin may lack something, but not crash
    "numerics": frozenset({"failed"}),
    "no_sample": frozenset({"nothing"}),
}


@dataclass(frozen=True)
class Verdict:
    """A result, and what the ledger says of its case."""

    result: Result
    expected: Expected | None

    @property
    def reason(self) -> Reason | None:
        """Return why the ledger expects the case not to pass."""
        return self.expected.reason if self.expected else None

    @property
    def complaint(self) -> str | None:
        """Return what is wrong, or None if the ledger and the result agree."""
        outcome = self.result.outcome
        if outcome in AGREEING[self.reason]:
            return None
        ledger = f"{self.expected.reason}: {self.expected.why}" if self.expected else "no entry"
        message = f": {self.result.message}" if self.result.message else ""
        return f"{self.result.case} {outcome} (the ledger has {ledger}){message}"


@dataclass(frozen=True)
class Share:
    """How many cases of one kind there are, and what became of them."""

    cases: int
    nothing: int
    passed: int
    unsupported: int
    twin: int
    numerics: int

    @property
    def supported(self) -> int:
        """Return how many of the cases that compare something torch_npu itself supports."""
        return self.cases - self.nothing - self.unsupported

    @property
    def percent(self) -> float | None:
        """Return the share of the supported cases that pass, in percent; None of no case."""
        return 100.0 * self.passed / self.supported if self.supported else None


def judge(results: Iterable[Result], ledger: list[Expected]) -> list[Verdict]:
    """Put the ledger's word beside each result."""
    return [Verdict(result, lookup(ledger, result.case)) for result in results]


def share_of(verdicts: Iterable[Verdict]) -> Share:
    """Count. What nobody expected is the twin's fault."""
    counts = Counter(kind(verdict) for verdict in verdicts)
    return Share(
        cases=counts.total(),
        nothing=counts["nothing"],
        passed=counts["passed"],
        unsupported=counts["torch_npu"],
        twin=counts["twin"],
        numerics=counts["numerics"],
    )


def kind(verdict: Verdict) -> str:
    """Return the column that a case counts in."""
    if verdict.result.outcome in {"passed", "nothing"}:
        return verdict.result.outcome
    return verdict.reason if verdict.reason in {"torch_npu", "numerics"} else "twin"

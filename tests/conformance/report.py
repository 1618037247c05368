"""docs/conformance.md: the numbers, and what does not pass."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tests.conformance.verdict import Share, Verdict, share_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.conformance.ledger import Expected

HEAD = """\
# PyTorch's own operator tests on the twin

Written by `make conformance`; do not edit. Cases are the operators, modules and optimizers of the
databases in the torch wheel, for each dtype and check; the expected result is the CPU's. A case
counts as passed if all its samples agree. Not counted in the share are cases that the CPU gives
nothing to compare with, and those that torch_npu itself does not support, on a real device either.
`tests/conformance/ledger.toml` has the reason of every case that does not pass; a case that passes
against the ledger is an error as well.
"""

COLUMNS = (
    "cases",
    "nothing to compare",
    "torch_npu does not support",
    "supported",
    "passed",
    "twin lacks",
    "numerics",
    "passed of supported",
)


def page(verdicts: list[Verdict], ledger: list[Expected]) -> str:
    """Return the page."""
    return "\n".join(
        [
            HEAD,
            *table("dtype", groups(verdicts, lambda verdict: verdict.result.case.dtype)),
            "",
            *table("check", groups(verdicts, lambda verdict: verdict.result.case.check)),
            "",
            "## What does not pass, or has nothing to compare",
            "",
            *reasons(verdicts, ledger),
            "",
        ]
    )


def groups(verdicts: Iterable[Verdict], key: Callable[[Verdict], str]) -> dict[str, list[Verdict]]:
    """Group verdicts, in the order of their first case."""
    found: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        found[key(verdict)].append(verdict)
    return dict(found)


def table(title: str, grouped: dict[str, list[Verdict]]) -> list[str]:
    """Return a table with a row per group, and one for all."""
    everything = [verdict for verdicts in grouped.values() for verdict in verdicts]
    rows = [(name, share_of(verdicts)) for name, verdicts in grouped.items()]
    return [
        f"| {title} | {' | '.join(COLUMNS)} |",
        f"|---|{'--:|' * len(COLUMNS)}",
        *(row(name, share) for name, share in [*rows, ("all", share_of(everything))]),
    ]


def row(name: str, share: Share) -> str:
    """Return a row."""
    percent = "none" if share.percent is None else f"{share.percent:.1f} %"
    return (
        f"| {name} | {share.cases} | {share.nothing} | {share.unsupported} | {share.supported} | "
        f"{share.passed} | {share.twin} | {share.numerics} | {percent} |"
    )


def reasons(verdicts: list[Verdict], ledger: list[Expected]) -> list[str]:
    """Return a table of the ledger's entries, those with the most cases first."""
    counts = {id(entry): 0 for entry in ledger}
    for verdict in verdicts:
        if verdict.expected is not None:
            counts[id(verdict.expected)] += 1
    ordered = sorted(ledger, key=lambda entry: -counts[id(entry)])
    return [
        "| reason | cases | why |",
        "|---|--:|---|",
        *(f"| {entry.reason} | {counts[id(entry)]} | {entry.why} |" for entry in ordered),
    ]

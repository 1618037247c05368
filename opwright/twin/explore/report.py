"""The words of `opwright run --order=explore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.errors import write_count
from opwright.twin.explore.events import Launch
from opwright.twin.explore.outcome import DEADLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from opwright.twin.explore.judge import Verdict
    from opwright.twin.explore.outcome import Order, Outcome

__all__ = ["describe_baseline", "describe_failure", "name_order", "summarize", "write_repro"]

LAST_LINES = 15  # of standard error, for an order that fails


def name_order(order: Order) -> str:
    """Return an order as the summary calls it."""
    return order.name if order.seed is None else f"order {order.seed}"


def describe_status(outcome: Outcome, limit: float) -> str:
    """Return how a run ended that failed."""
    if outcome.status is None:
        return f"did not end within {limit:.0f} s"
    if outcome.status == DEADLOCK:
        return "deadlock"
    return f"exit status {outcome.status}"


def describe_failure(verdict: Verdict, limit: float) -> list[str]:
    """Return the lines about an order that fails or differs."""
    name = name_order(verdict.outcome.order)
    if verdict.difference is not None:
        where = [f"    {place}" for place in verdict.difference.places]
        return [
            f"{name} differs from the order of the launches: {verdict.difference.what}",
            *where,
        ]
    lines = [f"{name}: {describe_status(verdict.outcome, limit)}"]
    errors = verdict.outcome.errors.splitlines()
    begin = next(
        (at for at, line in enumerate(errors) if line.startswith("opwright: deadlock")),
        max(len(errors) - LAST_LINES, 0),
    )
    return [*lines, *(f"    {line}" for line in errors[begin : begin + 2 * LAST_LINES])]


def describe_baseline(unsteady: int, has_output: bool) -> list[str]:  # noqa: FBT001 - one of two facts
    """Return the lines about results that cannot be compared."""
    lines = []
    if unsteady:
        copies = write_count(unsteady, "copy", "copies")
        lines.append(
            f"{copies} to or from the host differ between two runs of the same order (times, "
            "random numbers without a seed): they are not compared"
        )
    if not has_output:
        lines.append("standard output differs between two runs of one order: it is not compared")
    return lines


def summarize(verdicts: Sequence[Verdict], findings: Iterable[str], limit: float) -> list[str]:
    """Return the last lines: how many orders were run, and which failed or differed."""
    bad = [verdict for verdict in verdicts if verdict.is_bad]
    lines = []
    for finding in findings:
        first, *rest = finding.splitlines()
        lines += [first.removeprefix("opwright: "), *rest]
    count = write_count(len(verdicts), "order")
    if not bad:
        return [*lines, f"{count} run beside that of the launches: all have the same results"]
    failed = [verdict for verdict in bad if verdict.difference is None]
    differing = len(bad) - len(failed)
    lines.append(
        f"{count} run beside that of the launches: "
        f"{len(failed)} failed, {differing} with other results"
    )
    for verdict in bad:
        order = verdict.outcome.order
        how = describe_status(verdict.outcome, limit) if verdict.difference is None else "differs"
        lines.append(f"  {name_order(order)}: {how}; again: {describe_again(order)}")
    return lines


def describe_again(order: Order) -> str:
    """Return how to run an order again."""
    if order.seed is not None:
        return f"--order=explore:{order.seed},1"
    return f"--order=replay:FILE, with these lines in the file: {'; '.join(order.holds)}"


def write_repro(
    verdict: Verdict, holds: Sequence[str] | None, command: Sequence[str], limit: float
) -> str:
    """Return the file that `--order=replay:FILE` reads.

    Parameters
    ----------
    holds
        What is held back; None if the order is only known by its seed.
    """
    head = [
        f"# An order of: {' '.join(command)}",
        *(f"# {line}" for line in describe_failure(verdict, limit)),
        "# Run it: opwright run --order=replay:FILE -- …",
    ]
    if holds is None:
        return "\n".join([*head, f"seed {verdict.outcome.order.seed}"]) + "\n"
    names = names_of(verdict.outcome)
    lines = [
        "# Each task runs when it is launched, but for these. A line is: hold STREAM TASK PART",
        "# until run STREAM TASK PART, until launch STREAM TASK, or until wait NUMBER.",
    ]
    if not holds:
        lines.append("# None is needed: the order of the launches fails too.")
    for hold in holds:
        words = hold.split()
        held = names.get((int(words[1]), int(words[2])), "a task")
        cause = f"wait {words[6]} of the host has begun"
        if words[5] != "wait":
            verb = "has run" if words[5] == "run" else "is launched"
            cause = f"{names.get((int(words[6]), int(words[7])), 'a task')} {verb}"
        lines += [f"# {held} does not run before {cause}:", hold]
    return "\n".join([*head, *lines]) + "\n"


def names_of(outcome: Outcome) -> dict[tuple[int, int], str]:
    """Return what each task is called, with its stream and the innermost line of Python."""
    names = {}
    for process in outcome.processes:
        for event in process.events:
            if isinstance(event, Launch):
                place = f" ({event.places[0]})" if event.places else ""
                stream, task, _ = event.step
                names[stream, task] = f"{event.name} on stream {stream}{place}"
    return names


def read_repro(file: Path) -> tuple[int | None, tuple[str, ...]]:
    """Read a file of `write_repro`: its seed, or its holds."""
    lines = [
        line
        for line in file.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    if len(lines) == 1 and lines[0].startswith("seed "):
        return int(lines[0].removeprefix("seed ")), ()
    return None, tuple(lines)

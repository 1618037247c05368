"""Verdicts as text, and as plain data for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from opwright.errors import clip, first_of, write_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opwright.compare.judge import Difference, Kind, Verdict
    from opwright.compare.record import OperatorCall, Record
    from opwright.compare.script import Script

__all__ = ["as_data", "lines_of", "lines_of_title"]

LONGEST = 300  # characters of an error or a call
MOST_RANDOM = 3  # operators that are named
WIDTH = 16  # of the column of modes
# The meaning of a difference, by kind.
MEANING: Mapping[Kind, str] = {
    "operator": "its inputs agree with eager, its results do not",
    "constant": "the graph has kept a value of Python that has changed since it was captured",
    "input": "it reads a tensor that no operator of the graph computes, and that holds other "
    "numbers than in eager: the program has replaced the tensor, or reads it on the host",
    "order": "eager calls other operators: the graph has kept a choice that the program makes in "
    "Python",
    "prefix": "it agrees as long as all results in the graph are kept, and not where the compiler "
    "may use their memory again",
    "tracing": "eager computes it and the compiled graphs do not: tracing has lost it",
    "result": "the step's results differ, and no operator is found whose own results do",
    "memory": "the results differ only where the graph uses memory again; with the operators' "
    "results kept they agree",
}


def lines_of_title(eager: Record) -> Iterator[str]:
    """Yield the lines about the step."""
    calls = len(eager.calls)
    counts = sorted({len(call.operators) for call in eager.calls})
    numbers = " to ".join(str(each) for each in dict.fromkeys((counts[0], counts[-1])))
    yield f"step {eager.step}: {write_count(calls, 'call')}, of {numbers} operators in eager"


def lines_of(verdict: Verdict, script: Script | None) -> Iterator[str]:
    """Yield the lines about a mode."""
    if verdict.failure is not None:
        failure = verdict.failure
        yield f"  {verdict.mode:{WIDTH}}cannot run call {failure.call} of the step"
        if failure.operator:
            yield write_field("operator", failure.operator)
        if failure.source:
            yield write_field("source", failure.source)
        yield write_field("error", clip(failure.text.replace("\n", " "), LONGEST))
    elif verdict.difference is not None:
        yield from lines_of_difference(verdict, verdict.difference, script)
    else:
        yield (
            f"  {verdict.mode:{WIDTH}}agrees: {verdict.compared} operators in "
            f"{write_count(verdict.calls, 'call')}, largest difference {verdict.largest:.3g}"
        )
    if verdict.drawn and verdict.mode != "captured":
        shown = "; ".join(first_of(verdict.drawn, MOST_RANDOM))
        yield write_field("random", f"{shown}: neither they nor the step's results are compared")


def lines_of_difference(
    verdict: Verdict, difference: Difference, script: Script | None
) -> Iterator[str]:
    """Yield the lines about a mode that differs."""
    place = f", operator {difference.number} of {difference.count}" if difference.number else ""
    yield f"  {verdict.mode:{WIDTH}}differs in call {difference.call}{place}"
    operator = difference.operator
    if operator is not None:
        yield write_field("operator", operator.operator)
        yield write_field("source", operator.source or "none")
        yield from lines_of_call(operator, difference.eager)
    yield write_field("differs", " ".join(filter(None, (difference.name, difference.text))))
    yield write_field("meaning", MEANING[difference.kind])
    if script is not None:
        says = "shows it alone" if script.shows_it else "alone they agree: it takes the whole step"
        yield write_field("script", f"{script.file}: {says}")


def lines_of_call(operator: OperatorCall, eager: OperatorCall | None) -> Iterator[str]:
    """Yield the call of an operator and its inputs."""
    yield write_field("call", clip(operator.text, LONGEST))
    if eager is not None and eager.text != operator.text:
        yield write_field("in eager", clip(eager.text, LONGEST))
    for place, each in enumerate(operator.inputs):
        yield write_field("inputs" if not place else "", f"t[{place}] {each.name} {each}")


def write_field(name: str, text: str) -> str:
    """Return a line below a mode."""
    return f"      {name:10}{text}"


def as_data(
    eager: Record, verdicts: Sequence[Verdict], scripts: Mapping[str, Script]
) -> dict[str, Any]:
    """Return the whole result as plain data."""
    return {
        "step": eager.step,
        "calls": len(eager.calls),
        "operators": [len(call.operators) for call in eager.calls],
        "modes": [
            {
                **asdict(each),
                "agrees": each.agrees,
                "script": asdict(scripts[each.mode]) if each.mode in scripts else None,
            }
            for each in verdicts
        ],
    }

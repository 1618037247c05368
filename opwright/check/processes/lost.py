"""The outcome of a cell whose process did not survive it."""

from __future__ import annotations

import json
import re
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import opwright
from opwright.check.as_json import sample_from_json
from opwright.check.finding import Finding, Kind
from opwright.check.outcome import Outcome
from opwright.check.samples.text import describe

if TYPE_CHECKING:
    from opwright.check.outcome import Status
    from opwright.kit.declare.sample import Sample

__all__ = [
    "Cell",
    "Traces",
    "is_at",
    "judge_lost",
    "last_line",
    "mark",
    "names_in",
    "stack_of",
    "where",
]

# Between operator, row, column and sample in the note.
SEPARATOR = "\0"
FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)
# Frames of Python's library, torch, and opwright itself: the user's are named before them.
INTERNAL = re.compile(
    rf"^<|^{re.escape(str(Path(opwright.__file__).parent))}/|/lib/python3\.\d+/(?!site-packages/)"
    r"|/site-packages/(?:torch|torch_npu|torchgen|functorch|hypothesis)/"
)
# torch_npu's message in each process.
CHATTER = re.compile(r"^\[W\d+ .*NPUCachingAllocator")
THROWN = "  what():"  # libstdc++'s words for an uncaught exception
KINDS: dict[Status, Kind] = {
    "crashed": Kind(
        "crashed",
        "the operator ends the process",
        "correct the kernel: no sample that the declaration allows may end the process",
    ),
    "hung": Kind(
        "hung",
        "the operator does not come back",
        "correct the kernel, or give it more time: --timeout SECONDS",
    ),
    "out of memory": Kind(
        "out-of-memory",
        "the operator takes memory without bound",
        "correct the kernel, or allow it more memory: --memory-limit SIZE",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell to examine.

    Parameters
    ----------
    place
        Where the operator is declared.
    process
        What the process must be; see Row.
    """

    operator: str
    row: str
    column: str
    process: str = "plain"
    place: str = ""


def mark(operator: str, row: str, column: str, sample: str = "") -> str:
    """Return the note of a worker that is at a cell; the sample is JSON."""
    return SEPARATOR.join((operator, row, column, sample))


def is_at(note: str, cell: Cell) -> bool:
    """Return whether a note is about a cell."""
    return note.startswith(mark(cell.operator, cell.row, cell.column))


def names_in(note: str) -> str:
    """Return operator and row of a note, for a message; nothing before the first."""
    operator, _, rest = note.partition(SEPARATOR)
    return f"{operator}, row {rest.partition(SEPARATOR)[0]}" if rest else ""


def sample_of(note: str) -> Sample | None:
    """Return the sample in a note; None before the first."""
    text = note.rpartition(SEPARATOR)[2]
    try:
        return sample_from_json(json.loads(text)) if text else None
    except ValueError:  # it was cut, or is being written
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """The remains of a process.

    Parameters
    ----------
    note
        What it was at.
    stacks
        Of all threads, as faulthandler prints them.
    """

    note: str
    printed: str
    stacks: str


def judge_lost(cell: Cell, status: Status, how: str, traces: Traces, *, seconds: float) -> Outcome:
    """Return the outcome of a cell whose process is gone, or that would have ended it.

    Parameters
    ----------
    how
        How it ended, as a sentence without its full stop.
    """
    sample = sample_of(traces.note)
    with_what = "" if sample is None else f", in {describe(sample)}"
    parts = (how + with_what, where(traces.stacks), last_line(traces.printed))
    reason = "\n".join(filter(None, parts))
    kind = KINDS[status]
    finding = Finding(
        kind=kind,
        expected="results, or an error",
        got="\n".join(filter(None, (how, *parts[1:]))),
        place=cell.place,
        fix=kind.fix,
        sample=sample,
    )
    details = {"stacks": traces.stacks, "output": traces.printed}
    return Outcome(
        operator=cell.operator,
        row=cell.row,
        column=cell.column,
        status=status,
        reason=reason,
        seconds=seconds,
        samples=() if sample is None else (describe(sample),),
        findings=() if sample is None else (finding,),
        details={name: text for name, text in details.items() if text.strip()},
    )


def where(stacks: str) -> str:
    """Return the innermost line of user code in the stacks, of the thread that failed first."""
    threads = sorted(stacks.split("\n\n"), key=lambda each: not each.startswith("Current thread"))
    for found in FRAME.finditer("\n\n".join(threads)):
        if not INTERNAL.search(found["file"]):
            return f"at {found['file']}:{found['line']}, in {found['function']}"
    return ""


def stack_of(error: BaseException) -> str:
    """Return the stack of an exception as faulthandler prints it: the innermost call first."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    lines = [f'  File "{each.filename}", line {each.lineno} in {each.name}' for each in frames]
    return "\n".join(["Current thread (most recent call first):", *lines])


def last_line(printed: str) -> str:
    """Return the last line that was printed, or the exception that ended a C++ program."""
    lines = [line for line in printed.splitlines() if line.strip() and not CHATTER.match(line)]
    thrown = [line for line in lines if line.startswith(THROWN)]
    if thrown:
        return f"uncaught exception: {thrown[-1].removeprefix(THROWN).strip()}"
    return f"it printed last: {lines[-1].strip()}" if lines else ""

"""What became of a cell whose process did not survive it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.check.as_json import sample_from_json
from opwright.check.finding import Finding, Kind
from opwright.check.outcome import Outcome
from opwright.check.samples.text import described

if TYPE_CHECKING:
    from opwright.check.outcome import Status
    from opwright.check.processes.client import WorkerProcess
    from opwright.declare.sample import Sample

__all__ = ["Cell", "is_at", "lost", "mark"]

# Between operator, row, column and sample in the note.
SEPARATOR = "\0"
FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)
INTERNAL = re.compile(r"/(?:opwright|torch|torch_npu|torchair|torchgen|functorch|hypothesis)/|^<")
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
    """Tell whether a note is about a cell."""
    return note.startswith(mark(cell.operator, cell.row, cell.column))


def sample_of(note: str) -> Sample | None:
    """Return the sample in a note; None before the first."""
    text = note.rpartition(SEPARATOR)[2]
    try:
        return sample_from_json(json.loads(text)) if text else None
    except ValueError:  # it was cut, or is being written
        return None


def lost(
    cell: Cell, status: Status, how: str, worker: WorkerProcess, *, stacks: str, seconds: float
) -> Outcome:
    """Return the outcome of a cell whose process is gone.

    Parameters
    ----------
    how
        How it ended, as a sentence without its full stop.
    stacks
        Of all threads, as faulthandler prints them.
    """
    sample = sample_of(worker.note.read())
    printed = worker.printed.take()
    with_what = "" if sample is None else f", in {described(sample)}"
    reason = "\n".join(filter(None, [how + with_what, where(stacks), last_line(printed)]))
    kind = KINDS[status]
    finding = Finding(
        kind=kind,
        expected="results, or an error",
        got=reason,
        place=cell.place,
        fix=kind.fix,
        sample=sample,
        script=("operator(**arguments('npu'))", "torch.npu.synchronize()"),
    )
    return Outcome(
        operator=cell.operator,
        row=cell.row,
        column=cell.column,
        status=status,
        reason=reason,
        seconds=seconds,
        samples=() if sample is None else (described(sample),),
        findings=() if sample is None else (finding,),
        details={
            name: text for name, text in (("stacks", stacks), ("output", printed)) if text.strip()
        },
    )


def where(stacks: str) -> str:
    """Return the innermost line of user code in the stacks, or of any code."""
    frames = list(FRAME.finditer(stacks))
    users = [each for each in frames if not INTERNAL.search(each["file"])]
    found = next(iter(users or frames), None)
    return "" if found is None else f"at {found['file']}:{found['line']}, in {found['function']}"


def last_line(printed: str) -> str:
    """Return the last line that was printed."""
    lines = [line for line in printed.splitlines() if line.strip()]
    return f"it printed last: {lines[-1].strip()}" if lines else ""

"""opwright check and torch's opcheck on the same operators: what each catches, and false alarms.

    python benchmarks/check_corpus.py [FILE...]
    opwright run --order -- python benchmarks/check_corpus.py order

The operators are those of tests/check/corpus: broken on purpose, each with the row that must catch
it, and sound ones beside them. opcheck refuses NPU tensors, so it gets CPU tensors: the arguments
of the operator's first sample, with gradients where it has a backward. It cannot run operators that
have no CPU kernel: they count as not caught, and not as alarms.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch
from rich.console import Console
from rich.table import Table

from opwright.check.examine import examine_operator
from opwright.check.rows import ROWS
from opwright.check.samples import Samples, arguments
from opwright.check.target import subjects_of_module
from opwright.kit.live.arguments import Binder, tensors_in
from opwright.project.config import run_file
from opwright.twin.order import is_checked

if TYPE_CHECKING:
    from opwright.check.subject import Subject

CORPUS = Path(__file__).parents[1] / "tests" / "check" / "corpus"


@dataclass(slots=True)
class Score:
    """Facts about the operators of one file."""

    broken: int = 0
    caught: int = 0
    caught_by_torch: int = 0
    sound: int = 0
    alarms: list[str] = field(default_factory=list)
    alarms_of_torch: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def main() -> None:
    """Score all files, print the table, and the alarms below it."""
    names = sys.argv[1:] or sorted(path.stem for path in CORPUS.glob("*.py"))
    if not is_checked() and "order" in names:
        names.remove("order")
        print("order.py needs opwright run --order")
    scores = {name: score(name) for name in names}
    table = Table("file", "broken", "opwright check", "opcheck", "sound", "alarms", "of opcheck")
    for name, each in scores.items():
        table.add_row(name, *map(str, cells(each)))
    sums = [sum(column) for column in zip(*map(cells, scores.values()), strict=True)]
    table.add_row("all", *map(str, sums), style="bold")
    Console().print(table)
    for each in scores.values():
        for alarm in [*each.alarms, *each.alarms_of_torch]:
            print(alarm)
    seconds = sorted(value for each in scores.values() for value in each.seconds)
    print(
        f"the whole matrix takes {seconds[len(seconds) // 2]:.1f} s for a sound operator (median); "
        f"{seconds[-1]:.1f} s at most"
    )


def cells(each: Score) -> tuple[int, ...]:
    """Return the numbers of a row of the table."""
    alarms = len(each.alarms), len(each.alarms_of_torch)
    return each.broken, each.caught, each.caught_by_torch, each.sound, *alarms


def score(name: str) -> Score:
    """Run both checks on the operators of one file."""
    module = run_file(CORPUS / f"{name}.py")
    result = Score()
    for subject in subjects_of_module(module):
        kind = module.BROKEN.get(subject.operator.name)
        message = opcheck(subject)
        if kind is not None:
            result.broken += 1
            result.caught += kind in faults(subject, kind.partition("/")[0])
            result.caught_by_torch += message is not None
            continue
        result.sound += 1
        start = time.perf_counter()
        rows = [each.name for each in ROWS if each.name not in getattr(module, "NOT_FOR", ())]
        result.alarms += [f"{subject.name}: {text}" for text in faults(subject, *rows)]
        result.seconds.append(time.perf_counter() - start)
        if message is not None:
            result.alarms_of_torch.append(f"{subject.name}: opcheck: {message}")
    return result


def faults(subject: Subject, *rows: str) -> list[str]:
    """Return what opwright check finds, as row/kind, in those of the rows that run here."""
    here = {"plain", "ordered"} if is_checked() else {"plain"}
    chosen = [each for each in ROWS if each.process in here and each.name in rows]
    found = []
    for outcome in examine_operator(subject, chosen):
        found += [f"{outcome.row}/{finding.kind.name}" for finding in outcome.findings]
        if outcome.status in {"error", "blocked"}:
            found.append(f"{outcome.row} {outcome.column}: {outcome.status} {outcome.reason}")
    return found


def opcheck(subject: Subject) -> str | None:
    """Return the first line of what torch's opcheck finds; None if it finds nothing."""
    sample = next(iter(Samples(subject).of((), 0)), None)
    if sample is None or not subject.runs_on_cpu:
        return None
    values = arguments(subject.operator, sample, "cpu")
    if subject.facts is not None and subject.facts.autograd is not None:
        for name in subject.facts.autograd.inputs:
            for each in tensors_in(values[name]):
                each.requires_grad_()
    binder = Binder.of(subject.schema)
    args = tuple(values[name] for name in binder.positional)
    kwargs = {name: values[name] for name in binder.keyword_only}
    torch._dynamo.reset()  # noqa: SLF001 - as PyTorch's own tests do
    try:
        torch.library.opcheck(subject.overload, args, kwargs)
    except Exception as error:  # noqa: BLE001 - it reports by any exception
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return None


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()

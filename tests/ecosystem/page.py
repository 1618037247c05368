"""Writes docs/ecosystem.md: `python -m tests.ecosystem.page PAGE REPORT...`.

Reports are what `pytest --junitxml` wrote of all tests of this folder, and of some again: the last
one that has a test counts.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from xml.etree import ElementTree as ET

from tests.ecosystem import known
from tests.ecosystem.tolerances import GRADIENT_ERROR, HALF_LOSS_ERROR, LOSS_ERROR, RESULT_ERROR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["LIBRARIES", "Outcome", "Row", "page", "rows"]

LIBRARIES = ("transformers", "timm", "diffusers")
Outcome: TypeAlias = Literal["passed", "known", "failed", "skipped"]

HEAD = """\
# Models of other libraries

Written by `make ecosystem`; do not edit. Models of {libraries} on torch {torch} and torch_npu
{torch_npu}, as their libraries define them, with random weights and small sizes
(`tests/ecosystem/models.tsv` names them), do on the twin what they do on the CPU:

* **forward and backward**: every tensor of the result within {result:g} times its largest element,
  and every gradient within {gradient:g} times its own, or a hundredth of the largest gradient's;
* **generation**: `generate` writes the same tokens: greedy, without a cache, and with three beams;
* **training**: the loss of each of six steps within {loss:g} of itself, {half:g} in half precision,
  for eight kinds of loops (optimizers, clipping, schedules, accumulation, averaged weights,
  autocast with and without a scaler);
* **compiled**: npugraph_ex and TorchAir's max-autotune, twice each, against eager. Where the twin
  warns of torch_npu's in-place pass by name ([differences](differences.md)), the result is not
  compared.

A test that `tests/ecosystem/known.tsv` names has to fail; the reason is what was found when it was
entered.
"""


@dataclass(frozen=True)
class Row:
    """A test, as the report has it; the case begins with the library and the task."""

    file: str
    function: str
    case: str
    outcome: Outcome

    @property
    def test(self) -> str:
        """Return its name as in known.tsv."""
        return f"{self.file}.py::{self.function}[{self.case}]"

    @property
    def library(self) -> str:
        """Return the library of its model."""
        return self.case.partition("-")[0]


def rows(report: Path) -> Iterator[Row]:
    """Yield the tests of a report."""
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - pytest's own
        name = re.fullmatch(r"(\w+)\[(.*)\]", case.attrib["name"])
        if name is None:
            message = f"{report} has {case.attrib['name']}, which is no test of a model"
            raise ValueError(message)
        file = case.attrib["classname"].rpartition(".")[2]
        yield Row(file, name[1], name[2], outcome_of(case))


def outcome_of(case: ET.Element) -> Outcome:
    """Return what became of a test."""
    skipped = case.find("skipped")
    if skipped is not None:
        return "known" if skipped.get("type") == "pytest.xfail" else "skipped"
    ended_well = case.find("failure") is None and case.find("error") is None
    return "passed" if ended_well else "failed"


def page(found: Iterable[Row], head: str) -> str:
    """Return the page."""
    counts: defaultdict[tuple[str, str], Counter[Outcome]] = defaultdict(Counter)
    differing: dict[str, str] = {}
    reasons = known.read()
    for row in found:
        counts[row.function, row.library][row.outcome] += 1
        if row.outcome == "known":
            differing[row.test] = reasons[row.test]
    return "\n".join([head, *table(counts), "", *differences(differing)])


def table(counts: dict[tuple[str, str], Counter[Outcome]]) -> list[str]:
    """Return the table of how many tests there are of each outcome."""
    lines = [
        "| test | library | cases | as expected | known to differ | not applicable | fail |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for (function, library), each in sorted(counts.items()):
        name = function.removeprefix("test_").replace("_", " ")
        numbers = [each[outcome] for outcome in ("passed", "known", "skipped", "failed")]
        cells = " | ".join(map(str, [each.total(), *numbers]))
        lines.append(f"| {name} | {library} | {cells} |")
    return lines


def differences(differing: dict[str, str]) -> list[str]:
    """Return the table of what is known to differ."""
    if not differing:
        return []
    rows = [f"| `{test}` | {reason} |" for test, reason in sorted(differing.items())]
    return ["## Known to differ", "", "| test | why |", "|---|---|", *rows, ""]


def head() -> str:
    """Return the beginning, with the versions of this environment."""
    return HEAD.format(
        libraries=", ".join(f"{name} {version(name)}" for name in LIBRARIES),
        torch=version("torch").partition("+")[0],
        torch_npu=version("torch_npu"),
        result=RESULT_ERROR,
        gradient=GRADIENT_ERROR,
        loss=LOSS_ERROR,
        half=HALF_LOSS_ERROR,
    )


if __name__ == "__main__":
    last = {row.test: row for report in sys.argv[2:] for row in rows(Path(report))}
    Path(sys.argv[1]).write_text(page(last.values(), head()), encoding="utf-8")

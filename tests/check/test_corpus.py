"""Operators that are broken on purpose are caught by their row, and sound ones pass.

Each file of `corpus` has operator sets, and BROKEN: operator -> row/kind that must catch it. All
other operators of its sets are sound. In this process: faults that end one have their own tests.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch_npu  # noqa: F401

from opwright.check.examine import examine_operator
from opwright.check.rows import ROWS, row
from opwright.check.target import module_of_file, subjects_of_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from opwright.check.outcome import Outcome
    from opwright.check.subject import Subject

pytestmark = [
    pytest.mark.twin,
    # TorchAir imports parts of torch that are deprecated, when something looks at its module.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path.stem for path in CORPUS.glob("*.py"))


@cache
def subjects(name: str) -> tuple[dict[str, Subject], dict[str, str]]:
    """Return the operators of a file, and which of them are broken."""
    module = module_of_file(CORPUS / f"{name}.py")
    found = {each.operator.name: each for each in subjects_of_module(module)}
    broken: dict[str, str] = module.BROKEN
    assert broken.keys() < found.keys()
    return found, broken


def faults(subject: Subject, *rows: str) -> list[str]:
    """Return what is found wrong with an operator, as row/kind, and rows that did not work.

    What several columns of a row find is told once.
    """
    return list(dict.fromkeys(told(examine_operator(subject, [row(each) for each in rows]))))


def told(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Yield what outcomes tell."""
    for outcome in outcomes:
        for finding in outcome.findings:
            yield f"{outcome.row}/{finding.kind.name}"
        if outcome.status in {"error", "blocked"}:
            yield f"{outcome.row}: {outcome.status}: {outcome.reason}"


@pytest.mark.parametrize("name", FILES)
def test_each_fault_is_caught_by_its_row(name: str) -> None:
    found, broken = subjects(name)
    caught = {each: faults(found[each], broken[each].partition("/")[0]) for each in broken}
    # Several columns of a row may tell one fault in several ways.
    missed = {each: faults for each, faults in caught.items() if broken[each] not in faults}
    assert not missed
    assert not [each for faults in caught.values() for each in faults if ": " in each]


@pytest.mark.parametrize("name", FILES)
def test_sound_operators_pass(name: str) -> None:
    found, broken = subjects(name)
    quick = [each.name for each in ROWS if each.cost == "low"]
    alarms = {
        each: faults(subject, *quick) for each, subject in found.items() if each not in broken
    }
    assert not any(alarms.values()), alarms


@pytest.mark.parametrize("name", [each.name for each in ROWS if each.cost == "high"])
def test_sound_operators_pass_the_row_that_takes_long(name: str) -> None:
    if name not in FILES:
        pytest.skip("the row has no corpus")
    found, broken = subjects(name)
    alarms = {each: faults(subject, name) for each, subject in found.items() if each not in broken}
    assert not any(alarms.values()), alarms

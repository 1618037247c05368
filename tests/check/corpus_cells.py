"""Shared by the tests of the corpus: which operators, which rows, and what is found.

Each file of `corpus` has operator sets, and BROKEN: operator -> row/kind that must catch it. All
other operators of its sets are sound. NOT_FOR has rows that a file's operators are not for. In this
process: faults that end one have their own tests.
The files are in groups, one for each file of tests, which pytest-xdist spreads.
"""

from __future__ import annotations

import os
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch_npu  # noqa: F401

from opwright.check.examine import examine_operator
from opwright.check.rows import ROWS, row
from opwright.check.target import subjects_of_module
from opwright.project.config import run_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

    from opwright.check.outcome import Outcome
    from opwright.check.subject import Subject

__all__ = [
    "CORPUS",
    "FILES",
    "GRAPHS",
    "GROUPS",
    "MARKS",
    "ORDER",
    "PROCESS",
    "SCHEMA",
    "VALUES",
    "alarms",
    "missed",
    "module_of",
    "subjects",
]

MARKS = [
    pytest.mark.twin,
    # TorchAir imports parts of torch that are deprecated, when something looks at its module.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path.stem for path in CORPUS.glob("*.py"))
VALUES = (
    *("autocast", "determinism", "devices", "edges", "gradients"),
    *("layouts", "numerics", "relations", "vmap"),
)
GRAPHS = ("compiled", "export", "functionalization", "graph_breaks", "meta", "symbolic")
SCHEMA = ("aliasing", "converter", "errors", "mutation", "registration", "schema", "serialization")
PROCESS = ("concurrency", "cost", "leaks", "state")
ORDER = ("order",)
GROUPS = (VALUES, GRAPHS, SCHEMA, PROCESS, ORDER)

# One in so many quick rows is run on a sound operator, besides its own; of those that call an
# operator for most of a second, one in more.
SHARE = 6
SHARES = {"concurrency": 24, "leaks": 24}
IS_WHOLE = os.environ.get("OPWRIGHT_CORPUS") == "all"


@cache
def module_of(name: str) -> ModuleType:
    """Return the module of a file."""
    return run_file(CORPUS / f"{name}.py")


@cache
def subjects(name: str) -> tuple[dict[str, Subject], dict[str, str]]:
    """Return the operators of a file, and which of them are broken."""
    module = module_of(name)
    found = {each.operator.name: each for each in subjects_of_module(module)}
    broken: dict[str, str] = module.BROKEN
    assert broken.keys() < found.keys(), "a file has broken operators and sound ones"
    return found, broken


def faults(subject: Subject, *rows: str) -> list[str]:
    """Return what is found wrong with an operator, as row/kind, and rows that did not work.

    What several columns of a row find is reported once.
    """
    return list(dict.fromkeys(fault_texts(examine_operator(subject, [row(each) for each in rows]))))


def fault_texts(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Yield the faults of outcomes."""
    for outcome in outcomes:
        for finding in outcome.findings:
            yield f"{outcome.row}/{finding.kind.name}"
        if outcome.status in {"error", "blocked"}:
            yield f"{outcome.row}: {outcome.status}: {outcome.reason}"


def missed(name: str) -> dict[str, list[str]]:
    """Return what is found in broken operators of which a row misses the fault, or does not work.

    Several columns of a row may report one fault in several ways.
    """
    found, broken = subjects(name)
    rows = {each: fault.partition("/")[0] for each, fault in broken.items()}
    compiling = {each for each in rows.values() if row(each).cost == "high"}
    assert name in GRAPHS or not compiling, "TorchAir needs processes of its own"
    caught = {each: faults(found[each], rows[each]) for each in broken}
    return {
        each: texts
        for each, texts in caught.items()
        if broken[each] not in texts or any(": " in text for text in texts)
    }


def alarms(name: str) -> dict[str, list[str]]:
    """Return what is found in sound operators by the rows that are chosen for them."""
    found, broken = subjects(name)
    return {
        each: texts
        for each, subject in found.items()
        if each not in broken and (texts := faults(subject, *rows_for(name, each)))
    }


def rows_for(name: str, operator: str) -> list[str]:
    """Return the rows to run on a sound operator: that of its file, and some that are quick."""
    not_for: tuple[str, ...] = getattr(module_of(name), "NOT_FOR", ())
    return [
        each.name
        for each in ROWS
        if each.name == name
        or (IS_WHOLE and each.name not in not_for)
        or (each.cost == "low" and is_chosen(operator, each.name))
    ]


def is_chosen(operator: str, name: str) -> bool:
    """Return whether a row is run on a sound operator of another row: always the same ones."""
    return zlib.crc32(f"{operator} {name}".encode()) % SHARES.get(name, SHARE) == 0

"""Examines the operators in this process and prints what each row found, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch_npu  # noqa: F401

from opwright.check.examine import examine_operator
from opwright.check.rows import row
from opwright.check.target import subjects_of_module
from opwright.project.config import run_file
from tests.check.guarded.names import rows_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.outcome import Outcome
    from opwright.check.subject import Subject


def outcomes_of(subject: Subject) -> Iterator[Outcome]:
    """Yield the outcomes of the row that must find a fault, or of those for a sound operator."""
    return examine_operator(subject, map(row, rows_for(subject.operator.name)))


def main() -> None:
    """Print a line for each cell."""
    module = run_file(Path(__file__).with_name("operators.py"))
    for subject in subjects_of_module(module):
        for outcome in outcomes_of(subject):
            shown = {
                "operator": subject.operator.name,
                "row": outcome.row,
                "status": outcome.status,
                "reason": outcome.reason,
                "calls": outcome.calls,
                "seconds": outcome.seconds,
                "details": dict(outcome.details),
                "found": [f"{outcome.row}/{each.kind.name}" for each in outcome.findings],
                "text": [f"expected {each.expected}; got {each.got}" for each in outcome.findings],
            }
            sys.stdout.write(json.dumps(shown) + "\n")


if __name__ == "__main__":
    main()

"""Coverage for people (a table per library) and for programs (JSON)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table

from opwright.coverage.status import STATUSES
from opwright.twin.text import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.coverage.graphs import Difference
    from opwright.coverage.status import Function, Status

__all__ = ["differences_to_json", "to_json", "to_text"]


def to_text(functions: Sequence[Function]) -> str:
    """Return the table: one row per library, one column per status."""
    counts = Counter((function.library, function.status) for function in functions)
    totals = Counter(function.status for function in functions)
    table = Table(title="Functions of CANN that torch_npu links to or looks up", show_footer=True)
    table.add_column("library", footer="all")
    for status in STATUSES:
        table.add_column(status, footer=str(totals[status]), justify="right")
    for library in sorted({function.library for function in functions}):
        table.add_row(library, *(str(counts[library, status]) for status in STATUSES))
    return render(table)


def to_json(functions: Sequence[Function], only: Status | None) -> str:
    """Return the counts and the functions, those of one status if it is given."""
    totals = Counter(function.status for function in functions)
    listed = [asdict(function) for function in functions if only in (None, function.status)]
    return json.dumps(
        {"counts": {status: totals[status] for status in STATUSES}, "functions": listed}, indent=2
    )


def differences_to_json(differences: Sequence[Difference]) -> str:
    """Return the operators that run in eager mode or in graphs only."""
    return json.dumps({"operators": [asdict(each) for each in differences]}, indent=2)

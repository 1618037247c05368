"""Subjects and rows -> outcomes, in this process."""

from __future__ import annotations

import time
import traceback
from typing import TYPE_CHECKING

from opwright.check.observe.probes import SETTINGS, WRITABLE
from opwright.check.observe.process_state import keep_state
from opwright.check.outcome import Outcome
from opwright.check.row_context import EagerCallError, NotApplicableError, RowContext
from opwright.check.samples import Samples, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from opwright.check.outcome import Status
    from opwright.check.row import Row
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample

__all__ = ["examine_cell", "examine_operator"]


def examine_operator(
    subject: Subject, rows: Iterable[Row], *, seed: int = 0, device: str = "npu"
) -> Iterator[Outcome]:
    """Yield the outcome of each cell of an operator."""
    samples = Samples(subject, seed=seed, device=device)
    for row in rows:
        for column in row.columns:
            yield examine_cell(subject, row, column, samples=samples, device=device)


def examine_cell(
    subject: Subject,
    row: Row,
    column: str,
    *,
    samples: Samples,
    device: str = "npu",
    watch: Callable[[Sample], None] | None = None,
) -> Outcome:
    """Examine one cell. Only what ends the process keeps this from returning its outcome.

    Parameters
    ----------
    watch
        Called with each sample before it is used.
    """
    context = RowContext(subject, row, column, samples=samples, device=device, watch=watch)
    start = time.perf_counter()
    status: Status
    reason = row.needs(subject)
    if reason is not None:
        status = "not applicable"
    else:
        status, reason = run(context)
    return Outcome(
        operator=subject.name,
        row=row.name,
        column=column,
        status=status,
        reason=reason,
        seconds=time.perf_counter() - start,
        calls=context.calls,
        samples=tuple(context.ran),
        findings=tuple(context.findings),
        details=context.details,
    )


def run(context: RowContext) -> tuple[Status, str]:
    """Run the row and return what became of it, and why."""
    # Rows that compile load modules that set variables once.
    probes = WRITABLE if context.row.cost == "low" else SETTINGS
    try:
        with keep_state(probes):
            context.row.run(context)
    except NotApplicableError as error:
        return "not applicable", str(error)
    except EagerCallError as error:
        text = f"an eager call with {describe(error.sample)} raises {error}; see row numerics"
        return ("failed" if context.findings else "blocked"), text
    except Exception:  # noqa: BLE001 - user code runs in rows; a row that fails must not hide the others
        return "error", traceback.format_exc()
    return ("failed" if context.findings else "passed"), ""

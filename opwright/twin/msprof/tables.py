"""The CSV files, with the columns of CANN's that can be filled without hardware counters."""

from __future__ import annotations

from collections import defaultdict
from statistics import pvariance
from typing import TYPE_CHECKING

from opwright.twin.msprof.kinds import Operand, is_kernel, name_of, operands, unit_of
from opwright.twin.msprof.timeline import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opwright.twin.msprof.recording import Recording, Task

__all__ = ["Table", "tables"]

Row = list[str]
Table = tuple[tuple[str, ...], list[Row]]

NO_MODEL = "4294967295"
NOTHING = "N/A"
# CANN writes it behind a time, so that spreadsheets take it as text; torch_npu compares such
# texts.
TAB = "\t"

OP_SUMMARY = (
    "Device_id",
    "Model ID",
    "Task ID",
    "Stream ID",
    "Op Name",
    "OP Type",
    "OP State",
    "Task Type",
    "Task Start Time(us)",
    "Task Duration(us)",
    "Task Wait Time(us)",
    "Block Num",
    "Mix Block Num",
    "HF32 Eligible",
    "Input Shapes",
    "Input Data Types",
    "Input Formats",
    "Output Shapes",
    "Output Data Types",
    "Output Formats",
    "Context ID",
)
OP_STATISTIC = (
    "Device_id",
    "OP Type",
    "Core Type",
    "Count",
    "Total Time(us)",
    "Min Time(us)",
    "Avg Time(us)",
    "Max Time(us)",
    "Ratio(%)",
)
API_STATISTIC = (
    "Device_id",
    "Level",
    "API Name",
    "Time(us)",
    "Count",
    "Avg(us)",
    "Min(us)",
    "Max(us)",
    "Variance",
)
TASK_TIME = (
    "Device_id",
    "kernel_name",
    "kernel_type",
    "stream_id",
    "task_id",
    "task_time(us)",
    "task_start(us)",
    "task_stop(us)",
)


def tables(recording: Recording) -> dict[str, Table]:
    """Return name -> header and rows."""
    tasks = sorted(recording.tasks, key=lambda task: task.begin)
    return {
        "op_summary": (OP_SUMMARY, op_summary(tasks)),
        "op_statistic": (OP_STATISTIC, op_statistic(tasks)),
        "api_statistic": (API_STATISTIC, api_statistic(recording)),
        "task_time": (TASK_TIME, task_time(tasks)),
    }


def shapes(found: Iterable[Operand]) -> str:
    """Return the shapes as CANN writes them, in quotes of their own."""
    return '"' + ";".join(operand.shape for operand in found) + '"'


def of_operands(found: Sequence[Operand]) -> Row:
    """Return the three columns of the inputs or of the outputs."""
    if not found:
        return [NOTHING] * 3
    return [
        shapes(found),
        ";".join(operand.dtype for operand in found),
        ";".join("ND" for _ in found),
    ]


def op_summary(tasks: Iterable[Task]) -> list[Row]:
    """Return a row for each operator that ran."""
    rows = []
    last: dict[tuple[int, int], int] = {}
    for index, task in enumerate(tasks):
        if not is_kernel(task):
            continue
        name, kind = name_of(task)
        lane = (task.device, task.stream)
        waited = max(task.begin - last.get(lane, task.begin), 0)
        last[lane] = task.end
        found = operands(task)
        rows.append(
            [
                str(task.device),
                NO_MODEL if task.graph is None else str(task.graph),
                str(task.number or index),
                str(task.stream),
                name,
                kind,
                "static",
                unit_of(task),
                microseconds(task.begin) + TAB,
                microseconds(task.end - task.begin),
                microseconds(waited),
                "1",  # one worker runs it
                "0",
                "NO",
                *of_operands([operand for operand in found if not operand.written]),
                *of_operands([operand for operand in found if operand.written]),
                NOTHING,
            ]
        )
    return rows


def op_statistic(tasks: Iterable[Task]) -> list[Row]:
    """Return a row for each type of operator on each device, the longest first."""
    times: dict[tuple[int, str, str], list[int]] = defaultdict(list)
    for task in tasks:
        if is_kernel(task):
            times[task.device, name_of(task)[1], unit_of(task)].append(task.end - task.begin)
    totals: dict[int, int] = defaultdict(int)
    for (device, _, _), spent in times.items():
        totals[device] += sum(spent)
    return [
        [
            str(device),
            kind,
            unit,
            str(len(spent)),
            *(microseconds(value) for value in (sum(spent), min(spent))),
            *(microseconds(value) for value in (sum(spent) // len(spent), max(spent))),
            f"{100 * sum(spent) / (totals[device] or 1):.3f}",
        ]
        for (device, kind, unit), spent in sorted(times.items(), key=lambda item: -sum(item[1]))
    ]


def api_statistic(recording: Recording) -> list[Row]:
    """Return a row for each function of CANN, the longest first."""
    times: dict[str, list[int]] = defaultdict(list)
    for call in recording.calls:
        times[call.name].append(call.end - call.begin)
    return [
        [
            "host",
            "acl",
            name,
            microseconds(sum(spent)),
            str(len(spent)),
            *(microseconds(value) for value in (sum(spent) // len(spent), min(spent), max(spent))),
            f"{pvariance(spent) / 1e6:.3f}",
        ]
        for name, spent in sorted(times.items(), key=lambda item: -sum(item[1]))
    ]


def task_time(tasks: Iterable[Task]) -> list[Row]:
    """Return a row for every task, also copies and events."""
    return [
        [
            str(task.device),
            name_of(task)[0] if is_kernel(task) else NOTHING,
            unit_of(task),
            str(task.stream),
            str(task.number or index),
            microseconds(task.end - task.begin),
            microseconds(task.begin) + TAB,
            microseconds(task.end) + TAB,
        ]
        for index, task in enumerate(tasks)
    ]

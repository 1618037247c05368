"""CANN's `msprof` for the twin: a recording becomes the files that torch_npu's analysis reads.

It runs as a command of its own, on the standard library alone.

recording   what native/runtime/profiling wrote, on the clock of the results
kinds       which unit of the chip a task would have used, its operands
timeline    msprof_*.json: host calls, tasks by stream, what overlaps
tables      op_summary, op_statistic, api_statistic, task_time
export      a folder of results
command     the command line; errors
"""

from __future__ import annotations

from opwright.twin.msprof.export import export

__all__ = ["export"]


def __dir__() -> list[str]:
    return __all__

"""Summarises a Chrome trace of the twin: which functions were called, how often, for how long.

Usage: ``python demo/calls.py trace.json``
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

RUNTIME_ROWS = 12  # the runtime calls that are made most often; the rest is summed up


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """All calls of one function, or all tasks of one operator; times in microseconds."""

    name: str
    category: str
    calls: int
    total: float


def read(trace: Path) -> list[Function]:
    """Group the complete ("X") events of a trace by category and name."""
    durations: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in json.loads(trace.read_text(encoding="utf-8")):
        if event["ph"] == "X":
            durations[event["cat"], event["name"]].append(event["dur"])
    functions = [
        Function(name=name, category=category, calls=len(times), total=sum(times))
        for (category, name), times in durations.items()
    ]
    return sorted(functions, key=lambda function: (-function.calls, function.name))


def print_rows(title: str, functions: list[Function]) -> None:
    """Print one block of the table."""
    print(f"  {title:52}{'calls':>7}{'total us':>12}{'us/call':>10}")
    for function in functions:
        mean = function.total / function.calls
        print(f"    {function.name:50}{function.calls:7}{function.total:12.1f}{mean:10.2f}")


def main(arguments: list[str]) -> int:
    """Print the summary of the trace named on the command line."""
    functions = read(Path(arguments[0]))
    calls = [function for function in functions if function.category == "call"]
    operators = [function for function in calls if function.name.startswith("aclnn")]
    custom = [function for function in operators if function.name.startswith("aclnnAddCustom")]
    runtime = [function for function in calls if function not in operators]
    print_rows("the operator of this wheel", custom)
    print_rows("torch_npu's own operators", [f for f in operators if f not in custom])
    print_rows("runtime (the most frequent)", runtime[:RUNTIME_ROWS])
    rest = runtime[RUNTIME_ROWS:]
    print(f"    and {sum(f.calls for f in rest)} calls of {len(rest)} other runtime functions")
    print_rows("tasks on the streams", [f for f in functions if f.category != "call"])
    return 0 if custom else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

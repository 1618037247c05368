"""Coverage: which functions of CANN the twin implements, refuses or lacks.

It is read from the libraries themselves, torch_npu's and the twin's, and from TorchAir's sources.

needed      what torch_npu's libraries link to and look up by name
status      needed functions against the twin's libraries -> status
converters  what TorchAir's converters convert, and the GE types that they make
graphs      operators that run in eager mode and not in graphs, or the reverse
report      table and JSON
"""

from __future__ import annotations

from opwright.coverage.graphs import Difference, measure_graphs
from opwright.coverage.report import differences_to_json, to_json, to_text
from opwright.coverage.status import Function, Status, check_status, measure

__all__ = [
    "Difference",
    "Function",
    "Status",
    "check_status",
    "differences_to_json",
    "measure",
    "measure_graphs",
    "to_json",
    "to_text",
]


def __dir__() -> list[str]:
    return __all__

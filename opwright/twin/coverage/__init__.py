"""Coverage: which functions of CANN the twin implements, refuses or lacks.

It is read from the libraries themselves, torch_npu's and the twin's.

symbols   the few facts about a shared library that are needed here
needed    what torch_npu's libraries link to and look up by name
ledger    needed functions against the twin's libraries -> status
report    table and JSON
"""

from __future__ import annotations

from opwright.twin.coverage.ledger import Function, Status, check_status, measure
from opwright.twin.coverage.report import to_json, to_text

__all__ = ["Function", "Status", "check_status", "measure", "to_json", "to_text"]


def __dir__() -> list[str]:
    return __all__

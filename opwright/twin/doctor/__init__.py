"""Doctor: what is installed, what will run torch_npu, what is wrong and how to mend it.

evidence   gather what is there (the only part that looks at the machine)
diagnosis  facts -> findings (pure)
report     text and JSON
"""

from __future__ import annotations

from opwright.twin.doctor.diagnosis import Finding, diagnose
from opwright.twin.doctor.evidence import Facts, gather
from opwright.twin.doctor.report import to_json, to_text

__all__ = ["Facts", "Finding", "diagnose", "gather", "to_json", "to_text"]


def __dir__() -> list[str]:
    return __all__

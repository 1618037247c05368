"""Consequences of a declaration, computed once, read by every deliverable. Torch-free, pure.

derive       a valid declaration -> `SetFacts`
facts        the records
values       the facts that several derivations need
outputs, call, prototype, backward, functional   one derivation each
unspecified  the outputs whose values a call leaves open
plan         facts -> what the native dispatcher runs
"""

from __future__ import annotations

from opwright.kit.derive.derive import derive
from opwright.kit.derive.facts import OperatorFacts, SetFacts

__all__ = ["OperatorFacts", "SetFacts", "derive"]


def __dir__() -> list[str]:
    return __all__

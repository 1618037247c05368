"""A few cases, chosen by a text: the same text gives the same cases on every machine."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conformance.case import Case


def choose(cases: Iterable[Case], text: str, share: float) -> list[Case]:
    """Return about `share` of the cases, chosen by a hash of the text and the case's name."""
    limit = int(share * 2**32)
    return [case for case in cases if position(f"{text} {case}") < limit]


def position(text: str) -> int:
    """Return a number below 2**32 for a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

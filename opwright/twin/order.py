"""Accesses of the same memory by streams of this process that nothing orders.

It is looked for in a process that was started with OPWRIGHT_ORDER=1: `opwright run --order`
(docs/order.md).
"""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["Access", "Finding", "take_findings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One operand of a task, or of a synchronous copy.

    Parameters
    ----------
    function
        The aclnn function, or the call of the runtime.
    device, stream
        Where it was launched, as aclrtStreamGetId numbers streams; None for the host.
    operand
        Its parameter.
    address, size
        Of the first byte; how many bytes it touches.
    lines
        Lines of Python that launched it, innermost first: "train.py:10 in step". Empty on threads
        that do not run Python.
    """

    function: str
    device: int | None
    stream: int | None
    operand: str
    address: int
    size: int
    reads: bool
    writes: bool
    lines: tuple[str, ...]

    def __str__(self) -> str:
        place = (
            "the host" if self.stream is None else f"stream {self.stream} of device {self.device}"
        )
        words = {"reads": self.reads, "writes": self.writes}
        verb = " and ".join(word for word, does in words.items() if does)
        where = "".join(f"\n      {line}" for line in self.lines)
        return f"{self.function} on {place} {verb} {self.operand}, {self.size} bytes{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Two accesses of the same bytes, in the order of their launches; at least one writes.

    The stream of the later one does not wait for that of the earlier one, so either may come first.
    """

    earlier: Access
    later: Access

    def __str__(self) -> str:
        names = f"{self.earlier.function} and {self.later.function}"
        return (
            f"nothing orders {names}, which use the same memory\n  {self.earlier}\n  {self.later}"
        )


@cache
def library() -> ctypes.CDLL:
    """Return libascendcl, which torch_npu has loaded."""
    found = ctypes.CDLL("libascendcl.so")
    found.opwright_order_take.restype = ctypes.c_char_p
    return found


def take_findings() -> list[Finding]:
    """Take what was found since the last time, oldest first.

    Each pair of places in the program is found once, and written to standard error then.
    """
    text: bytes = library().opwright_order_take()
    return [
        Finding(earlier=access_of(each["earlier"]), later=access_of(each["later"]))
        for each in json.loads(text)
    ]


def access_of(plain: dict[str, Any]) -> Access:
    """Return an access of the C interface."""
    on_host = plain["stream"] < 0
    return Access(
        function=plain["function"],
        device=None if on_host else plain["device"],
        stream=None if on_host else plain["stream"],
        operand=plain["operand"],
        address=plain["address"],
        size=plain["size"],
        reads=plain["reads"],
        writes=plain["writes"],
        lines=tuple(plain["lines"].splitlines()),
    )

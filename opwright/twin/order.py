"""Accesses of the same memory by streams of this process that nothing orders.

It is looked for in a process that was started with OPWRIGHT_ORDER=1: `opwright run --order`
(docs/order.md).
"""

from __future__ import annotations

import ctypes
import json
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from opwright.internals import npu_memory
from opwright.twin.toolkit import default_toolkit

__all__ = ["Access", "Finding", "is_checked", "take_findings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One operand of a task, or of a synchronous copy.

    Parameters
    ----------
    function
        The aclnn function, or the call of the runtime; "a load" or "a store" of the host's own
        code.
    device, stream
        Where it was launched, as aclrtStreamGetId numbers streams; None for the host.
    operand
        Its parameter.
    address, size
        Of the first byte; how many bytes it touches, 0 if that is not known.
    lines
        Lines of Python that launched it, innermost first: "train.py:10 in step"; for a task of a
        captured graph those of its capture, then those of the replay ("replayed by …"); on a thread
        of autograd those that called backward ("in the backward of …"). Empty on other threads that
        do not run Python.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Two accesses of the same bytes, in the order of their launches; at least one writes.

    The stream of the later one does not wait for that of the earlier one, so either may come first.

    Parameters
    ----------
    text
        As it was written to standard error: both accesses, and how to mend it.
    earlier
        Its function is "free" where a captured graph uses the memory of a tensor that is gone.
    """

    text: str
    earlier: Access
    later: Access

    def __str__(self) -> str:
        return self.text


@cache
def library() -> ctypes.CDLL:
    """Return libascendcl, which torch_npu has loaded."""
    found = ctypes.CDLL("libascendcl.so")
    found.opwright_order_take.restype = ctypes.c_char_p
    return found


def is_checked() -> bool:
    """Return whether this process compares what its streams do.

    It does if it was started with OPWRIGHT_ORDER=1.
    """
    return bool(library().opwright_order_enabled())


def take_findings() -> list[Finding]:
    """Take what was found since the last time, oldest first.

    Until they are taken, each pair of places in the program is found once, and written to standard
    error then.
    """
    text: bytes = library().opwright_order_take()
    return [
        Finding(
            text=each["text"],
            earlier=access_of(each["earlier"]),
            later=access_of(each["later"]),
        )
        for each in json.loads(text)
    ]


def follow_tensors(_: str) -> None:
    """Report to the runtime whose memory torch_npu gives to which tensor, from now on.

    Called by libascendcl when ACL is initialized; programs without torch_npu have no such memory.
    """
    if "torch_npu" not in sys.modules:
        return
    npu_memory.follow(default_toolkit().libraries / "libopwright_npu_memory.so", library())


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

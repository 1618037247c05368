"""One trace at a time: what torch.fx patches and notes while it traces is the whole process's.

`torch.compile` holds a lock while it traces. A graph meets new shapes when it runs, outside of that
lock, while another thread compiles a model or calls one: without the lock each of them would find
the other's patches, and a call of a compiled function would think that it is being traced.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opwright.internals import modules
from opwright.internals.compiler import compile_session_context

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["hold_trace_lock"]

own = threading.RLock()


@contextmanager
def hold_trace_lock() -> Iterator[None]:
    """Keep other threads from tracing; calls of compiled functions go on meanwhile."""
    # A process that has not imported it traces nothing else.
    dynamo = sys.modules.get(modules.CONVERT_FRAME)
    lock = own if dynamo is None else dynamo.compile_lock
    with lock, compile_session_context():  # as torch.compile does
        yield

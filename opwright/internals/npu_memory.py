"""torch_npu's reports of what its caching allocator does (native/npu_memory)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["follow"]


def follow(file: Path, runtime: ctypes.CDLL) -> None:
    """Report to the runtime which tensor has which memory, until the process ends.

    An allocator of the program's own (NPUPluggableAllocator) reports nothing.

    Parameters
    ----------
    file
        libopwright_npu_memory.so.
    runtime
        libascendcl, whose `opwright_order_begin_tensor` and `opwright_order_end_tensor` are called
        when memory is given to a tensor and when the tensor gives it back; where that happens is
        looked up if `opwright_order_asks_for_ends` says so.
    """
    from torch_npu.npu import _lazy_call  # noqa: PLC0415 - only where it is there already

    attach = ctypes.CDLL(str(file)).opwright_follow_npu_memory
    attach.argtypes, attach.restype = (ctypes.c_void_p,) * 3, ctypes.c_bool
    reports = (
        runtime.opwright_order_begin_tensor,
        runtime.opwright_order_end_tensor,
        runtime.opwright_order_asks_for_ends,
    )
    addresses = [ctypes.cast(each, ctypes.c_void_p) for each in reports]
    # The allocators of the devices are there when torch_npu is initialized.
    _lazy_call(lambda: attach(*addresses))

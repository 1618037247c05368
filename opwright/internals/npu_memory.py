"""torch_npu's reports of what its caching allocator does (native/npu_memory)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["follow"]


def follow(file: Path, begun: ctypes._CFuncPtr, ended: ctypes._CFuncPtr) -> None:
    """Have C functions called with the address of each tensor's memory, until the process ends.

    An allocator of the program's own (NPUPluggableAllocator) reports nothing.

    Parameters
    ----------
    file
        libopwright_npu_memory.so.
    begun, ended
        Called when memory is given to a tensor, and when the tensor gives it back, under the
        allocator's mutex; as native/npu_memory declares them.
    """
    from torch_npu.npu import _lazy_call  # noqa: PLC0415 - only where it is there already

    library = ctypes.CDLL(str(file))
    library.opwright_follow_npu_memory.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    library.opwright_follow_npu_memory.restype = ctypes.c_bool
    reports = (ctypes.cast(each, ctypes.c_void_p) for each in (begun, ended))
    # The allocators of the devices are there when torch_npu is initialized.
    _lazy_call(lambda: library.opwright_follow_npu_memory(*reports))

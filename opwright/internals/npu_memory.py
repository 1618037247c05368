"""torch_npu's reports of what its caching allocator does, which its own sanitizer is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["follow"]

OF_STREAMS = 0  # the reports about streams, events and memory; the others are about kernels


def follow(begun: Callable[[int], object], ended: Callable[[int], object]) -> None:
    """Call functions with the address of each tensor's memory, until the process ends.

    torch_npu cannot take a callback back.

    Parameters
    ----------
    begun, ended
        Called when memory is given to a tensor, and when the tensor gives it back.
    """
    from torch_npu._C import _activate_npu_trace  # noqa: PLC0415 - only where it is there already
    from torch_npu.utils import _npu_trace  # noqa: PLC0415 - only where it is there already

    _npu_trace.register_callback_for_npu_memory_allocation(begun, "opwright")
    _npu_trace.register_callback_for_npu_memory_deallocation(ended, "opwright")
    _activate_npu_trace(OF_STREAMS)

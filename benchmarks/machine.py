"""The capabilities of the machine, and how much memory a call takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch_npu
from process_memory import begin_peak, peak, resident

if TYPE_CHECKING:
    from collections.abc import Callable

MI = 1 << 20
RESIDENT = 512  # the side of a product whose operands stay in the second-level cache


def resident_product() -> Callable[[], object]:
    """Return a bfloat16 matmul that nothing but the arithmetic limits."""
    x, y = (torch.randn(RESIDENT, RESIDENT).bfloat16() for _ in range(2))
    out = torch.empty_like(x)
    return lambda: torch.mm(x, y, out=out)


def extra_memory(call: Callable[[], object]) -> int:
    """Return how many bytes the first call of the process takes beside its operands."""
    torch_npu.npu.synchronize()
    begin_peak()
    before = resident()
    call()
    torch_npu.npu.synchronize()
    return peak() - before

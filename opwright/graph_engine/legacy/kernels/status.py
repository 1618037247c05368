"""The overflow register of old chips, which loss scaling reads.

An operator that answers an infinity or NaN sets it. It is looked after from the first time that a
program asks for it or clears it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.legacy.kernels.table import legacy_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["note"]

WORDS = 8


class Register:
    """The register."""

    watched = False
    is_set = False


def note(results: Iterable[torch.Tensor]) -> None:
    """Set the register if a result is not finite."""
    if Register.watched and not Register.is_set:
        floating = (each for each in results if each.is_floating_point())
        Register.is_set = any(not bool(torch.isfinite(each).all()) for each in floating)


@legacy_kernel(
    "NPUAllocFloatStatus", source="graphengine:third_party/fwkacllib/inc/ops/npu_loss_scale_ops.h"
)
def alloc_float_status() -> torch.Tensor:
    """Answer memory for the register's value."""
    return torch.zeros(WORDS)


@legacy_kernel(
    "NPUClearFloatStatus", source="graphengine:third_party/fwkacllib/inc/ops/npu_loss_scale_ops.h"
)
def clear_float_status(addr: torch.Tensor) -> torch.Tensor:
    """Reset the register."""
    Register.watched, Register.is_set = True, False
    return addr.zero_()


@legacy_kernel(
    "NPUGetFloatStatus", source="graphengine:third_party/fwkacllib/inc/ops/npu_loss_scale_ops.h"
)
def get_float_status(addr: torch.Tensor) -> torch.Tensor:
    """Write the register's value to where torch_npu reads it."""
    Register.watched = True
    return addr.fill_(float(Register.is_set))

"""The Python API of the operator ``myops::my_op``."""

from __future__ import annotations

import torch


def add_custom(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return ``self + other``, computed by the device operator AddCustom.

    It calls ``torch.ops.myops.my_op``, which ``torch.compile`` can trace;
    ``custom_ops_lib.add_custom`` is the same call without tracing.

    Parameters
    ----------
    self
        Any shape and strides; a dtype that the operator AddCustom supports.
    other
        Same shape, dtype and device as ``self``; there is no broadcasting.

    Returns
    -------
    torch.Tensor
        A new contiguous tensor of the shape and dtype of ``self``.

    Raises
    ------
    RuntimeError
        The shapes, dtypes or devices differ.
    NotImplementedError
        The tensors are on a device without an implementation, such as the CPU.
    """
    return torch.ops.myops.my_op(self, other)

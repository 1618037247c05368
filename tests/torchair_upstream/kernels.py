"""The kernels of the operators of TorchAir's system tests: `x += y`, or a copy.

The tests say only which of their operands they write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright import twin

if TYPE_CHECKING:
    import torch


@twin.kernel("aclnnMyInplaceAutoNoOutput(aclTensor *xRef, const aclTensor *y)")
def no_output(x: torch.Tensor, y: torch.Tensor) -> None:
    """Write an input."""
    x.add_(y)


@twin.kernel("aclnnMyInplaceAutoKwargsInt(aclTensor *xRef, const aclTensor *y, int64_t alpha)")
def with_number(x: torch.Tensor, y: torch.Tensor, alpha: int) -> None:
    """Write an input; the attribute is a number."""
    x.add_(y, alpha=alpha)


@twin.kernel("aclnnMyInplaceAutoKwargsStr(aclTensor *xRef, const aclTensor *y, const char *alpha)")
def with_text(x: torch.Tensor, y: torch.Tensor, alpha: str) -> None:
    """Write an input; the attribute is a text."""
    assert alpha
    x.add_(y)


@twin.kernel(
    "aclnnMyInplaceAutoOptionInput(aclTensor *xRef, const aclTensor *y, "
    "const aclTensor *zOptional, const char *alpha)"
)
def with_optional(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor | None, alpha: str) -> None:
    """Write an input; another one may be missing."""
    assert alpha
    x.add_(y if z is None else y + z)


@twin.kernel("aclnnMyInplaceAuto1(aclTensor *xRef, const aclTensor *y, aclTensor *z)")
def first_of_two(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> None:
    """Write an input and an output."""
    x.add_(y)
    z.copy_(y)


@twin.kernel("aclnnMyInplaceAuto2(aclTensor *xRef, const aclTensor *y, aclTensor *z)")
def second_of_two(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> None:
    """Write an input that is a view, and an output."""
    x.add_(y)
    z.copy_(y)


@twin.kernel(
    "aclnnMyOpTest(const aclTensor *var, const aclTensor *indices, "
    "const aclTensor *updates, aclTensor *y)"
)
def scatter(
    var: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, y: torch.Tensor
) -> None:
    """Copy the first input."""
    del indices, updates
    y.copy_(var)


@twin.kernel("aclnnCustom(const aclTensor *x, aclTensor *y)")
def copy(x: torch.Tensor, y: torch.Tensor) -> None:
    """Copy the input."""
    y.copy_(x)

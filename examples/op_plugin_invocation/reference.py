"""The computation of the device operator AddCustom: the twin runs this in its place."""

import torch

from opwright import twin


@twin.kernel("aclnnAddCustom(const aclTensor *x, const aclTensor *y, aclTensor *z)")
def add_custom(x, y, z):
    torch.add(x, y, out=z)

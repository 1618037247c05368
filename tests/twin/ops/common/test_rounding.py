"""Half precision is rounded once, as the device does: native/opapi/ops/common/precision.h."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from tests.twin.ops.compare import run_on_npu
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Callable

LINE, VOLUME = ((2, 3, 9), (2, 3, 5, 6, 7))
IMAGE, GRID = ((2, 3, 9, 10), (2, 5, 6, 2))
ROWS = ((4801, 7),)
LABELS = torch.arange(4801) % 7
ROUNDED: dict[str, tuple[Callable[..., torch.Tensor], tuple[tuple[int, ...], ...]]] = {
    "pow": (lambda x: torch.pow(x, 2.3), ((7, 9),)),
    "pow_tensor": (torch.pow, ((7, 9), (7, 9))),
    "prod": (torch.prod, ((7,),)),
    "prod_dim": (lambda x: torch.prod(x, -1), ((7, 9),)),
    "cross": (torch.linalg.cross, ((7, 3), (7, 3))),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 1.0), ((7, 9),)),
    "bicubic": (partial(functional.interpolate, size=(13, 7), mode="bicubic"), (IMAGE,)),
    "bilinear": (partial(functional.interpolate, size=(13, 7), mode="bilinear"), (IMAGE,)),
    "linear": (partial(functional.interpolate, size=13, mode="linear"), (LINE,)),
    "linear_backward": (
        lambda x: torch.ops.aten.upsample_linear1d_backward(x, [9], [2, 3, 4], False),  # noqa: FBT003
        (LINE,),
    ),
    "trilinear": (partial(functional.interpolate, size=(9, 8, 5), mode="trilinear"), (VOLUME,)),
    "trilinear_backward": (
        lambda x: torch.ops.aten.upsample_trilinear3d_backward(
            x,
            VOLUME[2:],
            [2, 3, 3, 4, 4],
            False,  # noqa: FBT003
        ),
        (VOLUME,),
    ),
    "nll_loss": (lambda x: functional.nll_loss(x, LABELS.to(x.device), reduction="sum"), ROWS),
    "nll_loss2d": (
        lambda x: functional.nll_loss(x[None].mT[..., None], LABELS[None, :, None].to(x.device)),
        ROWS,
    ),
    "grid_sample": (partial(functional.grid_sample, align_corners=False), (IMAGE, GRID)),
    "bce_with_logits": (functional.binary_cross_entropy_with_logits, ((7, 9), (7, 9))),
    "add_relu": (torch.ops.aten._add_relu, ((7, 9), (7, 9))),  # noqa: SLF001
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ROUNDED)
def test_rounds_once(name: str, dtype: torch.dtype) -> None:
    function, shapes = ROUNDED[name]
    low, high = (-1, 1) if name == "grid_sample" else (1, 2)
    tensors = [some(shape, dtype, low, high) for shape in shapes]
    expected = function(*(tensor.double() for tensor in tensors)).to(dtype)
    actual = run_on_npu(function, *tensors)
    assert isinstance(actual, torch.Tensor)
    assert actual.dtype == dtype
    assert (actual.cpu() != expected).float().mean() < 0.02  # rounded twice, it is more than 0.1
    torch.testing.assert_close(actual.cpu(), expected)

"""Convolutions: native/opapi/ops/vision/convolution.cpp."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from tests.twin.ops.compare import check
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Callable

CONVOLUTIONS: dict[int, Callable[..., torch.Tensor]] = {
    1: functional.conv1d,
    2: functional.conv2d,
    3: functional.conv3d,
}
TRANSPOSED: dict[int, Callable[..., torch.Tensor]] = {
    1: functional.conv_transpose1d,
    2: functional.conv_transpose2d,
    3: functional.conv_transpose3d,
}
SETTINGS = [
    {},
    {"stride": 2, "padding": 1},
    {"dilation": 2},
    {"groups": 2},
    {"groups": 4},
]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolution(dims: int, settings: dict[str, int], bias: bool) -> None:  # noqa: FBT001
    groups = settings.get("groups", 1)
    weight = leaf((8, 4 // groups, *(3,) * dims), seed=2)
    convolution = partial(CONVOLUTIONS[dims], **settings)
    biases = [leaf((8,), seed=4)] if bias else []
    check_gradients(convolution, leaf((2, 4, *(7,) * dims)), weight, *biases)
    check_gradients(convolution, leaf((4, *(7,) * dims)), weight, *biases)  # without a batch


@pytest.mark.parametrize("settings", [*SETTINGS, {"stride": 2, "output_padding": 1}], ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed(dims: int, settings: dict[str, int]) -> None:
    groups = settings.get("groups", 1)
    weight, bias = leaf((4, 8 // groups, *(3,) * dims), seed=2), leaf((8,), seed=4)
    check_gradients(partial(TRANSPOSED[dims], **settings), leaf((2, 4, *(4,) * dims)), weight, bias)


def test_uneven_settings() -> None:
    convolution = partial(functional.conv2d, stride=(2, 1), padding=(0, 2), dilation=(1, 2))
    check_gradients(convolution, leaf((2, 3, 8, 9)), leaf((4, 3, 2, 3), seed=2))
    same = partial(functional.conv2d, padding="same")
    check(same, some((1, 3, 6, 6), torch.float32), torch.ones(2, 3, 3, 5))


def test_layouts() -> None:
    images, weight = some((2, 6, 5, 3), torch.float32), some((4, 3, 3, 3), torch.float32)
    check(functional.conv2d, images.permute(0, 3, 1, 2), weight)
    check(functional.conv2d, images.permute(0, 3, 1, 2)[..., ::2], weight.transpose(2, 3))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half(dtype: torch.dtype) -> None:
    images, weight = some((2, 3, 6, 6), dtype), some((4, 3, 3, 3), dtype, -1, 1)
    check(functional.conv2d, images, weight, some((4,), dtype))


@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise(multiplier: int) -> None:
    weight, bias = leaf((4 * multiplier, 1, 3, 3), seed=2), leaf((4 * multiplier,), seed=4)
    check_gradients(partial(functional.conv2d, groups=4), leaf((2, 4, 6, 6)), weight, bias)


def test_depthwise_operator() -> None:
    """The operator that has no CPU kernel."""
    images, weight, bias = leaf((2, 4, 6, 6)), leaf((8, 1, 3, 3), seed=2), leaf((8,), seed=4)

    def depthwise(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> object:
        if x.device.type == "cpu":
            return functional.conv2d(x, w, b, stride=2, padding=1, groups=4)
        operator = torch.ops.aten._conv_depthwise2d  # noqa: SLF001 - no public name
        return operator(x, w, [3, 3], b, [2, 2], [1, 1], [1, 1])

    check(depthwise, images.detach(), weight.detach(), bias.detach())


def test_tbc() -> None:
    """Time, batch, channels."""
    check_gradients(
        partial(torch.conv_tbc, pad=1), leaf((6, 2, 3)), leaf((3, 3, 4), seed=2), leaf((4,), seed=4)
    )


def test_empty() -> None:
    check(functional.conv2d, torch.empty(0, 3, 5, 5), torch.ones(2, 3, 3, 3))


def test_channels_must_fit() -> None:
    images, weight = torch.ones(1, 3, 5, 5, device="npu"), torch.ones(2, 4, 3, 3, device="npu")
    with pytest.raises(RuntimeError, match="channels"):
        functional.conv2d(images, weight)

"""Results made in device memory: native/opapi/placement.h is at work from 64 KiB on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from tests.twin.ops.gradients import check_gradients, leaf

if TYPE_CHECKING:
    from collections.abc import Callable

IMAGES = (2, 16, 40, 48)
OPERATORS: dict[str, tuple[Callable[..., torch.Tensor], list[torch.Tensor]]] = {
    "layer_norm": (
        lambda x, w, b: functional.layer_norm(x, (128,), w, b),
        [leaf((512, 128)), leaf((128,), seed=4), leaf((128,), seed=5)],
    ),
    "layer_norm_of_a_view": (
        lambda x: functional.layer_norm(x.t(), (512,)),
        [leaf((512, 128))],
    ),
    "group_norm": (
        lambda x, w: functional.group_norm(x, 4, w),
        [leaf(IMAGES), leaf((16,), seed=4)],
    ),
    "group_norm_of_a_view": (lambda x: functional.group_norm(x.transpose(2, 3), 4), [leaf(IMAGES)]),
    "batch_norm": (
        lambda x, w, b: functional.batch_norm(x, None, None, w, b, training=True),
        [leaf(IMAGES), leaf((16,), seed=4), leaf((16,), seed=5)],
    ),
    "prelu": (functional.prelu, [leaf(IMAGES), leaf((16,), seed=4)]),
    "mish": (functional.mish, [leaf((300, 200))]),
    "hardswish": (functional.hardswish, [leaf((300, 200))]),
    "adaptive_avg_pool2d": (lambda x: functional.adaptive_avg_pool2d(x, 20), [leaf(IMAGES)]),
    "grid_sample": (
        lambda x, g: functional.grid_sample(x, g, align_corners=False),
        [leaf(IMAGES), leaf((2, 40, 48, 2), seed=4)],
    ),
    "embedding": (
        lambda w: functional.embedding(torch.arange(0, 300, 7, device=w.device), w),
        [leaf((300, 128))],
    ),
    "conv2d": (functional.conv2d, [leaf(IMAGES), leaf((16, 16, 1, 1), seed=4)]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_large(name: str) -> None:
    operator, tensors = OPERATORS[name]
    check_gradients(operator, *tensors)


def test_memory_returns() -> None:
    """What follows an operator with a placed result allocates as ever."""
    x = torch.randn(512, 128)
    for _ in range(20):
        device = functional.layer_norm(x.to("npu"), (128,))
        host = functional.layer_norm(x, (128,))
        assert host.data_ptr() != device.data_ptr()
        torch.testing.assert_close(device.cpu(), host)

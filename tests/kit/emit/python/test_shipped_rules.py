"""The rules that packages carry: a reduction's shape is that of torch."""

from __future__ import annotations

import pytest
import torch

from opwright.kit.shipped.rules import reduced

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(
    ("sizes", "dims"),
    [((), None), ((), 0), ((), [-1]), ((2, 3, 4), None), ((2, 3, 4), -1), ((2, 3, 4), [0, -1])],
)
def test_a_reduction_has_the_shape_that_torch_gives(
    sizes: tuple[int, ...], dims: int | list[int] | None, *, keepdim: bool
) -> None:
    x = torch.ones(sizes)
    assert reduced(x, dims, keepdim=keepdim) == tuple(torch.sum(x, dims, keepdim=keepdim).shape)


@pytest.mark.parametrize(("sizes", "axis"), [((), 1), ((2, 3), 2), ((2, 3), -3)])
def test_an_axis_that_is_not_there_is_an_error(sizes: tuple[int, ...], axis: int) -> None:
    with pytest.raises(IndexError, match=f"axis {axis} of a tensor with {len(sizes)} axes"):
        reduced(torch.ones(sizes), axis)

"""Dynamic graphs whose inputs are transposed first: TorchAir notes the sizes behind that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair  # noqa: F401 - isolated tests are forked from a process that has it

from tests.graph_engine.agreement import assert_agree, compiled

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: dict[str, Callable[[torch.Tensor], object]] = {
    "product": lambda x: x @ x.transpose(1, 2),
    "product_of_transposed": lambda x: x.transpose(1, 2) @ x,
    "both_forms": lambda x: torch.relu(x.transpose(1, 2)) @ torch.relu(x),
    "permuted": lambda x: x.permute(2, 0, 1).flatten(1),
    "summed": lambda x: x.transpose(0, 1).sum(-1) + x.sum(-1).t(),
}


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
def test_transposed_inputs_are_not_refused() -> None:
    torch.manual_seed(7)
    assert_agree(FUNCTIONS, [{"x": torch.randn(n, 6, 8)} for n in (2, 3)], dynamic=True)


@pytest.mark.twin
@pytest.mark.isolated
def test_axes_of_one_are_left_out_of_a_transposition() -> None:
    functions: dict[str, Callable[[torch.Tensor], object]] = {
        "permuted": lambda x: x.permute(1, 2, 0) + 1,
        "reshaped": lambda x: x.transpose(1, 2) + 1,
    }
    assert_agree(functions, [{"x": torch.randn(n, 3, 1)} for n in (2, 5)], dynamic=True)


@pytest.mark.twin
@pytest.mark.isolated
def test_sizes_of_a_view_that_has_other_names_for_them_are_not_taken_for_those_of_the_input() -> (
    None
):
    run = compiled(lambda x, axes: torch.permute(x, axes) + 1, dynamic=True)
    for sizes, axes in (
        ((1, 2, 2, 1), [1, 0, 3, 2]),
        ((2, 3, 1), [2, 0, 1]),
        ((1, 2, 2, 1), [1, 0, -1, -2]),
    ):
        x = torch.randn(sizes)
        assert torch.equal(run(x.to("npu"), axes).cpu(), x.permute(axes) + 1)

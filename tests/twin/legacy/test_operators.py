"""Operators of PyTorch on chips for which torch_npu calls legacy operators (aclop)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch_npu.npu.utils import clear_npu_overflow_flag, get_npu_overflow_flag

from tests.twin import on_twin
from tests.twin.legacy.cases import CASES, OWN, print_outcomes

if TYPE_CHECKING:
    from collections.abc import Callable

legacy_chip = pytest.mark.isolated(OPWRIGHT_SOC="Ascend310P3", TASK_QUEUE_ENABLE="0")


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """Return what went wrong with each case; they share a process."""
    found: dict[str, str] = json.loads(on_twin.output(print_outcomes, OPWRIGHT_SOC="Ascend910A"))
    return found


@pytest.mark.parametrize("name", [*CASES, *OWN])
def test_as_on_the_cpu(outcomes: dict[str, str], name: str) -> None:
    assert outcomes[name] == ""


def compute(call: Callable[[], object]) -> None:
    """Call an operator, and wait for it."""
    call()
    torch_npu.npu.synchronize()


@legacy_chip
def test_an_operator_without_a_kernel_is_named() -> None:
    boxes = torch.rand(4, 5, device="npu")[None]
    with pytest.raises(RuntimeError, match=r"OPW-N002[\s\S]*\(RotatedBoxEncode\)"):
        compute(lambda: torch_npu.npu_rotated_box_encode(boxes, boxes, torch.ones(5, device="npu")))


@legacy_chip
def test_an_operator_that_fails_is_one_error_and_those_behind_it_work() -> None:
    x = torch.ones(4).to("npu")
    with pytest.raises(RuntimeError) as error:
        compute(lambda: x.index_select(0, torch.tensor([9]).to("npu")))
    for words in ("OPW-N004", "(GatherV2)", "out of range"):
        assert words in str(error.value)
    assert (x + 1).cpu().tolist() == [2, 2, 2, 2]


@legacy_chip
def test_operators_run_in_order_on_a_stream_and_after_the_streams_that_it_waits_for() -> None:
    big = torch.ones(512, 512).to("npu")
    for _ in range(3):
        big = (big @ big) / 512
    assert {*big.flatten().tolist()} == {1.0}
    side = torch_npu.npu.Stream()
    with torch_npu.npu.stream(side):
        y = big * 3
    torch_npu.npu.current_stream().wait_stream(side)
    assert {*(y + 1).flatten().tolist()} == {4.0}


@legacy_chip
def test_outputs_are_as_large_as_their_values_say() -> None:
    assert torch.nonzero(torch.tensor([0, 3, 0, 4]).to("npu")).cpu().tolist() == [[1], [3]]


@legacy_chip
def test_the_register_that_loss_scaling_reads_says_that_a_result_is_not_finite() -> None:
    x = torch.ones(4).to("npu")
    clear_npu_overflow_flag()
    (x * 2).cpu()
    assert not get_npu_overflow_flag()
    (x / 0).cpu()
    assert get_npu_overflow_flag()
    clear_npu_overflow_flag()
    assert not get_npu_overflow_flag()
    # Also where an operator writes its result over an operand.
    x[1:3] = torch.full((2,), 3e38, device="npu")
    assert not get_npu_overflow_flag()
    index = (torch.tensor([1]).to("npu"),)
    x.index_put_(index, torch.full((1,), 3e38).to("npu"), accumulate=True)
    assert x.cpu()[1] == torch.inf
    assert get_npu_overflow_flag()


@pytest.mark.isolated
def test_new_chips_call_legacy_operators_with_jit_compile() -> None:
    torch_npu.npu.set_compile_mode(jit_compile=True)
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    layer = torch.nn.Linear(4, 2)
    wanted = layer(x).relu().detach()
    found = layer.to("npu")(x.to("npu")).relu()
    assert torch.allclose(found.cpu(), wanted, atol=1e-6)
    torch.autograd.backward(found.sum())
    assert layer.weight.grad is not None
    assert layer.weight.grad.shape == (2, 4)
    torch_npu.npu.set_compile_mode(jit_compile=False)
    assert torch.allclose(layer(x.to("npu")).relu().cpu(), wanted, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*is deprecated and will be removed")
@pytest.mark.isolated
def test_kernels_that_have_a_legacy_operator_only_run_on_every_chip() -> None:
    anchors = torch.tensor([[1.0, 2, 3, 4]]).to("npu")
    found = torch_npu.npu_bounding_box_encode(anchors, anchors + 1, 0, 0, 0, 0, 1, 1, 1, 1)
    assert torch.allclose(found.cpu(), torch.tensor([[1 / 3, 1 / 3, 0, 0]]))


def test_a_choice_of_all_places_keeps_their_order() -> None:
    mask = torch.tensor([True, False, True, False]).to("npu")
    places, exists = torch_npu.npu_random_choice_with_mask(mask, 2, 1, 0)
    assert places.tolist() == [[0], [2]]
    assert exists.tolist() == [True, True]

"""Operators that return lists of tensors, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import pytest
import torch
import torch_npu

import opwright as ow
from opwright.kit.live.errors import ReferenceResultError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

pytestmark = pytest.mark.twin
ops = ow.OperatorSet("opwright_lists")


@ops.operator(
    "doubled(Tensor[] xs) -> Tensor[]",
    aclnn="aclnnListsDoubled(xs, out)",
    shapes={"out": ow.like("xs")},
    backward="reference",
)
def doubled(xs: Sequence[Tensor]) -> list[Tensor]:
    return [x * 2 for x in xs]


@ops.operator(
    "cut(Tensor x, int[] sizes, SymInt n) -> (Tensor[] pieces, Tensor total, Tensor[] wide)",
    aclnn="aclnnListsCut(x, sizes, n, pieces, total, wide)",
    shapes={
        "x": "N, D",
        "pieces": ow.each("len(sizes)", "sizes[i], D"),
        "total": (),
        "wide": ow.each("n", "N, n * D"),
    },
    backward="reference",
)
def cut(x: Tensor, sizes: Sequence[int], n: int) -> tuple[list[Tensor], Tensor, list[Tensor]]:
    return [x[:size] * 1 for size in sizes], x.sum(), [x.repeat(1, n) for _ in range(n)]


@ops.operator(
    "wrong(Tensor x, int n) -> Tensor[]",
    aclnn="aclnnListsWrong(x, n, out)",
    shapes={"x": "N", "out": ow.each("n", "N")},
)
def wrong(x: Tensor, n: int) -> list[Tensor]:
    return [x * 1 for _ in range(n + 1)]


@pytest.fixture(scope="module", autouse=True)
def load() -> Iterator[None]:
    with ops.load():
        yield


@pytest.mark.parametrize("device", ["cpu", "npu", "meta"])
def test_each_tensor_is_like_the_one_at_its_place(device: str) -> None:
    xs = [torch.ones(2, 3, device=device), torch.ones(4, device=device, dtype=torch.float16)]
    results = doubled(xs)
    assert [(y.shape, y.dtype) for y in results] == [(x.shape, x.dtype) for x in xs]
    assert device == "meta" or results[1].tolist() == [2, 2, 2, 2]
    assert doubled([torch.ones(0, device=device)])[0].shape == (0,)


@pytest.mark.parametrize("device", ["cpu", "npu", "meta"])
def test_numbers_and_shapes_are_those_of_the_rules(device: str) -> None:
    pieces, total, wide = cut(torch.ones(4, 3, device=device), [1, 0, 4], 2)
    assert [each.shape for each in pieces] == [(1, 3), (0, 3), (4, 3)]
    assert [each.shape for each in wide] == [(4, 6), (4, 6)]
    assert total.shape == ()
    assert [len(each) for each in cut(torch.ones(4, 3, device=device), [], 0)[::2]] == [0, 0]


def test_gradients_flow_from_each_tensor() -> None:
    x = torch.ones(4, 3).to("npu").requires_grad_()
    pieces, total, wide = cut(x, [1, 2], 2)
    loss = total + 10 * pieces[1].sum() + 100 * wide[0].sum()
    (gradient,) = torch.autograd.grad(loss, x)
    assert gradient[:, 0].tolist() == [211, 211, 201, 201]


def test_they_compile_and_are_batched() -> None:
    def step(x: Tensor) -> Any:  # noqa: ANN401 - lists and a tensor
        pieces, total, _ = cut(torch.cat(doubled([x, x])), [x.shape[0]], 1)
        return pieces[0] + total

    x = torch.rand(2, 3).to("npu")
    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), step(x))
    batched = torch.func.vmap(lambda each: doubled([each, each + 1]))(x)
    assert torch.equal(batched[1], 2 * (x + 1))


def test_another_number_than_the_rule_says_is_reported() -> None:
    with pytest.raises(ReferenceResultError, match="3 tensors"):
        wrong(torch.ones(2), 2)
    wrong(torch.ones(2).to("npu"), 2)
    with pytest.raises(RuntimeError, match="3 tensors"):
        torch_npu.npu.synchronize()

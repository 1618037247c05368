"""Tokens of one rank's experts: native/opapi/ops/moe/moe_permute_range.cpp."""

from __future__ import annotations

import pytest
import torch

from tests.twin.aclnn_calls import AclnnError, call
from tests.twin.ops.compare import agree
from tests.twin.ops.samples import some

NO = False
TOKENS, TOP_K, WIDTH = 5, 3, 8
RANGES = pytest.mark.parametrize("given", [[4, 11], [0, 15], [7, 7], None], ids=str)


def routed() -> tuple[torch.Tensor, torch.Tensor]:
    """The experts of each token, and where each of its copies goes."""
    experts = torch.randint(0, 6, (TOKENS, TOP_K), generator=torch.Generator().manual_seed(1))
    return experts.int(), experts.flatten().argsort(stable=True).argsort().int()


def rows(given: list[int] | None) -> tuple[int, int]:
    return (given[0], given[1]) if given else (0, TOKENS * TOP_K)


def on_rank(
    x: torch.Tensor, probs: torch.Tensor, places: torch.Tensor, given: list[int] | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sorted copies and their probabilities that the rank has."""
    first, last = rows(given)
    order = places.argsort()[first:last]
    return x[order // TOP_K], probs.flatten()[order]


@RANGES
def test_permute_and_its_gradient(given: list[int] | None) -> None:
    experts, places = routed()
    x = some((TOKENS, WIDTH), torch.float32).requires_grad_()
    probs = some((TOKENS, TOP_K), torch.float32).requires_grad_()
    expected = on_rank(x, probs, places, given)
    count = expected[0].size(0)
    out = [torch.full(shape, 9.0).to("npu") for shape in ((count, WIDTH), (count,))]
    index = torch.zeros(TOKENS * TOP_K, dtype=torch.int32).to("npu")
    operands = [x.detach().to("npu"), experts.to("npu"), probs.detach().to("npu")]
    call("aclnnMoeTokenPermuteWithEp", *operands, given, 0, NO, out[0], index, out[1])
    agree(out[0], expected[0].detach())
    agree(index, places)
    if given:
        agree(out[1], expected[1].detach())
    grads = [some((count, WIDTH), torch.float32), some((count,), torch.float32)]
    torch.autograd.backward(expected, grads)
    results = [torch.full(shape, 9.0).to("npu") for shape in ((TOKENS, WIDTH), (TOKENS, TOP_K))]
    upstream = [grads[0].to("npu"), index, grads[1].to("npu")]
    call("aclnnMoeTokenPermuteWithEpGrad", *upstream, TOP_K, given, NO, *results)
    agree(results[0], x.grad)
    if given:
        agree(results[1], probs.grad)


@RANGES
@pytest.mark.parametrize("weighted", [True, False])
def test_unpermute_and_its_gradient(given: list[int] | None, *, weighted: bool) -> None:
    _, places = routed()
    top_k = TOP_K if weighted or given else 1
    first, last = rows(given)
    permuted = some((last - first, WIDTH), torch.float32).requires_grad_()
    probs = some((TOKENS * TOP_K // top_k, top_k), torch.float32).requires_grad_()
    whole = torch.zeros(TOKENS * TOP_K, WIDTH).index_add(0, torch.arange(first, last), permuted)
    copies = whole[places.long()].view(-1, top_k, WIDTH)
    expected = (copies * probs.unsqueeze(-1) if weighted else copies).sum(1)
    out = torch.full(expected.shape, 9.0).to("npu")
    index, weights = places.to("npu"), probs.detach().to("npu") if weighted else None
    tokens = permuted.detach().to("npu")
    call("aclnnMoeTokenUnpermuteWithEp", tokens, index, weights, top_k, given, NO, None, out)
    agree(out, expected.detach())
    grad = some(tuple(expected.shape), torch.float32)
    torch.autograd.backward(expected, grad)
    results = [torch.full(one.shape, 9.0).to("npu") for one in (permuted, probs)]
    call(
        "aclnnMoeTokenUnpermuteWithEpGrad",
        *(grad.to("npu"), index, tokens, weights, False, None, given, top_k),
        *(results[0], results[1] if weighted else None),
    )
    agree(results[0], permuted.grad)
    if weighted:
        agree(results[1], probs.grad)


def test_a_range_beyond_the_rows_is_refused() -> None:
    experts, _ = routed()
    x = some((TOKENS, WIDTH), torch.float32).to("npu")
    index = torch.zeros(TOKENS * TOP_K, dtype=torch.int32).to("npu")
    operands = [x, experts.to("npu"), None, [10, 16], 0, False, x, index, None]
    with pytest.raises(AclnnError, match=r"'rangeOptional' is \[10, 16\]"):
        call("aclnnMoeTokenPermuteWithEp", *operands)

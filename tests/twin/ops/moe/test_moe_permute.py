"""Tokens sorted by expert and back: native/opapi/ops/moe/moe_permute.cpp."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.samples import positions, some


def order_of(experts: torch.Tensor) -> torch.Tensor:
    """Of each pair of token and choice, where it stands after sorting by expert."""
    flat = experts.flatten().tolist()
    places = sorted(range(len(flat)), key=flat.__getitem__)
    return torch.tensor([places.index(i) for i in range(len(flat))], dtype=torch.int32)


def permuted(tokens: torch.Tensor, experts: torch.Tensor, kept: int) -> torch.Tensor:
    choices = experts.numel() // experts.shape[0]
    rows = {place: tokens[pair // choices] for pair, place in enumerate(order_of(experts).tolist())}
    return torch.stack([rows[place] for place in range(kept)])


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("shape", [(7, 3), (5, 1), (4,), (1, 8)])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_permute(dtype: torch.dtype, shape: tuple[int, ...], index: torch.dtype) -> None:
    experts = positions(shape, 4, index)
    tokens = some((shape[0], 6), dtype)
    actual = run_on_npu(torch_npu.npu_moe_token_permute, tokens, experts)
    agree(actual, (permuted(tokens, experts, experts.numel()), order_of(experts)))


@pytest.mark.parametrize(("wanted", "kept"), [(5, 5), (100, 14), (0, 14), (-4, 10)])
def test_permute_drops(wanted: int, kept: int) -> None:
    experts, tokens = positions((7, 2), 4), some((7, 6), torch.float32)
    actual = run_on_npu(torch_npu.npu_moe_token_permute, tokens, experts, wanted)
    agree(actual, (permuted(tokens, experts, kept), order_of(experts)))


def unpermuted(
    rows: torch.Tensor, places: torch.Tensor, probs: torch.Tensor | None
) -> torch.Tensor:
    """Sum of a token's rows times its weights; a place without a row is a dropped token."""
    dropped = max(places.numel() - rows.shape[0], 0)
    found = torch.cat((rows, rows.new_zeros(dropped, rows.shape[1])))[places.long()].double()
    if probs is None:
        return found.to(rows.dtype)
    weighted = found.view(*probs.shape, -1) * probs.double().unsqueeze(-1)
    return weighted.sum(1).to(rows.dtype)


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("weights", [torch.float32, torch.bfloat16, None])
@pytest.mark.parametrize("kept", [14, 9])
def test_unpermute(dtype: torch.dtype, weights: torch.dtype | None, kept: int) -> None:
    places, rows = order_of(positions((7, 2), 4)), some((kept, 6), dtype)
    probs = None if weights is None else some((7, 2), weights, 0, 1)
    actual = run_on_npu(torch_npu.npu_moe_token_unpermute, rows, places, probs)
    agree(actual, unpermuted(rows, places, probs))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("choices", [1, 2])
@pytest.mark.parametrize("wanted", [None, 5])
def test_gradients(dtype: torch.dtype, choices: int, wanted: int | None) -> None:
    """There and back; one choice has no weights."""
    experts = positions((7, choices), 4)
    seed, weighted = some((7, 6), dtype, -1, 2), choices > 1
    values = some((7, 6), dtype), some((7, choices), dtype, 0, 1)

    tokens, probs = (value.to("npu").requires_grad_() for value in values)
    rows, places = torch_npu.npu_moe_token_permute(tokens, experts.to("npu"), wanted)
    result = torch_npu.npu_moe_token_unpermute(rows, places, probs if weighted else None)
    torch.autograd.backward(result, seed.to("npu"))

    host_tokens, host_probs = (value.double().requires_grad_() for value in values)
    host_rows = permuted(host_tokens, experts, wanted or experts.numel())
    expected = unpermuted(host_rows, order_of(experts), host_probs if weighted else None)
    torch.autograd.backward(expected, seed.double())

    bound = 1e-5 if dtype == torch.float32 else 2e-2
    pairs = [(result, expected), (tokens.grad, host_tokens.grad)]
    for actual, wished in [*pairs, (probs.grad, host_probs.grad)] if weighted else pairs:
        assert actual is not None
        assert wished is not None
        torch.testing.assert_close(actual.cpu(), wished.to(dtype), rtol=bound, atol=bound)


def test_empty() -> None:
    tokens = torch.zeros(0, 6)
    actual = run_on_npu(torch_npu.npu_moe_token_permute, tokens, torch.zeros(0, 2).int())
    agree(actual, (tokens, torch.zeros(0, dtype=torch.int32)))


def test_moe_permute_refuses_wrong_calls() -> None:
    tokens, experts = some((4, 6), torch.float32), positions((4, 2), 4)
    rejects("paddedMode", torch_npu.npu_moe_token_permute, tokens, experts, padded_mode=True)
    places, rows, probs = order_of(experts), some((8, 6), torch.float32), torch.zeros(3, 2)
    rejects("probsOptional", torch_npu.npu_moe_token_unpermute, rows, places, probs=probs)


@pytest.mark.parametrize("place", [-1, 8])
def test_places_out_of_range(place: int) -> None:
    """Eight rows have the places 0 to 7; those from the number of kept rows on are dropped."""
    rows, places = some((8, 6), torch.float32), torch.arange(8, dtype=torch.int32)
    places[3] = place
    text = f"parameter 'sortedIndices' has the element {place}; allowed: 0 to 7"
    probs, grad = torch.ones(4, 2), some((4, 6), torch.float32)
    rejects(text, torch_npu.npu_moe_token_unpermute, rows, places, probs)
    out, none = torch.zeros_like(grad), None
    rejects(text, partial(call, "aclnnMoeTokenPermuteGrad"), rows, places, 2, False, out)  # noqa: FBT003 - C
    unpermute_grad = partial(call, "aclnnMoeTokenUnpermuteGrad")
    outs = torch.zeros_like(rows), torch.zeros_like(probs)
    rejects(text, unpermute_grad, rows, grad, places, probs, False, none, *outs)  # noqa: FBT003 - C

"""Tokens and experts joined by a map: native/opapi/ops/moe/moe_routing_map.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.samples import some

TOKENS, EXPERTS, CHOICES, WIDTH, CAPACITY = 6, 4, 2, 5, 3
KEPT = {False: TOKENS * CHOICES, True: EXPERTS * CAPACITY}
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def routing_map() -> torch.Tensor:
    """Return a map in which each token has as many experts."""
    scores = torch.rand(TOKENS, EXPERTS, generator=torch.Generator().manual_seed(4))
    chosen = scores.topk(CHOICES).indices
    return torch.zeros(TOKENS, EXPERTS, dtype=torch.bool).scatter_(1, chosen, value=True)


def permuted_rows(mapping: torch.Tensor, *, pad: bool) -> tuple[list[int], list[int]]:
    """Return token and expert of each permuted row."""
    tokens: list[int] = []
    experts: list[int] = []
    for expert in range(EXPERTS):
        chosen = [token for token in range(TOKENS) if mapping[token, expert]]
        others = [token for token in range(TOKENS) if not mapping[token, expert]]
        rows = (chosen + others)[:CAPACITY] if pad else chosen
        tokens += rows
        experts += [expert] * len(rows)
    return tokens, experts


def index_of(tokens: list[int], *, pad: bool) -> torch.Tensor:
    """Return the token of each row, or where the rows of each token are."""
    rows = torch.tensor(tokens)
    return (rows if pad else torch.argsort(rows, stable=True)).int()


def check_all(actual: list[torch.Tensor | None], expected: list[torch.Tensor]) -> None:
    half = expected[0].dtype != torch.float32
    for one, other in zip(actual, expected, strict=True):
        assert one is not None
        bound = 3e-2 if half else 1e-5
        torch.testing.assert_close(one.detach().cpu(), other, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [torch.bool, torch.int8])
def test_permute(dtype: torch.dtype, pad: bool, weighted: bool, kind: torch.dtype) -> None:  # noqa: FBT001 - parameters of the test
    mapping, tokens = routing_map(), some((TOKENS, WIDTH), dtype)
    probs = some((TOKENS, EXPERTS), dtype, 0, 1) if weighted else None
    where, experts = permuted_rows(mapping, pad=pad)
    result = run_on_npu(
        torch_npu.npu_moe_token_permute_with_routing_map,
        tokens,
        mapping.to(kind),
        probs=probs,
        num_out_tokens=KEPT[pad],
        drop_and_pad=pad,
    )
    assert isinstance(result, tuple)
    agree((result[0], result[2]), (tokens[where], index_of(where, pad=pad)))
    if probs is not None:
        agree(result[1], probs[where, experts])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pad", [False, True])
def test_permute_gradients(dtype: torch.dtype, pad: bool) -> None:  # noqa: FBT001 - a parameter of the test
    mapping = routing_map()
    values = some((TOKENS, WIDTH), dtype), some((TOKENS, EXPERTS), dtype, 0, 1)
    where, experts = permuted_rows(mapping, pad=pad)
    seeds = some((KEPT[pad], WIDTH), dtype, -1, 2), some((KEPT[pad],), dtype, -1, 2)

    tokens, probs = (value.to("npu").requires_grad_() for value in values)
    rows, weights, _ = torch_npu.npu_moe_token_permute_with_routing_map(
        tokens, mapping.to("npu"), probs=probs, num_out_tokens=KEPT[pad], drop_and_pad=pad
    )
    torch.autograd.backward([rows, weights], [seed.to("npu") for seed in seeds])

    host_tokens, host_probs = (value.double().requires_grad_() for value in values)
    expected = [host_tokens[where], host_probs[where, experts]]
    torch.autograd.backward(expected, [seed.double() for seed in seeds])
    grads = [grad.to(dtype) for grad in (host_tokens.grad, host_probs.grad) if grad is not None]
    check_all([tokens.grad, probs.grad], grads)


def unpermuted(
    rows: torch.Tensor, where: list[int], experts: list[int], probs: torch.Tensor | None
) -> torch.Tensor:
    weights = torch.ones(len(where)) if probs is None else probs[where, experts]
    zeros = torch.zeros(TOKENS, WIDTH, dtype=rows.dtype)
    return zeros.index_add(0, torch.tensor(where), rows * weights.to(rows.dtype).unsqueeze(1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_unpermute(dtype: torch.dtype, pad: bool, weighted: bool) -> None:  # noqa: FBT001 - parameters of the test
    mapping = routing_map()
    values = some((KEPT[pad], WIDTH), dtype), some((TOKENS, EXPERTS), dtype, 0, 1)
    where, experts = permuted_rows(mapping, pad=pad)
    seed = some((TOKENS, WIDTH), dtype, -1, 2)

    rows, probs = (value.to("npu").requires_grad_() for value in values)
    result = torch_npu.npu_moe_token_unpermute_with_routing_map(
        rows,
        index_of(where, pad=pad).to("npu"),
        [TOKENS, WIDTH],
        probs=probs if weighted else None,
        routing_map=mapping.to("npu"),
        drop_and_pad=pad,
    )
    torch.autograd.backward(result, seed.to("npu"))

    host_rows, host_probs = (value.double().requires_grad_() for value in values)
    expected = unpermuted(host_rows, where, experts, host_probs if weighted else None)
    torch.autograd.backward(expected, seed.double())
    wished = [expected.detach(), host_rows.grad, host_probs.grad if weighted else None]
    actual = [result, rows.grad, probs.grad][: 3 if weighted else 2]
    check_all(actual, [value.to(dtype) for value in wished if value is not None])


@pytest.mark.parametrize("pad", [False, True])
def test_what_is_kept_for_the_gradient(pad: bool) -> None:  # noqa: FBT001 - a parameter of the test
    mapping, rows = routing_map(), some((KEPT[pad], WIDTH), torch.float32)
    probs = some((TOKENS, EXPERTS), torch.float32, 0, 1)
    where, experts = permuted_rows(mapping, pad=pad)
    index = index_of(where, pad=pad)
    result = run_on_npu(
        torch_npu._npu_moe_token_unpermute_with_routing_map,  # noqa: SLF001 - the form with all outputs
        rows,
        index,
        [TOKENS, WIDTH],
        probs=probs,
        routing_map=mapping,
        drop_and_pad=pad,
    )
    assert isinstance(result, tuple)
    if pad:
        order = torch.argsort(index, stable=True)
        agree(result[1:], (order.int(), index[order], probs[where, experts]))
    else:
        of_rows = torch.arange(KEPT[pad]) // CHOICES
        agree(result[1:], (index, of_rows.int(), probs.masked_select(mapping)))


def test_moe_routing_map_refuses_wrong_calls() -> None:
    tokens, permute = (
        some((TOKENS, WIDTH), torch.float32),
        (torch_npu.npu_moe_token_permute_with_routing_map),
    )
    rejects("chooses 12 rows", permute, tokens, routing_map(), num_out_tokens=TOKENS)
    too_many = {"num_out_tokens": EXPERTS * (TOKENS + 1), "drop_and_pad": True}
    rejects("numOutTokens", permute, tokens, routing_map(), **too_many)


@pytest.mark.parametrize("place", [-2, TOKENS * CHOICES])
def test_places_out_of_range(place: int) -> None:
    places = torch.arange(TOKENS * CHOICES, dtype=torch.int32)
    places[3] = place
    rows, shape = some((TOKENS * CHOICES, WIDTH), torch.float32), [TOKENS, WIDTH]
    text = f"parameter 'sortedIndices' has the element {place}; allowed: 0 to 11"
    rejects(text, torch_npu.npu_moe_token_unpermute_with_routing_map, rows, places, shape)


def test_a_choice_that_a_token_does_not_use() -> None:
    places = torch.randperm(TOKENS * CHOICES, generator=torch.Generator().manual_seed(5)).int()
    rows, shape = some((TOKENS * CHOICES, WIDTH), torch.float32), [TOKENS, WIDTH]
    used = rows[places.long()].view(TOKENS, CHOICES, WIDTH)
    used[1, 1] = 0
    places[3] = -1
    actual = run_on_npu(torch_npu.npu_moe_token_unpermute_with_routing_map, rows, places, shape)
    agree(actual, used.sum(1))

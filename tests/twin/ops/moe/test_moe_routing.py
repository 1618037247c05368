"""Tokens copied to their experts and summed up again: moe_routing.cpp and moe_finalize.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.samples import positions, some

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
ROWS, CHOICES, WIDTH, EXPERTS = 7, 3, 6, 5


def pairs_in_order(experts: torch.Tensor, first: int = 0, last: int = EXPERTS) -> list[int]:
    """Pairs of token and choice whose expert is in the range, sorted by expert."""
    flat = experts.flatten().tolist()
    chosen = [pair for pair, expert in enumerate(flat) if first <= expert < last]
    return sorted(chosen, key=flat.__getitem__)


def rows_of(experts: torch.Tensor, capacity: int | None) -> list[int | None]:
    """Which pair each row holds, without or with padding."""
    return [*pairs_in_order(experts)] if capacity is None else rows_with_capacity(experts, capacity)


def rows_with_capacity(experts: torch.Tensor, capacity: int) -> list[int | None]:
    """Which pair each row holds; None is padding."""
    rows: list[int | None] = []
    for expert in range(EXPERTS):
        chosen = pairs_in_order(experts, expert, expert + 1)[:capacity]
        rows += [*chosen, *[None] * (capacity - len(chosen))]
    return rows


def expanded(x: torch.Tensor, rows: list[int | None]) -> torch.Tensor:
    zero = torch.zeros_like(x[0])
    return torch.stack([zero if pair is None else x[pair // CHOICES] for pair in rows])


def places(rows: list[int | None]) -> torch.Tensor:
    found = torch.full((ROWS * CHOICES,), -1, dtype=torch.int32)
    for row, pair in enumerate(rows):
        if pair is not None:
            found[pair] = row
    return found


def counts(experts: torch.Tensor, first: int = 0, last: int = EXPERTS) -> torch.Tensor:
    return torch.tensor([int((experts == expert).sum()) for expert in range(first, last)])


def sample(dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    return some((ROWS, WIDTH), dtype), positions((ROWS, CHOICES), EXPERTS, torch.int32)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("active", [ROWS, 2])
def test_first_version(dtype: torch.dtype, active: int) -> None:
    """Pairs count by column: the number of a pair is choice * rows + row."""
    x, experts = sample(dtype)
    numbers = torch.arange(ROWS * CHOICES, dtype=torch.int32).view(CHOICES, ROWS).t().contiguous()
    order = torch.argsort(experts.flatten(), stable=True)
    sources = numbers.flatten()[order]
    index = torch.empty_like(sources)
    index[sources.long()] = torch.arange(ROWS * CHOICES, dtype=torch.int32)
    actual = run_on_npu(torch_npu.npu_moe_init_routing, x, numbers, experts, active)
    agree(actual, (x[sources[: active * CHOICES].long() % ROWS], index, experts.flatten()[order]))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("form", [0, 1, 2])
@pytest.mark.parametrize("bounds", [(0, EXPERTS), (1, 4)])
def test_range_of_experts(dtype: torch.dtype, form: int, bounds: tuple[int, int]) -> None:
    x, experts = sample(dtype)
    order = pairs_in_order(experts, *bounds)
    result = run_on_npu(
        torch_npu.npu_moe_init_routing_v2,
        x,
        experts,
        scale=torch.arange(ROWS).float(),
        active_num=ROWS * CHOICES,
        expert_num=EXPERTS,
        expert_tokens_num_type=form,
        expert_tokens_num_flag=True,
        active_expert_range=list(bounds),
    )
    assert isinstance(result, tuple)
    each = counts(experts, *bounds)
    tokens = torch.tensor(order) // CHOICES
    agree(result[0][: len(order)], x[tokens])
    agree(result[1], places(list(order)))
    agree(result[3][: len(order)], tokens.float())
    if form == 2:
        found = [(bounds[0] + i, int(n)) for i, n in enumerate(each) if n]
        agree(result[2][: len(found)], torch.tensor(found))
        assert not result[2][len(found) :].any()
    else:
        agree(result[2], each.cumsum(0) if form == 0 else each)


@pytest.mark.parametrize(("first", "last"), [(0, EXPERTS), (1, 3)])
def test_scatter_index(first: int, last: int) -> None:
    """Every pair; those of lower experts come last."""
    x, experts = sample()
    result = run_on_npu(
        torch_npu.npu_moe_init_routing_v2,
        x,
        experts,
        active_num=ROWS * CHOICES,
        expert_num=EXPERTS,
        active_expert_range=[first, last],
        row_idx_type=1,
    )
    assert isinstance(result, tuple)
    order = [*pairs_in_order(experts, first), *sorted(pairs_in_order(experts, 0, first))]
    agree(result[1], torch.tensor(order, dtype=torch.int32))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("capacity", [1, 4])
def test_capacity(dtype: torch.dtype, capacity: int) -> None:
    x, experts = sample(dtype)
    rows = rows_with_capacity(experts, capacity)
    result = run_on_npu(
        torch_npu.npu_moe_init_routing_v2,
        x,
        experts,
        active_num=ROWS * CHOICES,
        expert_num=EXPERTS,
        expert_capacity=capacity,
        drop_pad_mode=1,
        expert_tokens_num_type=1,
        expert_tokens_num_flag=True,
        active_expert_range=[0, EXPERTS],
    )
    assert isinstance(result, tuple)
    values = expanded(x, rows).view(EXPERTS, capacity, WIDTH)
    agree(result[:3], (values, places(rows), counts(experts)))


@pytest.mark.parametrize("active", [0, 5])
@pytest.mark.parametrize("form", [1, 2])
def test_second_version(active: int, form: int) -> None:
    x, experts = sample()
    order = pairs_in_order(experts)
    kept = active or len(order)
    out, index = torch.zeros(kept, WIDTH).to("npu"), torch.zeros(len(order)).int().to("npu")
    number = torch.zeros(EXPERTS).int().to("npu")
    given = x.to("npu"), experts.to("npu"), active, 0, EXPERTS, 0, form, False
    call("aclnnMoeInitRoutingV2", *given, out, index, number, None)
    agree(out, expanded(x, list(order[:kept])))
    agree(index, places(list(order)))
    each = counts(experts).int()
    agree(number, each.cumsum(0).int() if form == 1 else each)


def by_row(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = values.abs().amax(1) / 127
    divisor = torch.where(scale == 0, 1, scale)
    return (values / divisor[:, None]).round().to(torch.int8), scale


@pytest.mark.parametrize("capacity", [None, 2])
@pytest.mark.parametrize("smooth", [None, 1, EXPERTS])
def test_quantized_by_row(capacity: int | None, smooth: int | None) -> None:
    x, experts = sample(torch.bfloat16)
    rows = rows_of(experts, capacity)
    scale = None if smooth is None else some((smooth, WIDTH), torch.float32, 0, 2)
    values = expanded(x.float(), rows)
    if scale is not None:
        flat = experts.flatten().tolist()
        numbers = [0 if pair is None or smooth == 1 else flat[pair] for pair in rows]
        values = values * scale[numbers]
    quantized, row_scale = by_row(values)
    common = {"expert_num": EXPERTS, "scale": scale, "quant_mode": 1}
    pad = {} if capacity is None else {"expert_capacity": capacity, "drop_pad_mode": 1}
    if capacity is not None:
        quantized = quantized.view(EXPERTS, capacity, WIDTH)
    first = run_on_npu(
        torch_npu.npu_moe_init_routing_v2,
        x,
        experts,
        active_num=ROWS * CHOICES,
        active_expert_range=[0, EXPERTS],
        **common,
        **pad,
    )
    second = run_on_npu(
        torch_npu.npu_moe_init_routing_quant, x, experts, active_num=0, **common, **pad
    )
    for result in (first, second):
        assert isinstance(result, tuple)
        agree((result[0], result[1], result[-1]), (quantized, places(rows), row_scale))


def test_quantized_by_one_scale() -> None:
    x, experts = sample()
    scale, offset = torch.tensor([30.0]), torch.tensor([-2.5])
    result = run_on_npu(
        torch_npu.npu_moe_init_routing_quant,
        x,
        experts,
        scale=scale,
        offset=offset,
        active_num=0,
        expert_num=EXPERTS,
        expert_tokens_num_mode=2,
        quant_mode=0,
    )
    assert isinstance(result, tuple)
    values = expanded(x, list(pairs_in_order(experts))) * scale + offset
    agree(result[0], values.round().clamp(-128, 127).to(torch.int8))
    agree(result[2], counts(experts).int())


def test_routing_refusals() -> None:
    x, experts = sample()
    named = {"expert_num": EXPERTS, "active_num": ROWS * CHOICES}
    routing = torch_npu.npu_moe_init_routing_v2
    rejects("activeExpertRange", routing, x, experts, active_expert_range=[3, 3], **named)
    wide = {"active_expert_range": [0, EXPERTS], "quant_mode": 2}
    rejects("quantMode", routing, x, experts, **wide, **named)


# and back


def summed_up(
    rows: torch.Tensor,
    index: torch.Tensor,
    shared: list[torch.Tensor | None],
    bias: torch.Tensor | None,
    scales: torch.Tensor | None,
    experts: torch.Tensor,
) -> torch.Tensor:
    """`index` [tokens, choices] of rows; -1 is a dropped one."""
    result = torch.zeros(index.shape[0], rows.shape[-1], dtype=torch.float64)
    for token in range(index.shape[0]):
        for choice in range(index.shape[1]):
            place = int(index[token, choice])
            value = rows[place].double() if place >= 0 else torch.zeros(rows.shape[-1]).double()
            if bias is not None:
                value = value + bias[experts[token, choice]].double()
            weight = 1.0 if scales is None else float(scales[token, choice])
            result[token] += weight * value
    for term in shared:
        result += 0 if term is None else term.double()
    return result.to(rows.dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("terms", [0, 1, 2])
def test_finalize(dtype: torch.dtype, mode: int, terms: int) -> None:
    _, experts = sample()
    padded = mode % 2 == 1
    held = rows_of(experts, 3 if padded else None)
    index = places(held).view(ROWS, CHOICES)
    rows = some((len(held), WIDTH), dtype)
    bias, scales = some((EXPERTS, WIDTH), dtype, -1, 2), some((ROWS, CHOICES), dtype, 0, 1)
    shared = [some((ROWS, WIDTH), dtype, 0, 4) if term < terms else None for term in range(2)]
    actual = run_on_npu(
        torch_npu.npu_moe_finalize_routing,
        rows.view(EXPERTS, 3, WIDTH) if padded else rows,
        *shared,
        bias,
        scales,
        (index if mode >= 2 else index.t()).flatten(),
        experts,
        mode,
    )
    agree(actual, summed_up(rows, index, shared, bias, scales, experts))


def test_finalize_without_weights() -> None:
    rows = some((ROWS, WIDTH), torch.float32)
    index = torch.randperm(ROWS, generator=torch.Generator().manual_seed(2)).int()
    actual = run_on_npu(
        torch_npu.npu_moe_finalize_routing, rows, None, None, None, None, index, None, 2
    )
    agree(actual, rows[index.long()])


def test_expert_tokens() -> None:
    experts = positions((40,), EXPERTS, torch.int32).sort().values
    actual = run_on_npu(torch_npu.npu_moe_compute_expert_tokens, experts, EXPERTS + 2)
    ends = [int((experts <= expert).sum()) for expert in range(EXPERTS + 2)]
    agree(actual, torch.tensor(ends, dtype=torch.int32))


def finalized(
    rows: torch.Tensor,
    index: torch.Tensor,
    experts: torch.Tensor | None,
    tensors: list[torch.Tensor | None],
    ranges: list[list[int] | None],
) -> torch.Tensor:
    out = rows.new_zeros(ROWS, WIDTH)
    bias, scales, *special = tensors
    values = (None, None, bias, scales, experts, *special, 2, *ranges, out)
    call("aclnnMoeFinalizeRoutingV3", rows, index, *values)
    return out


def test_experts_that_are_nothing_the_token_or_a_constant() -> None:
    """Experts 5, 6 and 7, 8 and 9 have no rows of their own."""
    experts = torch.randint(0, 10, (ROWS, CHOICES), dtype=torch.int32)
    index = torch.randperm(ROWS * CHOICES).int()
    rows, tokens = some((ROWS * CHOICES, WIDTH), torch.float32), some((ROWS, WIDTH), torch.float32)
    scales, bias = torch.rand(ROWS, CHOICES), some((10, WIDTH), torch.float32)
    first, second, constant = (some((2, WIDTH), torch.float32) for _ in range(3))
    expected = torch.zeros(ROWS, WIDTH)
    for row in range(ROWS):
        for choice in range(CHOICES):
            expert = int(experts[row, choice])
            if expert == 5:
                continue
            value = rows[int(index[row * CHOICES + choice])]
            if expert in {6, 7}:
                value = tokens[row]
            elif expert >= 8:
                value = first[expert - 8] * tokens[row] + second[expert - 8] * constant[expert - 8]
            expected[row] += scales[row, choice] * (value + bias[expert])
    tensors = [bias, scales, tokens, first, second, constant]
    agree(run_on_npu(finalized, rows, index, experts, tensors, [[5, 6], [6, 8], [8, 10]]), expected)
    rejects("expertIdx", finalized, rows, index, None, [None] * 6, [[5, 6], None, None])
    rejects("'x' is null", finalized, rows, index, experts, [None] * 6, [None, [6, 8], None])


def quantized_by_column(
    x: torch.Tensor, pairs: torch.Tensor, experts: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows, index, sorted_experts = (
        torch.zeros(ROWS * CHOICES, WIDTH, dtype=torch.int8).to(x.device),
        *(torch.zeros(ROWS * CHOICES, dtype=torch.int32).to(x.device) for _ in range(2)),
    )
    call(
        "aclnnMoeInitRoutingQuant", x, pairs, experts, ROWS, 30.0, -1.5, rows, index, sorted_experts
    )
    return rows, index, sorted_experts


def test_rows_quantized_with_one_scale() -> None:
    """Pairs count column by column."""
    x = some((ROWS, WIDTH), torch.float16)
    experts = torch.randint(0, EXPERTS, (ROWS, CHOICES), dtype=torch.int32)
    pairs = torch.arange(ROWS * CHOICES, dtype=torch.int32).view(CHOICES, ROWS).t().contiguous()
    on_npu = [tensor.to("npu") for tensor in (x, pairs, experts)]
    rows, index, sorted_experts = quantized_by_column(*on_npu)
    order = experts.flatten().argsort(stable=True)
    assert torch.equal(sorted_experts.cpu(), experts.flatten()[order])
    chosen = pairs.flatten()[order].long()
    assert torch.equal(index.cpu()[chosen], torch.arange(ROWS * CHOICES, dtype=torch.int32))
    expected = (x[chosen % ROWS].float() * 30 - 1.5).round().clamp(-128, 127).to(torch.int8)
    assert torch.equal(rows.cpu(), expected)

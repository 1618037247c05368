"""Batches for sparse attention on the twin, beside the reference's result for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu

from opwright.reference.comparison import differing_attention
from opwright.reference.sparse_flash_attention import sparse_flash_attention

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LATENT, ROPE = 512, 64
PAGE = 32
SCALE = 576**-0.5
# Releases of torch_npu before the sinks take no such argument.
TAKES_SINKS = "sinks" in str(torch.ops.npu.npu_sparse_flash_attention.default._schema)  # noqa: SLF001
LAYOUTS = (("BSND", "BSND"), ("TND", "TND"), ("BSND", "PA_BSND"), ("TND", "PA_BSND"))


@dataclass(frozen=True)
class Case:
    """Shapes and options; sequences have `queries` and `keys` tokens each."""

    queries: tuple[int, ...] = (3, 1, 2)
    keys: tuple[int, ...] = (70, 33, 9)
    heads: int = 16
    selected: int = 40
    block: int = 1
    dtype: torch.dtype = torch.bfloat16
    layout: str = "BSND"
    layout_kv: str = "BSND"
    mode: int = 3
    rope: bool = True
    sinks: bool = False
    own_values: bool = False  # in another tensor than keys
    options: dict[str, Any] = field(default_factory=dict)


def of_all_kinds() -> Iterator[Case]:
    """A case of each layout and dtype; the other options take turns, as far as there are any."""
    for index, (layout, layout_kv) in enumerate(LAYOUTS):
        for dtype in (torch.bfloat16, torch.float16):
            yield Case(
                keys=(190, 65, 9),
                heads=(4, 16, 32, 64)[index],
                selected=150,
                block=(1, 2)[index % 2],
                dtype=dtype,
                layout=layout,
                layout_kv=layout_kv,
                mode=(3, 0)[index // 2],
                sinks=TAKES_SINKS and index % 2 == 0,
                own_values=index == 1,
            )


def prefix_sums(lengths: Sequence[int]) -> torch.Tensor:
    return torch.tensor(lengths).cumsum(0).int()


def rows_of(tokens: torch.Tensor, lengths: Sequence[int], layout: str) -> torch.Tensor:
    """Cut `[B, S, N, D]` to TND, or leave it."""
    if layout != "TND":
        return tokens
    return torch.cat([row[:length] for row, length in zip(tokens, lengths, strict=True)])


def selections(case: Case, generator: torch.Generator) -> torch.Tensor:
    """Blocks in any order, beyond the sequence as well, one of them twice, then -1."""
    blocks = -(-max(case.keys) // case.block)
    rows = []
    for _ in range(len(case.queries) * max(case.queries)):
        row = torch.randperm(blocks, generator=generator)[: case.selected]
        row = torch.cat((row, -torch.ones(case.selected - len(row), dtype=row.dtype)))
        row[1] = row[0]
        used = int(torch.randint(2, case.selected, (), generator=generator))
        row[used:] = -1
        rows.append(row.int())
    return torch.stack(rows).view(len(case.queries), max(case.queries), 1, case.selected)


def paged(tokens: torch.Tensor, keys: Sequence[int], table: torch.Tensor, gap: int) -> torch.Tensor:
    """Put `[B, S, 1, D]` into pages, which lie `gap` tokens apart."""
    pages = int(table.max()) + 1
    width = tokens.shape[-1]
    memory = torch.zeros(pages, PAGE + gap, 1, width, dtype=tokens.dtype, device="npu")
    cache = memory[:, :PAGE]
    filled = torch.zeros(pages, PAGE, 1, width, dtype=tokens.dtype)
    for index, length in enumerate(keys):
        for token in range(length):
            filled[table[index, token // PAGE], token % PAGE] = tokens[index, token]
    cache.copy_(filled)
    return cache


def page_table(keys: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Pages in any order; -1 after those that a sequence has."""
    counts = [-(-length // PAGE) for length in keys]
    pages = torch.randperm(sum(counts) + 2, generator=generator).int()
    table = -torch.ones(len(keys), max(counts) + 1, dtype=torch.int32)
    start = 0
    for index, count in enumerate(counts):
        table[index, :count] = pages[start : start + count]
        start += count
    return table


def operands(case: Case, seed: int = 0) -> tuple[list[torch.Tensor], dict[str, Any]]:
    """Query, key, value and indices on the device, and the named arguments."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator).to(case.dtype)

    batch, queries, keys = len(case.queries), max(case.queries), max(case.keys)
    table = page_table(case.keys, generator)

    def cache(width: int) -> torch.Tensor:
        tokens = normal(batch, keys, 1, width)
        if case.layout_kv == "PA_BSND":
            return paged(tokens, case.keys, table, gap=5)
        return rows_of(tokens, case.keys, case.layout_kv).to("npu")

    def query(width: int) -> torch.Tensor:
        tokens = normal(batch, queries, case.heads, width)
        return rows_of(tokens, case.queries, case.layout).to("npu")

    packed_queries, packed_keys = case.layout == "TND", case.layout_kv == "TND"
    lengths = prefix_sums(case.queries) if packed_queries else torch.tensor(case.queries).int()
    key_lengths = prefix_sums(case.keys) if packed_keys else torch.tensor(case.keys).int()
    named: dict[str, Any] = {
        "actual_seq_lengths_query": lengths.to("npu"),
        "actual_seq_lengths_kv": key_lengths.to("npu"),
        "layout_query": case.layout,
        "layout_kv": case.layout_kv,
        "sparse_block_size": case.block,
        "sparse_mode": case.mode,
        "attention_mode": 2,
        **case.options,
    }
    if case.layout_kv == "PA_BSND":
        named["block_table"] = table.to("npu")
    key = cache(LATENT)
    value = cache(LATENT) if case.own_values else key
    if case.rope:
        named |= {"query_rope": query(ROPE), "key_rope": cache(ROPE)}
    if case.sinks:
        named["sinks"] = torch.randn(case.heads, generator=generator).to("npu")
    indices = rows_of(selections(case, generator), case.queries, case.layout).to("npu")
    return [query(LATENT), key, value, indices], named


def on_cpu(named: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.cpu() if isinstance(value, torch.Tensor) else value
        for name, value in named.items()
    }


def refused(why: str, operator: Callable[..., object], *tensors: object, **named: object) -> None:
    """Call an operator that must raise a RuntimeError which says so, now or when it runs."""

    def attempt() -> None:
        operator(*tensors, **named)
        torch_npu.npu.synchronize()

    with pytest.raises(RuntimeError, match=re.escape(why)):
        attempt()


def compare(case: Case, seed: int = 0) -> None:
    """Compare results, and the statistics where torch_npu gives them a right shape."""
    tensors, named = operands(case, seed)
    statistics = not (case.layout == "TND" and case.layout_kv == "PA_BSND")
    actual = torch_npu.npu_sparse_flash_attention(
        *tensors, SCALE, **named, return_softmax_lse=statistics
    )
    query, key, value, indices = (tensor.cpu() for tensor in tensors)
    expected = sparse_flash_attention(
        query,
        key,
        value,
        indices,
        SCALE,
        **on_cpu(named),
        return_softmax_lse=statistics,
    )
    assert differing_attention(actual[0].cpu(), expected[0]) is None
    for got, wanted in zip(actual[1:], expected[1:], strict=True):
        torch.testing.assert_close(got.cpu(), wanted, rtol=1e-5, atol=1e-5)

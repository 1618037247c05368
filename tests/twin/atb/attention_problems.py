"""Attention by its formula, in float32, one sequence at a time; caches in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import torch

from tests.twin.ops.samples import normal

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Paged", "attention", "causal", "log_sum", "on_npu", "packed", "paged", "scores_of"]


def scores_of(query: torch.Tensor, key: torch.Tensor, scale: float) -> torch.Tensor:
    """[N, queries, keys] of tokens [queries, N, D] and [keys, kv heads, D]."""
    groups = query.shape[1] // key.shape[1]
    keys = key.float().repeat_interleave(groups, 1)
    return torch.einsum("qnd,knd->nqk", query.float(), keys) * scale


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scale: float,
    added: torch.Tensor | float = 0.0,
) -> torch.Tensor:
    """[queries, N, D of value] for one sequence; `added` joins the scores."""
    groups = query.shape[1] // value.shape[1]
    weights = torch.softmax(scores_of(query, key, scale) + added, -1)
    values = value.float().repeat_interleave(groups, 1)
    return torch.einsum("nqk,knd->qnd", weights, values)


def log_sum(query: torch.Tensor, key: torch.Tensor, scale: float) -> torch.Tensor:
    """[N, queries]: the logarithm of the sum of a row's exponentials."""
    return torch.logsumexp(scores_of(query, key, scale), -1)


def causal(queries: int, keys: int, offset: int = 0) -> torch.Tensor:
    """-inf for the keys behind a query, whose first one stands at `offset`."""
    behind = torch.arange(keys) > torch.arange(queries).unsqueeze(1) + offset
    return torch.zeros(queries, keys).masked_fill(behind, -torch.inf)


def packed(tokens: torch.Tensor, lengths: Sequence[int]) -> tuple[torch.Tensor, ...]:
    """The sequences of tokens that lie one after the other."""
    ends = list(accumulate(lengths))
    return tuple(tokens[end - length : end] for end, length in zip(ends, lengths, strict=True))


@dataclass
class Paged:
    """Keys and values of sequences in blocks whose numbers are in no order."""

    keys: torch.Tensor  # [blocks, block size, kv heads, D]
    values: torch.Tensor
    table: torch.Tensor  # [sequences, blocks], int32
    lengths: list[int]

    def tokens(self, cache: torch.Tensor, sequence: int) -> torch.Tensor:
        """The tokens of a sequence."""
        size = cache.shape[1]
        rows = [
            cache[int(self.table[sequence, place // size]), place % size]
            for place in range(self.lengths[sequence])
        ]
        return torch.stack(rows) if rows else cache.new_empty(0, *cache.shape[2:])

    def key(self, sequence: int) -> torch.Tensor:
        """The keys of a sequence."""
        return self.tokens(self.keys, sequence)

    def value(self, sequence: int) -> torch.Tensor:
        """The values of a sequence."""
        return self.tokens(self.values, sequence)


def paged(
    lengths: Sequence[int],
    heads: int,
    size: int,
    dtype: torch.dtype,
    *,
    block: int = 16,
    value_size: int | None = None,
) -> Paged:
    """Caches with a block more than is used for each sequence."""
    width = max(1, *((length + block - 1) // block for length in lengths))
    blocks = len(lengths) * width + 3
    order = torch.randperm(blocks, generator=torch.Generator().manual_seed(11))
    return Paged(
        keys=normal(blocks, block, heads, size, dtype=dtype, seed=1),
        values=normal(blocks, block, heads, value_size or size, dtype=dtype, seed=2),
        table=order[: len(lengths) * width].view(len(lengths), width).int(),
        lengths=list(lengths),
    )


def on_npu(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """Copies on the device."""
    return [tensor.to("npu") for tensor in tensors]

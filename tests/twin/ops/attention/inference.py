"""Attention for inference, computed by the formula: one sequence at a time, in float64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE, PAGES = 16, 9
SCALE = 0.3
BATCH, HEADS, QUERIES, KEYS, WIDTH = 3, 4, 6, 8, 16
LAYOUTS = {  # of the query, and of the result
    name: (name.partition("_")[0], name.rpartition("_")[2])
    for name in [
        "BSH",
        "BSND",
        "BNSD",
        "BNSD_BSND",
        "BSH_BNSD",
        "BSND_BNSD",
        "BSH_NBSD",
        "BSND_NBSD",
        "BNSD_NBSD",
        "TND",
        "NTD",
        "TND_NTD",
        "NTD_TND",
    ]
}
FORMS = {
    "BNSD": lambda heads: heads,
    "BSND": lambda heads: heads.transpose(1, 2),
    "BSH": lambda heads: heads.transpose(1, 2).flatten(2),
    "NBSD": lambda heads: heads.transpose(0, 1),
    "TND": lambda heads: heads.transpose(1, 2).flatten(0, 1),
    "NTD": lambda heads: heads.transpose(0, 1).flatten(1, 2),
}
CAUSAL = torch.ones(2048, 2048, dtype=torch.bool).triu(1)


def to_npu(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().to("npu")


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    hidden: torch.Tensor | None = None,
    term: torch.Tensor | float = 0.0,
    sink: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The result and the log-sum-exp of one sequence, from [N, S, D]; nothing seen gives 0, inf."""
    groups = query.size(0) // key.size(0)
    key, value = (tensor.double().repeat_interleave(groups, 0) for tensor in (key, value))
    scores = query.double() @ key.transpose(1, 2) * SCALE + term
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    if sink is not None:
        extra = sink.double().view(-1, 1, 1).expand(-1, scores.size(1), 1)
        weights = torch.cat((scores, extra), 2).softmax(2)[..., :-1]
    else:
        weights = scores.softmax(2).nan_to_num(0)
    lse = scores.logsumexp(2, keepdim=True)
    return weights @ value, lse.masked_fill(lse == -math.inf, math.inf).float()


def attend_all(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_lengths: Sequence[int] | None = None,
    key_lengths: Sequence[int] | None = None,
    hidden: Sequence[torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same for sequences that are padded at their end, [B, N, S, D]."""
    batches = query.size(0)
    query_lengths = query_lengths or [query.size(2)] * batches
    key_lengths = key_lengths or [key.size(2)] * batches
    out = torch.zeros(*query.shape[:3], value.size(3), dtype=torch.float64)
    lse = torch.full((*query.shape[:3], 1), math.inf)
    for i, (queries, keys) in enumerate(zip(query_lengths, key_lengths, strict=True)):
        out[i, :, :queries], lse[i, :, :queries] = attend(
            query[i, :, :queries],
            key[i, :, :keys],
            value[i, :, :keys],
            None if hidden is None else hidden[i],
        )
    return out, lse


def fused(*args: torch.Tensor, **kwargs: object) -> tuple[torch.Tensor, torch.Tensor]:
    """The operator with its log-sum-exp; tensors go to the device."""
    moved = {
        name: to_npu(value) if isinstance(value, torch.Tensor) else value
        for name, value in kwargs.items()
    }
    options: dict[str, object] = {"scale": SCALE, "softmax_lse_flag": True, **moved}
    result: tuple[torch.Tensor, torch.Tensor] = torch_npu.npu_fused_infer_attention_score(
        *(to_npu(tensor) for tensor in args), **options
    )
    torch_npu.npu.synchronize()
    return result


def ends(lengths: Sequence[int]) -> list[int]:
    return torch.tensor(lengths).cumsum(0).tolist()


def pack(heads: torch.Tensor, lengths: Sequence[int], form: str) -> torch.Tensor:
    """Sequences of [B, N, S, D] without their padding, one after the other."""
    packed = torch.cat([heads[i, :, :length] for i, length in enumerate(lengths)], 1)  # [N, T, D]
    return packed if form == "NTD" else packed.transpose(0, 1)


def paged(heads: torch.Tensor, table: torch.Tensor, form: str) -> torch.Tensor:
    """A cache that holds [B, N, S, D] in the pages of the table; the rest is NaN."""
    count = heads.size(2) // PAGE
    cache = torch.full((PAGES, *heads.shape[1:2], PAGE, heads.size(3)), math.nan, dtype=heads.dtype)
    for i in range(heads.size(0)):
        for j in range(count):
            cache[int(table[i, j])] = heads[i, :, j * PAGE : (j + 1) * PAGE]
    if form == "joined":  # [pages, page size, H]
        return cache.transpose(1, 2).flatten(2)
    if form == "blocks":  # [pages, N, D / 16, page size, 16]
        return cache.view(*cache.shape[:3], -1, 16).transpose(2, 3)
    return cache


def hidden_keys(
    mode: int, queries: int, keys: int, *, pre: int = 2, post: int = 1, prefix: int = 3
) -> torch.Tensor:
    """The positions that each sparse mode leaves out, written down once more."""
    q, k = torch.arange(queries)[:, None], torch.arange(keys)
    shift = keys - queries
    return {
        0: torch.zeros(queries, keys, dtype=torch.bool),
        2: k > q,
        3: k > q + shift,
        4: (k > q + shift + post) | (k < q + shift - pre),
        6: (k > q + shift) & (k >= prefix),
    }[mode]

"""Steps of a decoder and what the reference computes: for the tests and the demonstration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from opwright.reference.sparse_attention_block import sparse_attention_block

from support import PAGE_SIZE, paged

if TYPE_CHECKING:
    from collections.abc import Sequence

CACHES = {"kv_cache": 512, "kr_cache": 64, "index_k_cache": 128}
WEIGHTS = {
    "w_dq": ((7168, 1536), 0.1),
    "w_uq_qr": ((1536, 128 * 192), 0.1),
    "w_uk": ((128, 128, 512), 0.1),
    "w_dkv_kr": ((7168, 576), 0.1),
    "gamma_cq": ((1536,), 1.0),
    "gamma_ckv": ((512,), 1.0),
    "w_idx_qb": ((1536, 64 * 128), 1.0),
    "w_idx_k": ((7168, 128), 1.0),
    "w_idx_proj": ((7168, 64), 1.0),
    "in_gamma_k": ((128,), 1.0),
    "in_beta_k": ((128,), 1.0),
}
LENGTHS = (60, 127, 700, 2060)  # before the first step; the second reaches the end of its page
Tensors = dict[str, torch.Tensor]


def uniform(*shape: int, most: float) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.bfloat16).uniform_(-most, most)


@dataclass(frozen=True)
class Decode:
    """A few steps of a decoder on the CPU, and what the reference computes.

    Parameters
    ----------
    constant
        Weights and block table.
    caches
        Before the first step.
    steps
        What each step gets besides.
    results, written
        What the reference returns in each step, and the caches in the end.
    """

    constant: Tensors
    caches: Tensors
    steps: Sequence[Tensors]
    results: Sequence[torch.Tensor]
    written: Tensors


def decode(queries: int, steps: int) -> Decode:
    torch.manual_seed(2026)
    pages, table = paged(LENGTHS, more=queries * steps)
    weights = {name: uniform(*shape, most=most) for name, (shape, most) in WEIGHTS.items()}
    constant = {**weights, "block_table": table}
    caches = {name: torch.randn(pages, PAGE_SIZE, 1, n).bfloat16() for name, n in CACHES.items()}
    written = {name: cache.clone() for name, cache in caches.items()}
    given, results = [], []
    for step in range(1, steps + 1):
        lengths = torch.tensor(LENGTHS) + step * queries
        tokens = lengths[:, None] - queries + torch.arange(queries)
        slots = table.gather(1, tokens // PAGE_SIZE) * PAGE_SIZE + tokens % PAGE_SIZE
        given.append(
            {
                "x": torch.randn(4, queries, 7168).bfloat16(),
                "sin": uniform(4, queries, 64, most=0.1),
                "cos": uniform(4, queries, 64, most=0.1),
                "cache_index": slots.int(),
                "act_seqs": lengths.int(),
            }
        )
        results.append(sparse_attention_block(**constant, **written, **given[-1]))
    return Decode(constant, caches, given, results, written)


def npu(tensors: Tensors) -> Tensors:
    return {name: tensor.npu() for name, tensor in tensors.items()}

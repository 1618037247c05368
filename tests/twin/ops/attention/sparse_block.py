"""Inputs of the sparse attention block, drawn from a seed, and how results are compared."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from opwright.reference.sparse_attention_block import sparse_attention_block, to_nz

CACHES = ("kv_cache", "kr_cache", "index_k_cache")
# Of npu_sparse_attention_pto's own repository.
RELATIVE, ABSOLUTE, SHARE = 0.03, 1e-4, 0.97


@dataclass(frozen=True, kw_only=True)
class Block:
    """Sequences of so many tokens, the newest `count` of which are the queries; and sizes."""

    lengths: tuple[int, ...]
    count: int = 1
    hidden: int = 256
    rank: int = 64
    heads: int = 4
    index_heads: int = 16
    page_size: int = 128
    seed: int = 0

    def inputs(self) -> dict[str, torch.Tensor]:
        """Return the operator's arguments by name."""
        generator = torch.Generator().manual_seed(self.seed)

        def uniform(*shape: int, limit: float = 0.1) -> torch.Tensor:
            values = torch.rand(shape, generator=generator).mul_(2 * limit).sub_(limit)
            return values.bfloat16()

        batch, count, hidden, rank = len(self.lengths), self.count, self.hidden, self.rank
        used = -(-max(*self.lengths, 1) // self.page_size)
        order = torch.randperm(batch * used + 2, generator=generator).int()
        pages = (len(order), self.page_size, 1)
        table = order[: batch * used].view(batch, used)
        return {
            "x": uniform(batch, count, hidden),
            "w_dq": to_nz(uniform(hidden, rank)),
            "w_uq_qr": to_nz(uniform(rank, self.heads * 192)),
            "w_uk": uniform(self.heads, 128, 512),
            "w_dkv_kr": to_nz(uniform(hidden, 576)),
            "gamma_cq": uniform(rank, limit=1),
            "gamma_ckv": uniform(512, limit=1),
            "sin": uniform(batch, count, 64),
            "cos": uniform(batch, count, 64),
            "cache_index": self.slots(table),
            "kv_cache": uniform(*pages, 512),
            "kr_cache": uniform(*pages, 64),
            "block_table": table,
            "act_seqs": torch.tensor(self.lengths, dtype=torch.int32),
            "w_idx_qb": to_nz(uniform(rank, self.index_heads * 128, limit=1)),
            "w_idx_k": to_nz(uniform(hidden, 128, limit=1)),
            "w_idx_proj": to_nz(uniform(hidden, self.index_heads, limit=1)),
            "in_gamma_k": uniform(128, limit=1),
            "in_beta_k": uniform(128, limit=1),
            "index_k_cache": uniform(*pages, 128, limit=1),
        }

    def slots(self, table: torch.Tensor) -> torch.Tensor:
        """Return the rows of the caches of the newest tokens."""
        rows = torch.empty(len(self.lengths), self.count, dtype=torch.int32)
        for b, length in enumerate(self.lengths):
            for s in range(self.count):
                token = max(length - self.count + s, 0)
                page = int(table[b, token // self.page_size])
                rows[b, s] = page * self.page_size + token % self.page_size
        return rows


def native(inputs: dict[str, torch.Tensor], *, vendor_limits: bool = False) -> torch.Tensor:
    """Return the twin's result; the caches among the inputs are written."""
    out: torch.Tensor = torch.ops.opwright.sparse_attention_block(
        **inputs, vendor_limits=vendor_limits
    )
    return out


def copied(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the inputs with caches of their own."""
    return {name: x.clone() if name in CACHES else x for name, x in inputs.items()}


def assert_agrees(inputs: dict[str, torch.Tensor]) -> None:
    """Compare output and caches with the reference's; the inputs' caches stay as they are."""
    expected, got = copied(inputs), copied(inputs)
    want, out = sparse_attention_block(**expected), native(got)
    assert out.shape == want.shape
    assert out.dtype == want.dtype
    close = torch.isclose(out.float(), want.float(), rtol=RELATIVE, atol=ABSOLUTE)
    assert close.float().mean() >= SHARE
    for name in CACHES:
        # Sums in another order change the last bit of few elements.
        torch.testing.assert_close(got[name], expected[name], rtol=2**-7, atol=2**-10)
        assert (got[name] != expected[name]).sum() <= 1 + 0.02 * inputs["x"][..., 0].numel() * 128

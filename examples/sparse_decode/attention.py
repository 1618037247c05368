"""How long a layer's attention takes for a token: to selected tokens, and to the whole context.

Both read the same paged cache. Dense attention exists twice, and the faster one counts:

kernel   npu_sparse_flash_attention with all blocks of 128 tokens selected: the same kernel
matmul   two products and a softmax in plain PyTorch
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import torch
import torch_npu

from model import PAGE, Cache, Config, paged, random

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds per layer and token, the fastest of some rounds."""

    context: int  # tokens
    indexer: float
    sparse: float  # attention to what the indexer selected
    dense_kernel: float
    dense_matmul: float

    @property
    def speed_up(self) -> float:
        """How much faster sparse attention is, with the indexer counted."""
        return min(self.dense_kernel, self.dense_matmul) / (self.indexer + self.sparse)


class Operands:
    """The operands of attention of one new token, at a context's length."""

    def __init__(self, config: Config, cache: Cache, context: int, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)

        def queries(heads: int, width: int) -> Tensor:
            return random((1, heads, width), 1.0, generator).npu()

        self.config = config
        self.cache = Cache(*(tensor[:context] for tensor in cache))
        self.query = queries(config.heads, config.latent)
        self.query_rope = queries(config.heads, config.rope)
        self.index_query = queries(config.index_heads, config.index_width)
        self.index_weights = queries(1, config.index_heads)[0]
        pages = torch.randperm(context // PAGE, generator=generator)
        self.paging = {
            "block_table": pages.int()[None].npu(),
            "actual_seq_lengths_query": torch.ones(1, dtype=torch.int32).npu(),
        }
        self.length = torch.tensor([context], dtype=torch.int32).npu()
        self.selected = self.select()
        self.blocks = torch.arange(context // PAGE, dtype=torch.int32).view(1, 1, -1).npu()

    def select(self) -> Tensor:
        """Run the lightning indexer."""
        return torch_npu.npu_lightning_indexer(
            self.index_query,
            paged(self.cache.index),
            self.index_weights,
            actual_seq_lengths_key=self.length,
            layout_query="TND",
            layout_key="PA_BSND",
            sparse_count=self.config.selected,
            **self.paging,
        )[0]

    def sparse(self) -> Tensor:
        """Attend to the selected tokens."""
        return self.attend(self.selected, 1)

    def dense_kernel(self) -> Tensor:
        """Attend to all tokens, with the operator of sparse attention."""
        return self.attend(self.blocks, PAGE)

    def attend(self, indices: Tensor, block_size: int) -> Tensor:
        """Attend to blocks of tokens."""
        keys = paged(self.cache.latent)
        return torch_npu.npu_sparse_flash_attention(
            self.query,
            keys,
            keys,
            indices,
            self.config.scale,
            query_rope=self.query_rope,
            key_rope=paged(self.cache.rope),
            actual_seq_lengths_kv=self.length,
            sparse_block_size=block_size,
            layout_query="TND",
            layout_kv="PA_BSND",
            attention_mode=2,
            **self.paging,
        )[0]

    def dense_matmul(self) -> Tensor:
        """Attend to all tokens, in any order, with products of matrices."""
        logits = self.query[0] @ self.cache.latent.T + self.query_rope[0] @ self.cache.rope.T
        shares = torch.softmax(logits * self.config.scale, -1)
        return (shares @ self.cache.latent)[None]


def measure(config: Config, cache: Cache, context: int, rounds: int) -> Times:
    """Measure the kinds of attention in turn, so that other load on the machine meets all.

    Raises
    ------
    AssertionError
        The two kinds of dense attention differ.
    """
    operands = Operands(config, cache, context)
    torch.testing.assert_close(
        operands.dense_matmul().cpu(), operands.dense_kernel().cpu(), rtol=0.05, atol=0.01
    )
    sides: dict[str, Callable[[], Tensor]] = {
        "indexer": operands.select,
        "sparse": operands.sparse,
        "dense_kernel": operands.dense_kernel,
        "dense_matmul": operands.dense_matmul,
    }
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            begin = time.perf_counter()
            side()
            torch.npu.synchronize()
            taken[name].append((time.perf_counter() - begin) * 1e3)
    return Times(context, **{name: min(values) for name, values in taken.items()})


def as_row(times: Times) -> dict[str, float]:
    """Return the columns of the table, by name."""
    return asdict(times) | {"speed_up": times.speed_up}

"""Batches of sequences in each layout, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from hypothesis import strategies as st

PAGE = 16


def lengths(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def parts(packed: torch.Tensor, counts: tuple[int, ...], axis: int = 0) -> list[torch.Tensor]:
    """Return the tokens of each sequence."""
    return [*torch.split(packed, [*counts], axis)]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Sequences with so many queries and keys."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]
    seed: int

    def generator(self, salt: int = 0) -> torch.Generator:
        return torch.Generator().manual_seed(self.seed * 100 + salt)

    def normal(self, *shape: int, salt: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
        return torch.randn(shape, generator=self.generator(salt)).to(dtype)

    @property
    def query_ends(self) -> torch.Tensor:
        return lengths(*self.queries).cumsum(0).int()

    @property
    def key_ends(self) -> torch.Tensor:
        return lengths(*self.keys).cumsum(0).int()

    def padded(self, packed: torch.Tensor, counts: tuple[int, ...]) -> torch.Tensor:
        """Return [T, ...] as [B, S, ...], with noise where there is no token."""
        rows = packed.new_full((len(counts), max(counts) + 1, *packed.shape[1:]), 3)
        for row, part in zip(rows, parts(packed, counts), strict=True):
            row[: len(part)] = part
        return rows

    def paged(self, packed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return [T, ...] in pages, in an order of their own, and the block table."""
        counts = [-(-count // PAGE) for count in self.keys]
        order = torch.randperm(sum(counts) + 2, generator=self.generator(99)).int()
        pages = packed.new_full((len(order), PAGE, *packed.shape[1:]), 3)
        table = torch.full((len(counts), max(counts) + 1), -1, dtype=torch.int32)
        for row, part, names in zip(
            table, parts(packed, self.keys), parts(order[: sum(counts)], (*counts,)), strict=True
        ):
            row[: len(names)] = names
            for i, token in enumerate(part):
                pages[row[i // PAGE], i % PAGE] = token
        return pages, table


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    count = draw(st.integers(1, 3))
    queries = draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    keys = draw(st.lists(st.integers(0, 40), min_size=count, max_size=count))
    return Batch(queries=(*queries,), keys=(*keys,), seed=draw(st.integers(0, 1000)))

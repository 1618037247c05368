"""Where the tokens of each sequence lie, in the layouts of the sparse attention operators.

With B sequences of at most S tokens, T tokens of all sequences, N heads and D their size:

* BSND: `[B, S, N, D]`; lengths are what counts of each sequence, absent if all do.
* TND: `[T, N, D]`; lengths are the end of each sequence, so that their number is B.
* PA_BSND: `[pages, page size, N, D]`, keys only; lengths are those of the sequences. Row b of the
  block table names the pages of sequence b in order; entries after its last page are not read.

Lengths and block tables are int32.

Source: op-plugin, docs of npu_lightning_indexer and npu_sparse_flash_attention (2026-06).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from opwright.reference.errors import ReferenceArgumentError, require_one_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "UNLIMITED",
    "Operands",
    "Sequence",
    "query_rows",
    "require_unlimited",
    "sequences",
    "visible",
]

UNLIMITED = 2**63 - 1  # the only value of pre_tokens and next_tokens that the operators take
NO_MASK, CAUSAL = 0, 3  # of sparse_mode

Span = tuple[int, int]  # the first token, and how many


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """The arguments that say where tokens lie.

    Parameters
    ----------
    query, key
        Tensors in their layouts; their values are not read.
    lengths_name, layout_name
        What the operator calls the lengths and the layout of the keys.
    """

    query: torch.Tensor
    key: torch.Tensor
    query_lengths: torch.Tensor | None
    key_lengths: torch.Tensor | None
    block_table: torch.Tensor | None
    query_layout: str
    key_layout: str
    lengths_name: str = "actual_seq_lengths_key"
    layout_name: str = "layout_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """One sequence of a batch.

    Parameters
    ----------
    index
        Its place in the batch.
    first_query, queries
        Its rows among those of `query_rows`.
    first_key, keys
        Its tokens; the first is that of TND, else 0.
    pages
        The block table's row; None if keys are not paged.
    """

    index: int
    first_query: int
    queries: int
    first_key: int
    keys: int
    key_layout: str
    pages: torch.Tensor | None

    def tokens(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return this sequence's tokens, `[keys, N, D]`, of a tensor in the keys' layout."""
        if self.key_layout == "TND":
            return tensor[self.first_key : self.first_key + self.keys]
        if self.pages is None:
            return tensor[self.index, : self.keys]
        token = torch.arange(self.keys, device=tensor.device)
        size = tensor.shape[1]
        # As bytes, because not every torch can index numbers of eight bits that are no integers.
        content = tensor.view(torch.uint8) if tensor.element_size() == 1 else tensor
        return content[self.pages.long()[token // size], token % size].view(tensor.dtype)


def query_rows(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """Return a tensor in the queries' layout as `[rows, N, D]`; rows are those of all sequences."""
    return tensor.flatten(0, 1) if layout == "BSND" else tensor


def visible(sequence: Sequence, row: int, sparse_mode: int) -> int:
    """Return how many keys query `row` of a sequence sees.

    All of them in mode 0; in mode 3 those up to its own, if the last query stands at the last key.
    """
    if sparse_mode == NO_MASK:
        return sequence.keys
    return min(max(sequence.keys - sequence.queries + row + 1, 0), sequence.keys)


def require_unlimited(sparse_mode: int, pre_tokens: int, next_tokens: int) -> None:
    """Refuse modes and windows that the operators do not have."""
    require_one_of("sparse_mode", sparse_mode, (NO_MASK, CAUSAL))
    require_one_of("pre_tokens", pre_tokens, [UNLIMITED])
    require_one_of("next_tokens", next_tokens, [UNLIMITED])


def sequences(operands: Operands) -> Iterator[Sequence]:
    """Yield the sequences of a batch, in order.

    Raises
    ------
    ReferenceArgumentError
        A layout that is not known, or lengths and block tables that do not go with it.
    """
    require_one_of("layout_query", operands.query_layout, ("BSND", "TND"))
    require_one_of(operands.layout_name, operands.key_layout, (operands.query_layout, "PA_BSND"))
    paged = operands.key_layout == "PA_BSND"
    if paged != (operands.block_table is not None):
        raise ReferenceArgumentError(
            where="parameter 'block_table'",
            got="nothing" if paged else "a tensor",
            allowed=["a tensor" if paged else f"nothing, as {operands.layout_name} is not PA_BSND"],
        )
    queries = spans(
        operands.query, operands.query_layout, operands.query_lengths, "actual_seq_lengths_query"
    )
    keys = spans(operands.key, operands.key_layout, operands.key_lengths, operands.lengths_name)
    if len(keys) != len(queries):
        raise ReferenceArgumentError(
            where=f"parameter '{operands.lengths_name}'",
            got=f"{len(keys)} sequences",
            allowed=[f"{len(queries)}, as queries have"],
        )
    packed = operands.query_layout == "TND"
    for index, ((query, rows), (key, tokens)) in enumerate(zip(queries, keys, strict=True)):
        yield Sequence(
            index=index,
            first_query=query + (0 if packed else index * operands.query.shape[1]),
            queries=rows,
            first_key=key,
            keys=tokens,
            key_layout=operands.key_layout,
            pages=None if operands.block_table is None else operands.block_table[index],
        )


def spans(tensor: torch.Tensor, layout: str, lengths: torch.Tensor | None, name: str) -> list[Span]:
    """Return each sequence's first token in its row or in T, and how many it has."""
    if lengths is None:
        if layout != "BSND":
            raise ReferenceArgumentError(
                where=f"parameter '{name}'", got="nothing", allowed=[f"a tensor in layout {layout}"]
            )
        return [(0, tensor.shape[1])] * tensor.shape[0]
    values: list[int] = lengths.tolist()
    if layout != "TND":
        return [(0, length) for length in values]
    return [(start, end - start) for start, end in zip([0, *values], values, strict=False)]

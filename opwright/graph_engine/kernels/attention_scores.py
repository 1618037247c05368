"""Scaled dot-product attention by head: what the operators of fused attention have in common.

A reference: the scores exist as one tensor. Half precision is computed in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.kernels.precision import widen

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Band",
    "Problem",
    "Result",
    "attend",
    "hidden_keys",
    "join_heads",
    "refuse",
    "split_heads",
]

BY_HEAD = "BNSD"
JOINED = ("BSH", "SBH")


def refuse(given: Mapping[str, object]) -> None:
    """Raise NotImplementedError for inputs that are given although they are not computed."""
    names = [name for name, value in given.items() if value is not None]
    if names:
        message = f"inputs {', '.join(names)} are not available"
        raise NotImplementedError(message)


def split_heads(x: torch.Tensor, layout: str, heads: int) -> torch.Tensor:
    """Return x as [batch, heads, rows, size].

    Raises
    ------
    NotImplementedError
        The layout has no axis of batches.
    """
    if layout == BY_HEAD:
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout not in JOINED:
        message = f"layout '{layout}' is not available; available are BNSD, BSND, BSH and SBH"
        raise NotImplementedError(message)
    split = x.reshape([*x.shape[:2], heads, -1])
    return split.transpose(1, 2) if layout == "BSH" else split.permute(1, 2, 0, 3)


def join_heads(x: torch.Tensor, layout: str) -> torch.Tensor:
    """Return [batch, heads, rows, size] in a layout."""
    if layout == BY_HEAD:
        return x.contiguous()
    if layout == "BSND":
        return x.transpose(1, 2).contiguous()
    rows = x.transpose(1, 2) if layout == "BSH" else x.permute(2, 0, 1, 3)
    return rows.flatten(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Which keys a query sees, by the attribute `sparse_mode`.

    Parameters
    ----------
    before, after
        How many keys before and after its own position a query sees, in modes 0 and 4.
    shift
        Keys less queries: what aligns the lower right corners.
    """

    mode: int
    before: int
    after: int
    shift: int


def mask_outside(queries: int, keys: int, before: int | None, after: int) -> torch.Tensor:
    """Return where a key is further away than a query sees."""
    distance = torch.arange(keys) - torch.arange(queries).unsqueeze(1)
    hidden = distance > after
    return hidden if before is None else hidden | (distance < -before)


def hidden_keys(
    band: Band, mask: torch.Tensor | None, prefix: list[int] | None, queries: int, keys: int
) -> torch.Tensor | None:
    """Return the keys that a query does not see; None if it sees them all.

    Raises
    ------
    NotImplementedError
        The mode is not one of 0 to 6.
    """
    if mask is None:
        return None
    if band.mode in (1, 5):
        return mask.bool()
    if band.mode == 0:
        return mask.bool() | mask_outside(queries, keys, band.before, band.after)
    if band.mode in (2, 3):
        return mask_outside(queries, keys, None, 0 if band.mode == 2 else band.shift)  # noqa: PLR2004
    if band.mode == 4:  # noqa: PLR2004 -- the IR's number
        return mask_outside(queries, keys, band.before - band.shift, band.after + band.shift)
    if band.mode == 6 and prefix is not None:  # noqa: PLR2004 -- the IR's number
        seen = torch.tensor(prefix).reshape(-1, 1, 1, 1)
        return mask_outside(queries, keys, None, band.shift) & (torch.arange(keys) >= seen)
    message = f"sparse_mode {band.mode} is not available, or needs a prefix"
    raise NotImplementedError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Operands as [batch, heads, rows, size]; the query's heads are a multiple of the key's.

    Parameters
    ----------
    hidden
        Keys that a query does not see.
    position
        Is added to the scores: before they are scaled if `scale_position`.
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    scale: float
    hidden: torch.Tensor | None = None
    position: torch.Tensor | None = None
    scale_position: bool = False

    def product(self, rows: torch.Tensor, matrices: torch.Tensor) -> torch.Tensor:
        """Return rows of each head of the query times the matrix that it shares with others."""
        batches, heads, queries, width = rows.shape
        shared = matrices.shape[1]
        if shared == heads:
            return rows @ matrices
        joined = rows.reshape(batches, shared, heads // shared * queries, width)
        return (joined @ matrices).reshape(batches, heads, queries, matrices.shape[-1])

    def scores(self) -> torch.Tensor:
        """Return the scaled products, minus infinity where a key is hidden."""
        scores = self.product(widen(self.query), widen(self.key).transpose(-1, -2))
        if self.position is not None and self.scale_position:
            scores = scores + self.position
        scores = scores * self.scale
        if self.position is not None and not self.scale_position:
            scores = scores + self.position
        return scores if self.hidden is None else scores.masked_fill(self.hidden, -torch.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of attention, and the statistics of its softmax.

    A row that sees no key has the result zero, the maximum 0 and the sum 1.
    """

    out: torch.Tensor
    highest: torch.Tensor
    total: torch.Tensor


def attend(problem: Problem) -> Result:
    """Return softmax(scores) @ value."""
    scores = problem.scores()
    if scores.shape[-1]:
        highest = scores.amax(-1, keepdim=True)
    else:  # there are no keys
        highest = scores.new_full((*scores.shape[:-1], 1), -torch.inf)
    blind = highest == -torch.inf
    highest = highest.masked_fill(blind, 0)
    weights = (scores - highest).exp()
    total = weights.sum(-1, keepdim=True)
    total = total.masked_fill(blind, 1)
    out = problem.product(weights / total, widen(problem.value))
    return Result(out=out.to(problem.query.dtype), highest=highest, total=total)

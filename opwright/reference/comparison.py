"""When results of a kernel are those of the reference: the rules of the vendor's own tests.

Source: ops-transformer, attention/lightning_indexer and attention/sparse_flash_attention (2026-06).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["differing_attention", "differing_rows"]

SLACK = 1e-4  # relative, near the last score that is selected
SHARE = 0.995  # of elements that are within the tolerance
MOST = 10.0  # times the relative difference of the rest
# Relative and absolute.
TOLERANCES = {torch.float16: (0.005, 2.5e-5), torch.bfloat16: (2**-7, 1e-4)}
SMALLEST = 2**-14 / 0.005  # values below it count as so large


def differing_rows(
    actual: torch.Tensor, expected: torch.Tensor, scores: Sequence[torch.Tensor]
) -> list[int]:
    """Return the rows of an indexer's result that select other keys than the reference.

    A key may stand for another if the scores of both are within relative 1e-4 of the last score
    that the reference selected. Each row has its keys before its -1, and none twice.

    Parameters
    ----------
    actual, expected
        Indices `[..., sparse_count]`.
    scores
        Of each row, as `lightning_indexer_scores` has them.
    """
    rows = zip(
        actual.flatten(0, -2).tolist(), expected.flatten(0, -2).tolist(), scores, strict=True
    )
    return [
        i for i, (got, wanted, score) in enumerate(rows) if not same_selection(got, wanted, score)
    ]


def same_selection(got: list[int], wanted: list[int], scores: torch.Tensor) -> bool:
    """Return whether a row selects what the reference does, but for scores near the last."""
    found, known = ({*row} - {-1} for row in (got, wanted))
    count = len(known)
    if len(found) != count or got[count:] != [-1] * (len(got) - count):
        return False
    others = found ^ known
    if not others:
        return True
    if not others <= {*range(len(scores))}:
        return False
    last = float(scores[wanted[count - 1]])
    return all(abs(float(scores[j]) - last) <= SLACK * abs(last) for j in others)


def differing_attention(actual: torch.Tensor, expected: torch.Tensor) -> str | None:
    """Return how a result of attention differs from the reference; None if it does not.

    99.5 percent of the elements are within the tolerance of the dtype (float16: relative 0.005,
    absolute 2.5e-5; bfloat16: relative 2^-7, absolute 1e-4); no relative difference is 10 or more.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{[*actual.shape]} for {expected.dtype}{[*expected.shape]}"
    if expected.numel() == 0:
        return None
    relative, absolute = TOLERANCES[expected.dtype]
    got, wanted = actual.double(), expected.double()
    share = float(torch.isclose(got, wanted, rtol=relative, atol=absolute).double().mean())
    sizes = torch.maximum(got.abs(), wanted.abs()).clamp(min=SMALLEST)
    most = float(((got - wanted).abs() / sizes).max())
    if share >= SHARE and most < MOST:
        return None
    return f"{share:.2%} of the elements are within the tolerance; relative difference up to {most}"

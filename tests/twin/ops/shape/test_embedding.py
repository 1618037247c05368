"""Table look-ups: native/opapi/ops/shape/embedding.cpp."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.twin.ops.compare import check, check_in_place, rejects
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import positions, some

ROWS = 7
INDICES = (torch.int64, torch.int32)


@pytest.mark.parametrize("dtype", INDICES, ids=str)
@pytest.mark.parametrize("shape", [(4,), (2, 3), (), (0, 2)])
def test_embedding(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    indices = positions(shape, ROWS, dtype)
    check_gradients(lambda w, i: functional.embedding(i, w), leaf((ROWS, 5)), indices)
    check(functional.embedding, indices, some((5, ROWS), torch.float32).t())
    check(functional.embedding, indices, some((ROWS, 5), torch.bfloat16))


@pytest.mark.parametrize("settings", [{"padding_idx": 2}, {"scale_grad_by_freq": True}], ids=str)
def test_gradient_settings(settings: dict[str, Any]) -> None:
    indices = torch.tensor([2, 1, 1, 5, 2, 1])
    check_gradients(lambda w, i: functional.embedding(i, w, **settings), leaf((ROWS, 5)), indices)


def test_renorm() -> None:
    check_in_place(
        lambda w, i: torch.embedding_renorm_(w, i.to(w.device), 1.5, 2.0),
        some((ROWS, 5), torch.float32),
        torch.tensor([1, 4, 1]),
    )


def test_index_out_of_range() -> None:
    rejects("Embedding", functional.embedding, torch.tensor([ROWS]), torch.ones(ROWS, 2))


@pytest.mark.parametrize("dtype", INDICES, ids=str)
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("padding", [None, 2])
def test_bag(mode: str, last: bool, padding: int | None, dtype: torch.dtype) -> None:  # noqa: FBT001
    """Bags of different sizes, one of them empty."""
    indices = torch.tensor([2, 1, 4, 5, 2, 0, 6, 1], dtype=dtype)
    offsets = torch.tensor([0, 3, 3, 6, 8] if last else [0, 3, 3, 6], dtype=dtype)
    bag = partial(
        functional.embedding_bag, mode=mode, include_last_offset=last, padding_idx=padding
    )
    check_gradients(lambda w, i, o: bag(i, w, o), leaf((ROWS, 5)), indices, offsets)


def test_weighted_bag() -> None:
    indices, offsets = torch.tensor([2, 1, 4, 5, 2]), torch.tensor([0, 3])
    weights = some((5,), torch.float32)
    bag = partial(functional.embedding_bag, mode="sum", per_sample_weights=None)
    check_gradients(
        lambda w, i, o, s: functional.embedding_bag(i, w, o, mode="sum", per_sample_weights=s),
        leaf((ROWS, 5)),
        indices,
        offsets,
        weights,
    )
    check(bag, indices.view(1, 5), some((ROWS, 5), torch.float32))

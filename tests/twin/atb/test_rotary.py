"""Rope by formula: native/atb/ops/rope.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.on_twin import output
from tests.twin.ops.compare import close
from tests.twin.ops.samples import normal

SIZE = 32
PLACES = [3, 49, 0, 7, 7]


def rotated(x: torch.Tensor, table: torch.Tensor, *, are_halves: bool) -> torch.Tensor:
    """Pairs (a, b) become (a cos - b sin, b cos + a sin); pairs are of halves or neighbours."""
    cos, sin = table.float()[PLACES].unsqueeze(1).chunk(2, -1)
    heads = x.float().view(len(PLACES), -1, SIZE)
    first, second = heads.chunk(2, -1) if are_halves else (heads[..., ::2], heads[..., 1::2])
    pairs = first * cos - second * sin, second * cos + first * sin
    joined = torch.cat(pairs, -1) if are_halves else torch.stack(pairs, -1).flatten(-2)
    return joined.view(x.shape)


def check_rotation(name: str) -> None:
    """Compare both kinds of pairs, of query and key, for one dtype."""
    dtype = getattr(torch, name)
    table = normal(50, SIZE, dtype=dtype)
    given = normal(5, 4 * SIZE, dtype=dtype, seed=1), normal(5, 2 * SIZE, dtype=dtype, seed=2)
    for are_halves in (True, False):
        query, key = (tensor.to("npu") for tensor in given)
        torch_npu._npu_rotary_embedding(  # noqa: SLF001  # as models call it
            torch.tensor(PLACES).to("npu"), query, key, SIZE, table.to("npu"), are_halves
        )
        for actual, before in zip((query, key), given, strict=True):
            close(actual, rotated(before, table, are_halves=are_halves))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_pairs_of_a_head_turn(name: str) -> None:
    """torch_npu keeps the first table of a process for all calls, so each dtype has a process."""
    assert output(check_rotation, name) == ""

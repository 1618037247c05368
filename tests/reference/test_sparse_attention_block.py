"""The reference of the sparse attention block: its pieces by hand, and the block against them."""

from __future__ import annotations

import math

import pytest
import torch

from opwright.reference.errors import ReferenceArgumentError
from opwright.reference.sparse_attention_block import (
    from_nz,
    layer_norm,
    rms_norm,
    rope,
    rope_first,
    sparse_attention_block,
    to_nz,
    write,
)
from tests.twin.ops.attention.sparse_block import CACHES, Block, copied

pytestmark = pytest.mark.torch


def test_fractal_nz_has_sixteen_columns_after_sixteen_columns() -> None:
    matrix = torch.arange(64 * 48).view(64, 48)
    stored = to_nz(matrix)
    assert stored.shape == matrix.shape
    flat = stored.flatten()
    for k, n in ((0, 0), (0, 15), (0, 16), (1, 0), (63, 47), (17, 33)):
        assert flat[(n // 16 * 64 + k) * 16 + n % 16] == matrix[k, n]
    assert torch.equal(from_nz(stored), matrix)


def test_rope_turns_interleaved_pairs_into_halves() -> None:
    x = torch.arange(64.0).bfloat16()
    plain = rope(x, torch.zeros(64), torch.ones(64))
    assert plain.tolist() == [*range(0, 64, 2), *range(1, 64, 2)]
    # A quarter turn: (even, odd) becomes (-odd, even).
    turned = rope(x, torch.ones(64), torch.zeros(64))
    assert turned.tolist() == [*range(-1, -65, -2), *range(0, 64, 2)]


def test_rope_has_an_angle_for_each_column() -> None:
    x = torch.zeros(64).bfloat16()
    x[6], x[7] = 2, 3  # the pair 3: columns 3 and 35 of the result
    sin, cos = torch.zeros(64), torch.zeros(64)
    sin[3], cos[3], sin[35], cos[35] = 0.5, 1, 0.25, 2
    out = rope(x, sin, cos)
    assert out[3] == 2 * 1 - 3 * 0.5
    assert out[35] == 3 * 2 + 2 * 0.25
    assert out.count_nonzero() == 2


def test_rope_leaves_what_is_beyond_the_first_columns() -> None:
    x = torch.randn(3, 128, generator=torch.Generator().manual_seed(0)).bfloat16()
    sin, cos = torch.full((3, 64), 0.5), torch.full((3, 64), 0.25)
    out = rope_first(x, sin, cos)
    assert torch.equal(out[:, 64:], x[:, 64:])
    assert torch.equal(out[:, :64], rope(x[:, :64], sin, cos))


def test_rms_norm_by_hand() -> None:
    x = torch.tensor([[3.0, 4.0]]).bfloat16()  # mean square 12.5
    out = rms_norm(x, torch.tensor([1.0, 2.0]), 0.0)
    scale = 1 / math.sqrt(12.5)
    assert out.tolist() == [torch.tensor([3 * scale, 8 * scale]).bfloat16().tolist()]
    assert rms_norm(torch.zeros(1, 4), torch.ones(4), 1e-5).tolist() == [[0, 0, 0, 0]]


def test_layer_norm_by_hand() -> None:
    x = torch.tensor([[1.0, 5.0]])  # mean 3, variance 4
    out = layer_norm(x, torch.tensor([1.0, 3.0]), torch.tensor([0.5, 0.0]), 0.0)
    assert out.tolist() == [[-0.5, 3.0]]


def test_the_last_write_to_a_cache_row_stays() -> None:
    cache = torch.zeros(2, 4, 1, 3)
    write(cache, [5, 0, 5], torch.tensor([[1.0] * 3, [2.0] * 3, [3.0] * 3]))
    expected = torch.zeros(8, 3)
    expected[0], expected[5] = 2, 3
    assert torch.equal(cache.view(8, 3), expected)


def test_only_rows_of_the_cache_index_are_written() -> None:
    inputs = Block(lengths=(5, 130), count=2).inputs()
    before = copied(inputs)
    sparse_attention_block(**inputs)
    rows = set(inputs["cache_index"].flatten().tolist())
    for name in CACHES:
        differs = (inputs[name] != before[name]).flatten(1).view(-1, inputs[name].size(-1)).any(1)
        assert set(differs.nonzero().flatten().tolist()) == rows


def test_a_lone_token_returns_its_own_compressed_key() -> None:
    """With one visible token the softmax is 1, and the result of each head is the value."""
    inputs = Block(lengths=(1, 1, 1)).inputs()
    out = sparse_attention_block(**inputs)
    own = inputs["kv_cache"].view(-1, 512)[inputs["cache_index"].flatten().long()]
    assert torch.equal(out, own.view(3, 1, 1, 512).expand(-1, -1, 4, -1))


def test_a_query_sees_the_new_tokens_before_it_only() -> None:
    inputs = Block(lengths=(40,), count=3).inputs()
    out = sparse_attention_block(**copied(inputs))
    later = copied(inputs)
    later["x"] = inputs["x"].clone()
    later["x"][:, 2] += 1
    changed = sparse_attention_block(**later)
    assert torch.equal(changed[:, :2], out[:, :2])
    assert not torch.equal(changed[:, 2], out[:, 2])


def test_a_sequence_shorter_than_the_new_tokens_has_rows_of_zeros() -> None:
    out = sparse_attention_block(**Block(lengths=(1, 0), count=2).inputs())
    assert [bool(row.any()) for row in out.flatten(0, 1)] == [False, True, False, False]


@pytest.mark.parametrize("row", [-1, 6 * 128])
def test_a_row_that_the_caches_lack_is_refused_before_any_is_written(row: int) -> None:
    inputs = Block(lengths=(5, 130)).inputs()
    assert inputs["kv_cache"].shape[:2] == (6, 128)
    inputs["cache_index"][1] = row
    before = copied(inputs)
    with pytest.raises(ReferenceArgumentError, match="'cache_index'"):
        sparse_attention_block(**inputs)
    assert all(torch.equal(inputs[name], before[name]) for name in CACHES)

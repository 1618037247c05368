"""The sparse attention block: native/sparse_attention/block."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import torch

from tests.twin.ops.attention.sparse_block import CACHES, Block, assert_agrees, copied, native

if TYPE_CHECKING:
    from collections.abc import Callable

    Inputs = dict[str, torch.Tensor]

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = Block(lengths=(1, 130, 300, 257))
FULL = {"hidden": 7168, "rank": 1536, "heads": 128, "index_heads": 64}


@pytest.mark.parametrize(
    "block",
    [
        SMALL,
        Block(lengths=(2, 7, 128, 2500), count=2),
        Block(lengths=(4097,), count=2, heads=1),
        Block(lengths=(1, 0, 3, 40), count=2),  # shorter than the new tokens: rows of zeros
        Block(lengths=(50, 17, 64), count=3, page_size=16),
        Block(lengths=(9,) * 7, count=5, heads=16, index_heads=64),
        Block(lengths=(3, 1) * 32, count=2, hidden=528, rank=32),  # 128 rows
    ],
    ids=lambda block: f"{len(block.lengths)}-{block.count}-{max(block.lengths)}",
)
def test_agrees_with_the_reference(block: Block) -> None:
    assert_agrees(block.inputs())


def test_agrees_at_its_real_size() -> None:
    assert_agrees(Block(lengths=(1, 300, 2049, 4097), count=2, **FULL).inputs())


@pytest.mark.isolated
@pytest.mark.parametrize("level", ["base", "avx2", "avx512", "avx512_bf16"])
def test_agrees_with_each_instruction_set(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level that the CPU lacks is the best that it has."""
    monkeypatch.setenv("OPWRIGHT_CPU_ISA", level)  # it is read at the first call
    for rows in (1, 2, 3, 4, 5, 6, 7, 8, 12, 25):
        assert_agrees(Block(lengths=(20,) * rows, hidden=1056, heads=2).inputs())
    assert_agrees(Block(lengths=(2300, 9), count=2).inputs())


def test_rows_that_see_nothing_are_zero() -> None:
    out = native(Block(lengths=(1, 0, 3), count=2).inputs())
    assert [bool(row.any()) for row in out.flatten(0, 1)] == [False, True, False, False, True, True]


def test_the_last_token_of_a_cache_row_stays() -> None:
    inputs = SMALL.inputs()
    inputs["cache_index"].fill_(5)
    assert_agrees(inputs)
    last = copied(inputs)
    native(last)
    alone = copied(inputs)
    for name in ("x", "sin", "cos"):
        alone[name] = inputs[name][3:]
    for name in ("cache_index", "act_seqs", "block_table"):
        alone[name] = inputs[name][3:]
    native(alone)
    for name in CACHES:
        assert torch.equal(last[name], alone[name])


def test_pages_may_lie_apart() -> None:
    inputs = SMALL.inputs()
    apart = dict(inputs)
    for name in CACHES:
        cache = inputs[name]
        apart[name] = torch.stack((cache, torch.full_like(cache, 7)), dim=1)[:, 0]
    assert not apart["kv_cache"].is_contiguous()
    dense = copied(inputs)
    assert torch.equal(native(apart), native(dense))
    for name in CACHES:
        assert torch.equal(apart[name], dense[name])


def test_small_operands_may_be_strided() -> None:
    inputs = Block(lengths=(100, 130), count=2).inputs()
    strided = copied(inputs)
    for name in ("x", "sin", "cos", "cache_index", "act_seqs", "gamma_cq", "in_beta_k"):
        strided[name] = torch.stack((inputs[name], inputs[name]), dim=-1)[..., 0]
        assert not strided[name].is_contiguous()
    assert torch.equal(native(strided), native(copied(inputs)))


def test_the_number_of_threads_changes_no_bit() -> None:
    inputs = Block(lengths=(2100, 600, 3), count=2, heads=16).inputs()
    results = []
    for number in (1, 2, 3):
        torch.set_num_threads(number)
        caches = copied(inputs)
        results.append((native(caches), *(caches[name] for name in CACHES)))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def changed(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Inputs:
    inputs = SMALL.inputs()
    inputs[name] = change(inputs[name])
    return inputs


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("x", lambda t: t.half(), r"'x' is Half\[4, 1, 256\]; it must be BFloat16\[4, 1, 256\]"),
        ("x", lambda t: t[..., :250], r"'x' has 250 columns; it must be a multiple of 16"),
        ("x", lambda t: t[:0], r"'x' has shape \[0, 1, 256\]; it must have at least one token"),
        ("w_dq", lambda t: t.T, r"'w_dq' is .*\[64, 256\]; it must be .*\[256, 256\]"),
        ("w_dq", lambda t: t[0], r"'w_dq' has shape \[64\]; it must have 2 dimensions"),
        ("w_uq_qr", lambda t: t[:, :192], r"'w_uq_qr' .*\[64, 192\]; it must be .*\[64, 768\]"),
        ("w_uk", lambda t: t[..., :256], r"'w_uk' .*; it must be .*\[4, 128, 512\]"),
        (
            "w_uk",
            lambda t: t.repeat(33, 1, 1),
            r"'w_uk' has 132 heads; it must be between 1 and 128",
        ),
        ("w_dkv_kr", lambda t: t[:, :512], r"'w_dkv_kr' .*; it must be .*\[256, 576\]"),
        ("gamma_cq", lambda t: t.float(), r"'gamma_cq' is Float\[64\]; it must be BFloat16\[64\]"),
        ("gamma_ckv", lambda t: t[:64], r"'gamma_ckv' .*; it must be .*\[512\]"),
        ("sin", lambda t: t[..., :32], r"'sin' .*; it must be .*\[4, 1, 64\]"),
        ("cos", lambda t: t[0], r"'cos' .*; it must be .*\[4, 1, 64\]"),
        ("cache_index", lambda t: t.long(), r"'cache_index' is Long\[4, 1\]; it must be Int"),
        ("cache_index", lambda t: t - 5000, r"'cache_index' has -.*; rows of the caches are"),
        ("cache_index", lambda t: t + 5000, r"'cache_index' has .* between 0 and 1791"),
        ("kv_cache", lambda t: t[0], r"'kv_cache' has shape .*; it must have 4 dimensions"),
        ("kv_cache", lambda t: t[:0], r"'kv_cache' has no pages"),
        ("kv_cache", lambda t: t[:, :24], r"'kv_cache' has pages of 24 tokens; .* multiple of 16"),
        ("kr_cache", lambda t: t[1:], r"'kr_cache' .*\[13, .*; it must be .*\[14, 128, 1, 64\]"),
        (
            "index_k_cache",
            lambda t: t.transpose(0, 1).contiguous().transpose(0, 1),
            r"'index_k_cache' has strides .*; a page must be contiguous",
        ),
        ("block_table", lambda t: t.int()[0], r"'block_table' has shape .* 2 dimensions"),
        (
            "block_table",
            lambda t: t[:, :1],
            r"'act_seqs' has 130; lengths must be between 0 and 128",
        ),
        ("block_table", lambda t: t - 20, r"'block_table' names page -.*; pages must be between"),
        ("act_seqs", lambda t: -t, r"'act_seqs' has -1; lengths must be between 0 and 384"),
        ("act_seqs", lambda t: t + 300, r"'act_seqs' has .*; lengths must be between 0 and 384"),
        ("act_seqs", lambda t: t[:2], r"'act_seqs' is Int\[2\]; it must be Int\[4\]"),
        ("w_idx_qb", lambda t: t[:, :128], r"'w_idx_qb' .*; it must be .*\[64, 2048\]"),
        ("w_idx_k", lambda t: t.T.contiguous().T, r"'w_idx_k' has strides .* contiguous"),
        ("w_idx_proj", lambda t: t[:, :8], r"'w_idx_proj' has 8 columns; it must be a multiple"),
        ("w_idx_proj", lambda t: t.repeat(1, 5), r"'w_idx_proj' has 80 columns; .*16 and 64"),
        ("in_gamma_k", lambda t: t[None], r"'in_gamma_k' .*; it must be .*\[128\]"),
        ("in_beta_k", lambda t: t[:64], r"'in_beta_k' .*; it must be .*\[128\]"),
    ],
)
def test_refuses_before_any_cache_is_written(
    name: str, change: Callable[[torch.Tensor], torch.Tensor], message: str
) -> None:
    inputs = changed(name, change)
    before = {cache: inputs[cache].clone() for cache in CACHES}
    with pytest.raises(RuntimeError, match=message):
        native(inputs)
    for cache in CACHES:
        assert torch.equal(inputs[cache], before[cache])


VENDOR_LIMITS = [
    (replace(SMALL, lengths=(5,) * 3), {}, r"'x' has 3 sequences; it must have 4"),
    (replace(SMALL, lengths=(5,) * 4, count=3), {}, r"'x' has 3 new tokens .* between 1 and 2"),
    (
        SMALL,
        dict.fromkeys(CACHES, lambda t: t[:1].expand(4097, -1, -1, -1)),
        r"'kv_cache' has 4097 pages .*; it must be between 1 and 4096",
    ),
    (
        SMALL,
        {"block_table": lambda t: t.repeat(1, 400)},
        r"'block_table' has 1200 pages of a sequence .*; it must be between 1 and 1024",
    ),
]


@pytest.mark.parametrize(("block", "changes", "message"), VENDOR_LIMITS)
def test_limits_of_the_vendors_kernel_are_refused_on_demand(
    block: Block, changes: dict[str, Callable[[torch.Tensor], torch.Tensor]], message: str
) -> None:
    inputs = block.inputs()
    inputs |= {name: change(inputs[name]) for name, change in changes.items()}
    with pytest.raises(RuntimeError, match=message):
        native(inputs, vendor_limits=True)
    assert native(inputs).any()  # they are none of the mathematics
    native(SMALL.inputs(), vendor_limits=True)


def test_backward_says_that_there_is_no_derivative() -> None:
    inputs = SMALL.inputs()
    out = native({**inputs, "x": inputs["x"].requires_grad_()})
    with pytest.raises(RuntimeError, match=r"derivative for opwright::sparse_attention_block"):
        torch.autograd.grad(out.sum(), inputs["x"])


def test_the_shape_is_known_without_data() -> None:
    inputs = {name: x.to("meta") for name, x in Block(lengths=(9,) * 3, count=2).inputs().items()}
    out = native(inputs)
    assert out.shape == (3, 2, 4, 512)
    assert out.dtype == torch.bfloat16

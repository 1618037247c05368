"""Attention in blocks of a mask: native/opapi/ops/attention/block_sparse_attention.cpp."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.attention.inference import FORMS, SCALE
from tests.twin.ops.compare import HALVES, agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

BATCH, HEADS, KEY_HEADS, QUERIES, KEYS, WIDTH = 2, 4, 2, 20, 150, 128
SHAPE = [8, 128]
ALL = 2147483647


def operands(dtype: torch.dtype) -> tuple[list[torch.Tensor], torch.Tensor]:
    tensors = [
        normal(BATCH, HEADS, QUERIES, WIDTH, dtype=dtype),
        normal(BATCH, KEY_HEADS, KEYS, WIDTH, dtype=dtype, seed=1),
        normal(BATCH, KEY_HEADS, KEYS, WIDTH, dtype=dtype, seed=2),
    ]
    blocks = torch.rand(BATCH, HEADS, 3, 2, generator=torch.Generator().manual_seed(5)) > 0.4
    blocks[0, 0, 1] = False  # rows that see nothing
    return tensors, blocks


def hidden(blocks: torch.Tensor) -> torch.Tensor:
    rows = blocks.repeat_interleave(SHAPE[0], 2).repeat_interleave(SHAPE[1], 3)
    return ~rows[:, :, :QUERIES, :KEYS]


def attended(tensors: list[torch.Tensor], mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    query, key, value = (tensor.double() for tensor in tensors)
    key, value = (one.repeat_interleave(HEADS // KEY_HEADS, 1) for one in (key, value))
    scores = (query @ key.transpose(2, 3) * SCALE).masked_fill(mask, -math.inf)
    weights = torch.where(mask.all(3, keepdim=True), 0.0, scores.softmax(3).nan_to_num(0))
    lse = scores.logsumexp(3, keepdim=True)
    return weights @ value, lse.masked_fill(lse == -math.inf, math.inf).float()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ["BNSD", "BSND", "TND"])
def test_forward(layout: str, dtype: torch.dtype) -> None:
    tensors, blocks = operands(dtype)
    out, lse = attended(tensors, hidden(blocks))
    options: dict[str, object] = {"q_input_layout": layout, "kv_input_layout": layout}
    if layout == "TND":
        options |= {
            "actual_seq_lengths": [QUERIES] * BATCH,
            "actual_seq_lengths_kv": [KEYS] * BATCH,
        }
    actual = run_on_npu(
        torch_npu.npu_block_sparse_attention,
        *(FORMS[layout](tensor).contiguous() for tensor in tensors),
        blocks.to(torch.int8),
        SHAPE,
        num_key_value_heads=KEY_HEADS,
        scale_value=SCALE,
        inner_precise=0,
        softmax_lse_flag=1,
        **options,
    )
    agree(actual, (FORMS[layout](out).to(dtype), FORMS[layout](lse)))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_backward(layout: str, dtype: torch.dtype) -> None:
    """Through autograd, against autograd in float64."""
    tensors, blocks = operands(dtype)
    blocks[0, 0, 1] = True
    host = [tensor.double().requires_grad_() for tensor in tensors]
    grad = normal(BATCH, HEADS, QUERIES, WIDTH, dtype=dtype, seed=7)
    out, lse = attended(host, hidden(blocks))
    torch.autograd.backward(out, grad.double())

    packed = layout == "TND"
    options: dict[str, object] = {
        "q_input_layout": layout,
        "kv_input_layout": layout,
        "actual_seq_lengths": [QUERIES] * BATCH if packed else None,
        "actual_seq_lengths_kv": [KEYS] * BATCH if packed else None,
    }
    actual = run_on_npu(
        torch_npu.npu_block_sparse_attention_backward,
        *(
            FORMS[layout](tensor).contiguous()
            for tensor in (grad, *tensors, out.detach().to(dtype))
        ),
        FORMS[layout](lse.detach()).contiguous(),
        blocks.to(torch.int8),
        block_shape=SHAPE,
        num_key_value_heads=KEY_HEADS,
        scale_value=SCALE,
        **options,
    )
    assert isinstance(actual, tuple)
    for one, other in zip(actual, host, strict=True):
        assert other.grad is not None
        expected = FORMS[layout](other.grad).to(dtype)
        torch.testing.assert_close(one.cpu(), expected, rtol=2e-2, atol=5e-3)


def test_lengths_of_packed_sequences() -> None:
    """They differ, and the mask is as large as the longest needs."""
    (query, key, value), blocks = operands(torch.float16)
    lengths, key_lengths = [20, 9], [150, 40]
    out, _ = attended([query, key, value], hidden(blocks))
    short = [query[1:, :, :9], key[1:, :, :40], value[1:, :, :40]]
    second, _ = attended(short, hidden(blocks)[1:, :, :9, :40])

    def packed(tensor: torch.Tensor, counts: list[int]) -> torch.Tensor:
        rows = FORMS["BSND"](tensor)
        return torch.cat([rows[i, :count] for i, count in enumerate(counts)])

    actual = run_on_npu(
        torch_npu.npu_block_sparse_attention,
        packed(query, lengths),
        packed(key, key_lengths),
        packed(value, key_lengths),
        blocks.to(torch.int8),
        SHAPE,
        num_key_value_heads=KEY_HEADS,
        scale_value=SCALE,
        inner_precise=0,
        actual_seq_lengths=lengths,
        actual_seq_lengths_kv=key_lengths,
    )
    assert isinstance(actual, tuple)
    expected = torch.cat([FORMS["BSND"](out)[0], FORMS["BSND"](second)[0]])
    agree(actual[0], expected.half())


def test_block_sparse_attention_refuses_wrong_calls() -> None:
    tensors, blocks = operands(torch.float16)
    attend = torch_npu.npu_block_sparse_attention
    options: dict[str, object] = {"num_key_value_heads": KEY_HEADS, "scale_value": SCALE}
    given = (*tensors, blocks.to(torch.int8))
    layouts = {"q_input_layout": "BNSD", "kv_input_layout": "BNSD"}
    rejects("blockSparseMask", attend, *given, [4, 128], **options, **layouts)
    rejects("they must be one", attend, *given, SHAPE, **options, q_input_layout="BNSD")


@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_second_version_and_lists_of_blocks(layout: str) -> None:
    """A list names what a mask marks, for the blocks of queries of all sequences."""
    tensors, blocks = operands(torch.bfloat16)
    given = [FORMS[layout](tensor).contiguous().to("npu") for tensor in tensors]
    lengths = [[QUERIES] * BATCH, [KEYS] * BATCH]
    expected = attended(tensors, hidden(blocks))[0].to(torch.bfloat16)
    wanted = FORMS[layout](expected)
    mask = blocks.to(torch.int8).to("npu")
    out = torch.zeros_like(given[0])
    call(
        "aclnnBlockSparseAttentionV2",
        *(*given, mask, None, SHAPE, *lengths, None, None, None, None, layout, layout),
        *(KEY_HEADS, 0, SCALE, 0, 0, ALL, ALL, 0, out, None),
    )
    agree(out, wanted)
    by_block = blocks.transpose(1, 2).flatten(0, 1)  # [blocks of queries, heads, blocks of keys]
    counts = by_block.sum(2)
    order = by_block.int().argsort(stable=True, dim=2, descending=True)
    listed = torch.where(torch.arange(2) < counts.unsqueeze(2), order, -1)
    out = torch.zeros_like(given[0])
    selection = [listed.to("npu"), counts.to("npu"), SHAPE, None, *lengths, None]
    options = [layout, layout, KEY_HEADS, 0, SCALE, 0, 0]
    call("aclnnRainFusionAttention", *given, *selection, *options, out, None)
    agree(out, wanted)


@pytest.mark.parametrize("partial", [True, False])
@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_blocks_with_the_largest_shares_are_selected(layout: str, *, partial: bool) -> None:
    rows, columns, block, kept = 256, 320, 64, 0.3
    query = normal(BATCH, HEADS, rows, WIDTH, dtype=torch.bfloat16)
    key = normal(BATCH, HEADS, columns, WIDTH, dtype=torch.bfloat16, seed=1)
    used = [[64, 5, 0, 64] * BATCH, [64, 64, 1, 0, 30] * BATCH]
    counts = [torch.tensor(each).view(BATCH, -1) for each in used]
    means = []
    for tensor, count in zip((query, key), counts, strict=True):
        blocks = tensor.float().view(BATCH, HEADS, -1, block, WIDTH)
        part = torch.arange(block) < (count.unsqueeze(-1) if partial else block)
        part = part.expand(BATCH, blocks.size(2), block)[:, None, :, :, None]
        means.append((blocks * part).sum(3) / part.sum(3).clamp(min=1))
    shares = (means[0] @ means[1].transpose(2, 3) * SCALE).softmax(-1)
    if partial:
        absent = (counts[0] == 0)[:, :, None] | (counts[1] == 0)[:, None]
        shares = shares.masked_fill(absent[:, None], -1)
    flat = shares.flatten(2)
    places = flat.topk(round(kept * flat.size(2)), 2).indices
    expected = torch.zeros_like(flat).scatter_(2, places, 1.0).view(shares.shape).to(torch.int8)
    given = [FORMS[layout](each).contiguous().to("npu") for each in (query, key)]
    lengths = [[rows] * BATCH, [columns] * BATCH] if layout == "TND" else [None, None]
    out = torch.full_like(expected, 9).to("npu")
    call(
        "aclnnBSASelectBlockMask",
        *(*given, [block, block], None, *lengths, *(used if partial else [None, None])),
        *(layout, layout, HEADS, SCALE, kept, out),
    )
    assert torch.equal(out.cpu(), expected)

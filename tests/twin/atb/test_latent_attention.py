"""AtbMLA and AtbRingMLA by formula: native/atb/ops/latent_attention.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.atb.attention_problems import attention, causal, log_sum, on_npu, packed, paged
from tests.twin.ops.compare import HALVES, agree
from tests.twin.ops.samples import normal

LATENT, ROTATED, HEADS, BLOCK = 512, 64, 8, 128
SCALE = 0.05


def split(tensor: torch.Tensor, width: int) -> list[torch.Tensor]:
    return [tensor[..., :width].contiguous(), tensor[..., width:].contiguous()]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(
    ("calc_type", "mask_type"),
    [
        ("calc_type_undefined", None),
        ("calc_type_spec", "mask_type_spec"),
        ("calc_type_spec", "mask_type_free"),
        ("calc_type_ring", None),
    ],
)
def test_a_cache_of_latent_values(
    calc_type: str, mask_type: str | None, dtype: torch.dtype
) -> None:
    keys = [130, 3, 40]
    queries = [2, 1, 4] if calc_type == "calc_type_spec" else [1, 1, 1]
    query = normal(sum(queries), HEADS, LATENT + ROTATED, dtype=dtype) * 0.3
    caches = paged(keys, 1, LATENT + ROTATED, dtype, block=BLOCK)
    q, q_rope = on_npu(*split(query, LATENT))
    latent, rope = on_npu(*split(caches.keys, LATENT))
    mask = torch.zeros(sum(queries), max(keys))
    terms = []
    for i, (count, length) in enumerate(zip(queries, keys, strict=True)):
        terms.append(causal(count, length, length - count))
        rows = mask[sum(queries[:i]) : sum(queries[: i + 1]), :length]
        rows.masked_fill_(terms[-1] < 0, -10000)
    is_spec = calc_type == "calc_type_spec"
    if mask_type == "mask_type_free":
        mask = torch.triu(torch.full((133, 128), -10000.0), -2)
    options = {
        "mask": mask.to(dtype).to("npu") if is_spec else None,
        "qseqlen": queries if is_spec else None,
        "mask_type": mask_type,
        "calc_type": calc_type,
    }
    operands = (q, q_rope, latent, rope, caches.table.to("npu"), keys, HEADS, SCALE, 1)
    if calc_type == "calc_type_ring":
        out, lse = torch_npu.atb.npu_multi_head_latent_attention(*operands, True, **options)  # noqa: FBT003
        expected_lse = [
            log_sum(query[i : i + 1], caches.key(i), SCALE).T.unsqueeze(-1) for i in range(3)
        ]
        agree(lse, torch.cat(expected_lse).to(dtype))
    else:
        out = torch_npu.atb.npu_multi_head_latent_attention(*operands, **options)
    expected = [
        attention(part, caches.key(i), caches.key(i)[..., :LATENT], SCALE, terms[i])
        for i, part in enumerate(packed(query, queries))
    ]
    agree(out, torch.cat(expected).to(dtype))


def test_a_workspace_that_was_asked_for_before() -> None:
    query = normal(2, HEADS, LATENT + ROTATED) * 0.3
    caches = paged([5, 130], 1, LATENT + ROTATED, torch.float16, block=BLOCK)
    q, q_rope, latent, rope, table = on_npu(
        *split(query, LATENT), *split(caches.keys, LATENT), caches.table
    )
    operands = (q, q_rope, latent, rope, table, [5, 130], HEADS, SCALE, 1, True)
    options = {"calc_type": "calc_type_ring"}
    workspace = torch_npu.atb._npu_multi_head_latent_attention_get_workspace(  # noqa: SLF001
        *operands, **options
    )
    out, lse = torch_npu.atb.npu_multi_head_latent_attention(
        *operands, workspace=workspace, **options
    )
    expected = [
        attention(query[i : i + 1], caches.key(i), caches.key(i)[..., :LATENT], SCALE)
        for i in range(2)
    ]
    agree(out, torch.cat(expected).half())
    assert lse.shape == (2, HEADS, 1)


QUERIES, EARLIER, LATER = [9, 3], [9, 3], [14, 0]
RING_SIZE = 128


def ring(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    lengths: list[int],
    **options: object,
) -> tuple[torch.Tensor, torch.Tensor]:
    seqlen = torch.tensor([QUERIES, lengths], dtype=torch.int32)
    mask = torch.triu(torch.ones(512, 512, dtype=query.dtype), 1).to("npu")
    q, q_rope, k, k_rope = on_npu(*split(query, RING_SIZE), *split(key, RING_SIZE))
    out, lse = torch_npu.atb.npu_ring_mla(
        q, q_rope, k, k_rope, value.to("npu"), mask, seqlen, HEADS, 2, qk_scale=SCALE, **options
    )
    return out, lse


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_results_over_two_sets_of_keys_are_joined(dtype: torch.dtype) -> None:
    """The first set is causal, the second one a context; a sequence may have none of it."""
    query = normal(sum(QUERIES), HEADS, RING_SIZE + ROTATED, dtype=dtype)
    first_key = normal(sum(EARLIER), 2, RING_SIZE + ROTATED, dtype=dtype, seed=1)
    first_value = normal(sum(EARLIER), 2, RING_SIZE, dtype=dtype, seed=2)
    key = normal(sum(LATER), 2, RING_SIZE + ROTATED, dtype=dtype, seed=3)
    value = normal(sum(LATER), 2, RING_SIZE, dtype=dtype, seed=4)
    out, lse = ring(query, first_key, first_value, EARLIER, mask_type="mask_type_triu")
    queries = packed(query, QUERIES)
    parts = [packed(each, EARLIER) for each in (first_key, first_value)]
    expected = [
        attention(queries[i], parts[0][i], parts[1][i], SCALE, causal(count, count))
        for i, count in enumerate(QUERIES)
    ]
    agree(out, torch.cat(expected).to(dtype))
    joined, joined_lse = ring(
        query,
        key,
        value,
        LATER,
        pre_out=out,
        prev_lse=lse,
        calc_type="calc_type_default",
    )
    context = [packed(each, LATER) for each in (key, value)]
    whole, sums = [], []
    for i, (count, more) in enumerate(zip(QUERIES, LATER, strict=True)):
        both = torch.cat([parts[0][i], context[0][i]]), torch.cat([parts[1][i], context[1][i]])
        term = torch.cat([causal(count, count), torch.zeros(count, more)], 1)
        whole.append(attention(queries[i], *both, SCALE, term))
        groups = both[0].float().repeat_interleave(HEADS // 2, 1)
        scores = torch.einsum("qnd,knd->nqk", queries[i].float(), groups) * SCALE + term
        sums.append(torch.logsumexp(scores, -1))
    torch.testing.assert_close(
        joined.cpu().float(), torch.cat(whole), rtol=2e-2, atol=2e-2
    )  # the first result was rounded
    agree(joined_lse, torch.cat(sums, 1))

"""Refusals of npu_lightning_indexer: each text has the parameter and what is allowed."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.reference.problems import lengths
from tests.twin.ops.attention.indexer_problems import (
    LAYOUTS,
    RAGGED,
    Call,
    check_indexer,
    indexer_call,
    quant_call,
)
from tests.twin.ops.compare import rejects

SEQUENCES = len(RAGGED.keys)
NEEDS_ENDS = "is absent; in layout TND it is needed: the end of each sequence"


def of_bsnd() -> dict[str, Call]:
    call = indexer_call(RAGGED, LAYOUTS[0], sparse_count=16)
    query, key, weights = call.tensors

    def of(*tensors: torch.Tensor) -> Call:
        return Call(tensors, call.options)

    changed = call.changed
    return {
        "'query' has dtype Float; it must be float16 or bfloat16": of(
            query.float(), key.float(), weights.float()
        ),
        "'key' has dtype Half; it must be that of parameter 'query', BFloat16": of(
            query, key.half(), weights
        ),
        "'weights' has dtype Half; it must be that of parameter 'query', BFloat16, or float32": of(
            query, key, weights.half()
        ),
        "parameter 'query' has shape [7, 8, 128]; its layout has 4 dimensions": of(
            query[0], key, weights
        ),
        "parameter 'key' has shape [701, 1, 128]; its layout has 4 dimensions": of(
            query, key[0], weights
        ),
        "parameter 'key' has 5 sequences; in layout BSND it must have those of parameter 'query', 6"
        "": of(query, key[:5], weights),
        "parameter 'key' has 7 sequences; in layout BSND": of(
            query, torch.cat((key, key[:1])), weights
        ),
        "have heads of 64 and 64; they must have 128": of(
            query[..., :64].contiguous(), key[..., :64].contiguous(), weights
        ),
        "parameter 'query' has 65 heads; it must have 1 to 64": of(
            query[:, :, :1].repeat(1, 1, 65, 1), key, weights[..., :1].repeat(1, 1, 65)
        ),
        "parameter 'key' has 2 heads; it must have 1": of(query, key.repeat(1, 1, 2, 1), weights),
        "parameter 'weights' has shape [6, 7, 4]; it must be [6, 7, 8]": of(
            query, key, weights[..., :4].contiguous()
        ),
        "parameter 'query' has strides": of(
            query.transpose(1, 2).contiguous().transpose(1, 2), key, weights
        ),
        "parameter 'weights' has strides": of(
            query, key, weights.transpose(1, 2).contiguous().transpose(1, 2)
        ),
        "all dimensions but the first must be contiguous": of(
            query, key.transpose(1, 3).contiguous().transpose(1, 3), weights
        ),
        "parameter 'layout_query' is 'BNSD'; it must be BSND or TND": changed(layout_query="BNSD"),
        "parameter 'layout_query' is 'PA_BSND'; it must be": changed(layout_query="PA_BSND"),
        "parameter 'layout_key' is 'BNSD'; it must be BSND, TND or PA_BSND": changed(
            layout_key="BNSD"
        ),
        "'layout_key' is 'TND'; it must be that of layout_query, 'BSND', or PA_BSND": changed(
            layout_key="TND"
        ),
        **{
            f"'sparse_count' is {count}; it must be 1 to 2048, 3072, 4096, 5120, 6144, 7168 or 8192"
            "": changed(sparse_count=count)
            for count in (2049, 3000, 9216)
        },
        "parameter 'sparse_mode' is 4; it must be 0 (all keys) or 3": changed(sparse_mode=4),
        "parameter 'pre_tokens' is 1; it must be 9223372036854775807": changed(pre_tokens=1),
        "parameter 'next_tokens' is 1; it must be 9223372036854775807": changed(next_tokens=1),
        "parameter 'block_table' is given; it goes with parameter 'layout_key' PA_BSND": changed(
            block_table=lengths(0).view(1, 1)
        ),
        "'actual_seq_lengths_query' has 8; lengths must be between 0 and 7": changed(
            actual_seq_lengths_query=lengths(*[8] * SEQUENCES)
        ),
        "'actual_seq_lengths_key' has -1; lengths must be between 0 and 701": changed(
            actual_seq_lengths_key=lengths(*[-1] * SEQUENCES)
        ),
        "parameter 'actual_seq_lengths_key' has 1 entries for 6 sequences": changed(
            actual_seq_lengths_key=lengths(1)
        ),
        "parameter 'actual_seq_lengths_key' is Long[6]; it must be int32": changed(
            actual_seq_lengths_key=lengths(*RAGGED.keys).long()
        ),
    }


def of_others() -> dict[str, Call]:
    packed = indexer_call(RAGGED, LAYOUTS[1], sparse_count=16)
    paged = indexer_call(RAGGED, LAYOUTS[2], sparse_count=16)
    query, key, weights = paged.tensors
    table = paged.options["block_table"]
    short = table.clone()
    short[0, 1] = -1
    return {
        f"parameter 'actual_seq_lengths_query' {NEEDS_ENDS}": packed.changed(
            actual_seq_lengths_query=None
        ),
        f"parameter 'actual_seq_lengths_key' {NEEDS_ENDS}": packed.changed(
            actual_seq_lengths_key=None
        ),
        "which never decrease": packed.changed(
            actual_seq_lengths_query=lengths(3, 1, 1, 1, 1, sum(RAGGED.queries))
        ),
        "its last entry must be the number of tokens, 13": packed.changed(
            actual_seq_lengths_query=lengths(1, 2, 3, 4, 5, 6)
        ),
        "parameter 'return_value' is True; with parameter 'layout_key' PA_BSND": paged.changed(
            return_value=True
        ),
        "parameter 'block_table' is absent; it goes with": paged.changed(block_table=None),
        "'actual_seq_lengths_key' is absent; in layout PA_BSND": paged.changed(
            actual_seq_lengths_key=None
        ),
        "parameter 'block_table' names page -1 at [0, 1]": paged.changed(block_table=short),
        "'actual_seq_lengths_key' has 700; lengths must be between 0 and 32": paged.changed(
            block_table=table[:, :2].contiguous()
        ),
        "it must be int32 [6, pages of a sequence]": paged.changed(block_table=table.long()),
        "parameter 'block_table' is Int[]; it must be int32 [6, pages": paged.changed(
            block_table=table[0, 0]
        ),
        "parameter 'key' has pages of 8 tokens; it must be a multiple of 16, at most 1024": Call(
            (query, key[:, :8].contiguous(), weights),
            paged.changed(actual_seq_lengths_key=lengths(*[0] * SEQUENCES)).options,
        ),
    }


REFUSED = of_bsnd() | of_others()


@pytest.mark.parametrize(("why", "call"), REFUSED.items(), ids=REFUSED.keys())
def test_lightning_indexer_refuses_wrong_calls(why: str, call: Call) -> None:
    rejects(why, torch_npu.npu_lightning_indexer, *call.tensors, **call.options)


def test_a_mode_that_its_gradient_does_not_have() -> None:
    call = indexer_call(RAGGED, LAYOUTS[0], sparse_count=4, return_value=True)
    query, key, weights = call.tensors
    indices = torch.zeros(6, 7, 1, 4, dtype=torch.int32)
    given = (query, key, indices.bfloat16(), indices, weights)
    gradient = torch.ops.npu.npu_lightning_indexer_grad
    rejects(
        "parameter 'sparse_mode' is 7; it must be 0 (all keys)", gradient, *given, sparse_mode=7
    )


@pytest.mark.isolated(OPWRIGHT_SOC="Ascend950", OPWRIGHT_SYNC="1", TASK_QUEUE_ENABLE="0")
def test_refusals_of_a_chip() -> None:
    """Ascend950 does not take other numbers of heads, or float32 weights."""
    weights = "parameter 'weights' has dtype Float"
    heads = "has 48 heads; on Ascend950 it must have 8, 16, 24, 32 or 64"
    for text, call in (
        (heads, indexer_call(RAGGED, heads=48, sparse_count=16)),
        (weights, indexer_call(RAGGED, weights=torch.float32, sparse_count=16)),
    ):
        rejects(text, torch_npu.npu_lightning_indexer, *call.tensors, **call.options)
    call = quant_call(RAGGED, heads=48, sparse_count=16)
    operator = torch_npu.npu_quant_lightning_indexer
    rejects(heads, operator, *call.tensors, 0, 0, **call.options)
    check_indexer(indexer_call(RAGGED, heads=24, sparse_count=16))

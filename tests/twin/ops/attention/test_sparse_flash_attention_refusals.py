"""Refusals of npu_sparse_flash_attention: the parameter's name, what it is, what it may be."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch_npu

from tests.twin.ops.attention.sparse_cases import SCALE, Case, operands, refused

OPTIONS: dict[str, dict[str, Any]] = {
    "parameter 'attention_mode' is 0; it must be 2": {"attention_mode": 0},
    "parameter 'attention_mode' is 1; it must be 2": {"attention_mode": 1},
    "parameter 'sparse_mode' is 1; it must be 0 (all keys) or 3": {"sparse_mode": 1},
    "parameter 'sparse_block_size' is 0; it must be a power of two": {"sparse_block_size": 0},
    "parameter 'sparse_block_size' is 3; it must be a power of two": {"sparse_block_size": 3},
    "'sparse_block_size' is 256; it must be a power of two from 1 to 128": {
        "sparse_block_size": 256
    },
    "parameter 'pre_tokens' is 5; it must be 9223372036854775807": {"pre_tokens": 5},
    "parameter 'next_tokens' is 0; it must be 9223372036854775807": {"next_tokens": 0},
    "parameter 'layout_kv' is 'BNSD'; it must be BSND, TND or PA_BSND": {"layout_kv": "BNSD"},
    "parameter 'layout_kv' is 'TND'; it must be that of layout_query": {"layout_kv": "TND"},
    "parameter 'block_table' is absent": {"layout_kv": "PA_BSND"},
    "parameter 'block_table' is given": {"block_table": torch.zeros(3, 4, dtype=torch.int32)},
    "parameter 'key_rope' is absent; query_rope and key_rope go together": {"key_rope": None},
    "parameter 'query_rope' is absent": {"query_rope": None},
    "parameter 'query_rope' has shape [3, 3, 16, 32]; it must be [3, 3, 16, 64]": {
        "query_rope": torch.zeros(3, 3, 16, 32, dtype=torch.bfloat16)
    },
    "parameter 'key_rope' has shape [3, 70, 1, 32]; it must be [3, 70, 1, 64]": {
        "key_rope": torch.zeros(3, 70, 1, 32, dtype=torch.bfloat16)
    },
    "parameter 'key_rope' has dtype Half; it must be that of the query, BFloat16": {
        "key_rope": torch.zeros(3, 70, 1, 64, dtype=torch.float16)
    },
    "parameter 'sinks' is Float[4]; it must be float32 [16]": {"sinks": torch.zeros(4)},
    "parameter 'sinks' is BFloat16[16]; it must be float32 [16]": {
        "sinks": torch.zeros(16, dtype=torch.bfloat16)
    },
    "parameter 'actual_seq_lengths_kv' has 71; lengths must be between 0 and 70": {
        "actual_seq_lengths_kv": torch.tensor([71, 1, 1], dtype=torch.int32)
    },
    "parameter 'actual_seq_lengths_query' has -1; lengths must be between 0 and 3": {
        "actual_seq_lengths_query": torch.tensor([-1, 1, 1], dtype=torch.int32)
    },
    "parameter 'actual_seq_lengths_kv' has 2 entries for 3 sequences": {
        "actual_seq_lengths_kv": torch.tensor([1, 1], dtype=torch.int32)
    },
}


def check(why: str, tensors: list[torch.Tensor], named: dict[str, Any]) -> None:
    refused(why, torch_npu.npu_sparse_flash_attention, *tensors, SCALE, **named)


@pytest.mark.parametrize(("why", "changes"), OPTIONS.items(), ids=OPTIONS)
def test_options(why: str, changes: dict[str, Any]) -> None:
    tensors, named = operands(Case())
    for name, value in changes.items():
        named[name] = value.to("npu") if isinstance(value, torch.Tensor) else value
    check(why, tensors, named)


QUERY, KEY, VALUE, INDICES = range(4)
TENSORS: dict[str, tuple[int, torch.Tensor]] = {
    "parameter 'query' has dtype Float; it must be float16 or bfloat16": (
        QUERY,
        torch.zeros(3, 3, 16, 512),
    ),
    "parameter 'query' has shape [3, 3, 16, 576]; it must be [B, S, N, 512]": (
        QUERY,
        torch.zeros(3, 3, 16, 576, dtype=torch.bfloat16),
    ),
    "parameter 'query' has 144 heads; there must be 1 to 128": (
        QUERY,
        torch.zeros(3, 3, 144, 512, dtype=torch.bfloat16),
    ),
    "parameter 'key' has dtype Half; it must be that of the query, BFloat16": (
        KEY,
        torch.zeros(3, 70, 1, 512, dtype=torch.float16),
    ),
    "parameter 'key' has shape [3, 70, 2, 512]; it must be [3, 70, 1, 512]": (
        KEY,
        torch.zeros(3, 70, 2, 512, dtype=torch.bfloat16),
    ),
    "parameter 'value' has shape [3, 71, 1, 512]; it must be [3, 70, 1, 512]": (
        VALUE,
        torch.zeros(3, 71, 1, 512, dtype=torch.bfloat16),
    ),
    "parameter 'value' has dtype Half; it must be that of the query, BFloat16": (
        VALUE,
        torch.zeros(3, 70, 1, 512, dtype=torch.float16),
    ),
    "parameter 'sparse_indices' is Long[3, 3, 1, 40]; it must be int32 of shape [3, 3, 1]": (
        INDICES,
        torch.zeros(3, 3, 1, 40, dtype=torch.int64),
    ),
    "parameter 'sparse_indices' is Int[3, 2, 1, 40]": (
        INDICES,
        torch.zeros(3, 2, 1, 40, dtype=torch.int32),
    ),
}


@pytest.mark.parametrize(("why", "change"), TENSORS.items(), ids=TENSORS)
def test_tensors(why: str, change: tuple[int, torch.Tensor]) -> None:
    tensors, named = operands(Case())
    position, tensor = change
    tensors[position] = tensor.to("npu")
    check(why, tensors, named)


def test_pages() -> None:
    case = Case(layout_kv="PA_BSND")
    tensors, named = operands(case)
    check(
        "'sparse_block_size' is 64; in layout PA_BSND it must divide the size of a page, 32",
        tensors,
        named | {"sparse_block_size": 64},
    )
    table = named["block_table"].clone()
    table[0, 1] = 99
    check(
        "parameter 'block_table' names page 99 at [0, 1]", tensors, named | {"block_table": table}
    )
    short = named["block_table"][:, :1].contiguous()
    check("lengths must be between 0 and 32", tensors, named | {"block_table": short})
    tensors[1] = torch.zeros(*tensors[1].shape, 2, dtype=torch.bfloat16).to("npu")[..., 0]
    check("columns must lie one after the other", tensors, named)


def test_packed_lengths() -> None:
    tensors, named = operands(Case(layout="TND", layout_kv="TND"))
    for name in ("actual_seq_lengths_query", "actual_seq_lengths_kv"):
        check(f"parameter '{name}' is absent; in layout TND", tensors, named | {name: None})
        short = named[name] - 1
        check(f"parameter '{name}' ends with", tensors, named | {name: short})


def test_statistics_without_room() -> None:
    """torch_npu counts heads by pages: of 16 heads and pages of 32 nothing is left."""
    tensors, named = operands(Case(layout="TND", layout_kv="PA_BSND"))
    check(
        "return_softmax_lse with layout_query TND and layout_kv PA_BSND: parameter 'softmax_max' "
        "has shape [32, 6, 0], not [1, 6, 16]; torch_npu itself allocates it so, with key.size(1), "
        "the page size, for the number of key heads; give queries in layout BSND instead",
        tensors,
        named | {"return_softmax_lse": True},
    )


def test_heads_of_the_usual_chip() -> None:
    """Ascend910B4 takes powers of two alone."""
    tensors, named = operands(Case(heads=48))
    heads = "'query' has 48 heads; on Ascend910B4 it must have 1, 2, 4, 8, 16, 32, 64 or 128"
    check(heads, tensors, named)


@pytest.mark.isolated(OPWRIGHT_SOC="Ascend950", OPWRIGHT_SYNC="1", TASK_QUEUE_ENABLE="0")
def test_blocks_of_ascend950() -> None:
    block = "parameter 'sparse_block_size' is 2; on Ascend950 it must be 1"
    check(block, *operands(Case(block=2)))

"""npu_kv_quant_sparse_flash_attention on the twin beside the reference."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch_npu

from opwright.reference.comparison import differing_attention
from opwright.reference.sparse_flash_attention import kv_quant_sparse_flash_attention
from tests.twin.aclnn_calls import call
from tests.twin.ops.attention.sparse_cases import LAYOUTS, SCALE, Case, on_cpu, operands, refused

BYTES = 656  # of a token: 512 values, 64 of the rope part, 4 scales
MODES = (2, 2)  # of key and value


def quantized(latent: torch.Tensor, rope: torch.Tensor, code: torch.dtype) -> torch.Tensor:
    """Put tokens `[..., 512]` and `[..., 64]` into a cache of a layout like theirs, on the CPU."""
    tiles = latent.float().view(*latent.shape[:-1], 4, 128)
    largest = 127.0 if code == torch.int8 else 448.0
    scale = tiles.abs().amax(-1, keepdim=True).clamp(min=1e-6) / largest
    values = tiles / scale
    values = (values.round() if code == torch.int8 else values).to(code).flatten(-2)
    parts = (values.view(torch.int8), rope.contiguous().view(torch.int8))
    scales = scale.squeeze(-1).contiguous().view(torch.int8)
    return torch.cat((*parts, scales), -1).view(code)


@dataclass(frozen=True)
class Arguments:
    """Of one call; tensors are on the device."""

    tensors: tuple[torch.Tensor, ...]
    named: dict[str, Any]


def arguments(case: Case, code: torch.dtype, seed: int = 0) -> Arguments:
    """Query, cache and indices, from those of plain attention."""
    (query, key, _, indices), named = operands(case, seed)
    rope, key_rope = named.pop("query_rope"), named.pop("key_rope")
    tokens = quantized(key.cpu(), key_rope.cpu(), code)
    cache = tokens.to("npu")
    if case.layout_kv == "PA_BSND":  # pages apart
        room = torch.zeros(*tokens.shape[:1], tokens.shape[1] + 3, 1, BYTES, dtype=torch.int8)
        room[:, : tokens.shape[1]] = tokens.view(torch.int8)
        cache = room.to("npu").view(code)[:, : tokens.shape[1]]
    query = torch.cat((query, rope), -1)
    return Arguments((query, cache, cache, indices), named)


def expected(given: Arguments) -> torch.Tensor:
    query, key, value, indices = (tensor.cpu() for tensor in given.tensors)
    named = on_cpu(given.named)
    return kv_quant_sparse_flash_attention(query, key, value, indices, SCALE, *MODES, **named)


def compare(case: Case, code: torch.dtype, seed: int = 0) -> None:
    given = arguments(case, code, seed)
    actual = torch_npu.npu_kv_quant_sparse_flash_attention(
        *given.tensors, SCALE, *MODES, **given.named
    )
    assert differing_attention(actual.cpu(), expected(given)) is None


@pytest.mark.parametrize(("layout", "layout_kv"), LAYOUTS)
def test_layouts(layout: str, layout_kv: str) -> None:
    compare_layout(layout, layout_kv, torch.int8)


def compare_layout(layout: str, layout_kv: str, code: torch.dtype) -> None:
    for seed, (dtype, mode) in enumerate(
        itertools.product((torch.bfloat16, torch.float16), (0, 3))
    ):
        compare(Case(layout=layout, layout_kv=layout_kv, dtype=dtype, mode=mode), code, seed)


def test_blocks_heads_and_lengths() -> None:
    compare(Case(block=16, selected=5, layout_kv="PA_BSND"), torch.int8)
    compare(Case(heads=64, keys=(300, 0, 7), queries=(1, 2, 0), selected=200), torch.int8)
    compare(Case(heads=1, block=4, mode=0), torch.int8)


def check_a_scale_that_is_not_a_number(dtype: torch.dtype) -> None:
    """All bits of the scales are set: a NaN whose bits must not be rounded up to a number."""
    cache = torch.full((1, 8, 1, BYTES), -1, dtype=torch.int8)
    cache[..., 512:640] = 0
    indices = torch.arange(8, dtype=torch.int32).view(1, 1, 1, 8)
    query = torch.ones(1, 1, 1, 576, dtype=dtype)
    tensors = (query, cache, cache, indices, 1.0)
    actual = torch.ops.opwright.kv_quant_sparse_flash_attention(*tensors, sparse_mode=0)
    expected = kv_quant_sparse_flash_attention(*tensors, *MODES, attention_mode=2, sparse_mode=0)
    assert expected.isnan().all()
    assert actual.isnan().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_scale_that_is_not_a_number(dtype: torch.dtype) -> None:
    check_a_scale_that_is_not_a_number(dtype)


def compare_every_value_of_float8() -> None:
    """Each of the 256 bit patterns but NaN as a token's values, among them the subnormal."""
    codes = torch.arange(256, dtype=torch.uint8)
    codes = codes[(codes & 0x7F) != 0x7F]
    count = len(codes)
    cache = torch.zeros(1, count, 1, BYTES, dtype=torch.uint8)
    cache[0, :, 0, :512] = codes.unsqueeze(1)
    scales = torch.tensor([1.0, 0.5, 3.0, 0.001]).view(torch.uint8)
    cache[..., 640:] = scales
    query = torch.zeros(1, count, 1, 576, dtype=torch.float16)
    given = Arguments(
        tuple(
            x.to("npu")
            for x in (
                query,
                cache.view(torch.float8_e4m3fn),
                cache.view(torch.float8_e4m3fn),
                torch.arange(count, dtype=torch.int32).view(1, count, 1, 1),
            )
        ),
        {"attention_mode": 2, "sparse_mode": 0},
    )
    actual = torch_npu.npu_kv_quant_sparse_flash_attention(
        *given.tensors, SCALE, *MODES, **given.named
    )
    assert torch.equal(actual.cpu(), expected(given))


@pytest.fixture(
    params=[
        pytest.param(
            level, marks=pytest.mark.isolated(OPWRIGHT_SOC="Ascend950", OPWRIGHT_CPU_ISA=level)
        )
        for level in ("amx_bf16", "avx512_bf16", "avx512", "avx2", "base")
    ]
)
def ascend950() -> None:
    """Run on this chip, with each instruction set."""


@pytest.mark.usefixtures("ascend950")
def test_instruction_sets() -> None:
    """On Ascend950, which has caches of float8 and 48 heads."""
    for layout in LAYOUTS:
        compare_layout(*layout, torch.float8_e4m3fn)
    compare_layout("TND", "PA_BSND", torch.int8)
    for code in (torch.int8, torch.float8_e4m3fn):
        compare(Case(heads=48, keys=(300, 0, 7), queries=(1, 2, 0), selected=200), code)
    compare_every_value_of_float8()
    for dtype in (torch.bfloat16, torch.float16):
        check_a_scale_that_is_not_a_number(dtype)


def test_sinks() -> None:
    """By the second version of the function, which torch_npu 2.13.0 does not call."""
    given = arguments(Case(layout_kv="PA_BSND"), torch.int8)
    named = given.named
    sinks = torch.randn(16, generator=torch.Generator().manual_seed(1)).to("npu")
    out = torch.empty(*given.tensors[0].shape[:-1], 512, dtype=torch.bfloat16).to("npu")
    lengths = (named["actual_seq_lengths_query"], named["actual_seq_lengths_kv"])
    largest = 2**63 - 1
    call(
        "aclnnKvQuantSparseFlashAttentionV2",
        *(*given.tensors, None, None, named["block_table"], *lengths, sinks, SCALE, *MODES, 1),
        *("BSND", "PA_BSND", 3, largest, largest, 2, 1, 128, 64, out),
    )
    with_sinks = Arguments(given.tensors, {**named, "sinks": sinks})
    assert differing_attention(out.cpu(), expected(with_sinks)) is None
    assert differing_attention(out.cpu(), expected(given)) is not None


REFUSED: dict[str, dict[str, Any]] = {
    "parameter 'key_quant_mode' is 0; it must be 2": {"key_quant_mode": 0},
    "parameter 'value_quant_mode' is 1; it must be 2": {"value_quant_mode": 1},
    "parameter 'quant_scale_repo_mode' is 0; it must be 1": {"quant_scale_repo_mode": 0},
    "parameter 'tile_size' is 64; it must be 128": {"tile_size": 64},
    "parameter 'attention_mode' is 0; it must be 2": {"attention_mode": 0},
    "parameter 'sparse_mode' is 2; it must be 0 (all keys) or 3": {"sparse_mode": 2},
    "parameter 'sparse_block_size' is 5; it must be a power of two": {"sparse_block_size": 5},
    "parameter 'key_dequant_scale' is given; it is reserved": {"key_dequant_scale": torch.ones(1)},
    "parameter 'value_dequant_scale' is given; it is reserved": {
        "value_dequant_scale": torch.ones(1)
    },
    "parameter 'query' has shape [3, 3, 16, 512]; it must be [B, S, N, 576]": {
        "query": torch.zeros(3, 3, 16, 512, dtype=torch.bfloat16)
    },
    "parameter 'key' has dtype BFloat16; it must be int8 or float8_e4m3fn": {
        "key": torch.zeros(3, 70, 1, BYTES, dtype=torch.bfloat16)
    },
    "parameter 'key' has shape [3, 70, 1, 640]; it must be [3, 70, 1, 656]": {
        "key": torch.zeros(3, 70, 1, 640, dtype=torch.int8)
    },
    "parameter 'value' has dtype Float8_e4m3fn; it must be that of the key, Char": {
        "value": torch.zeros(3, 70, 1, BYTES, dtype=torch.int8).view(torch.float8_e4m3fn)
    },
}


@pytest.mark.parametrize(("why", "changes"), REFUSED.items(), ids=REFUSED)
def test_kv_quant_sparse_flash_attention_refuses_wrong_calls(
    why: str, changes: dict[str, Any]
) -> None:
    given = arguments(Case(), torch.int8)
    names = ("query", "key", "value", "sparse_indices")
    values: dict[str, Any] = dict(zip(names, given.tensors, strict=True))
    values |= {"scale_value": SCALE, "key_quant_mode": 2, "value_quant_mode": 2, **given.named}
    values |= {
        name: value.to("npu") if isinstance(value, torch.Tensor) else value
        for name, value in changes.items()
    }
    refused(why, torch_npu.npu_kv_quant_sparse_flash_attention, **values)


def refused_on_this_chip(why: str, case: Case, code: torch.dtype) -> None:
    given = arguments(case, code)
    operator = torch_npu.npu_kv_quant_sparse_flash_attention
    refused(why, operator, *given.tensors, SCALE, *MODES, **given.named)


@pytest.mark.parametrize(
    ("why", "case", "code"),
    [
        ("'query' has 48 heads; on Ascend910B4 it must have 1, 2, 4", Case(heads=48), torch.int8),
        (
            "'key' has dtype Float8_e4m3fn; on Ascend910B4 it must be int8",
            Case(),
            torch.float8_e4m3fn,
        ),
        (
            "'sparse_block_size' is 32; on Ascend910B4 it must be a power of two from 1 to 16",
            Case(block=32),
            torch.int8,
        ),
    ],
)
def test_refusals_of_the_usual_chip(why: str, case: Case, code: torch.dtype) -> None:
    refused_on_this_chip(why, case, code)


@pytest.mark.isolated(OPWRIGHT_SOC="Ascend950", OPWRIGHT_SYNC="1", TASK_QUEUE_ENABLE="0")
def test_refusals_of_ascend950() -> None:
    heads = "'query' has 24 heads; on Ascend950 it must have 1, 2, 4, 8, 16, 32, 48, 64 or 128"
    refused_on_this_chip(heads, Case(heads=24), torch.int8)
    block = "'sparse_block_size' is 2; on Ascend950 it must be 1"
    refused_on_this_chip(block, Case(block=2), torch.float8_e4m3fn)

"""npu_quant_lightning_indexer against its reference."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.problems import Batch, batches
from tests.twin.ops.attention.indexer_problems import (
    LAYOUTS,
    LONG,
    RAGGED,
    Call,
    apart,
    check_quant,
    on_device,
    quant_call,
    quant_reference,
)
from tests.twin.ops.compare import rejects

pytestmark = pytest.mark.usefixtures("one_thread")
E4M3 = torch.float8_e4m3fn
KINDS = [(torch.int8, torch.float16), (E4M3, torch.float16), (E4M3, torch.bfloat16)]
REFUSED = torch_npu.npu_quant_lightning_indexer


@pytest.mark.parametrize(("dtype", "weights"), KINDS)
@pytest.mark.parametrize("mode", [0, 3])
@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
def test_layouts(
    layouts: tuple[str, str], mode: int, dtype: torch.dtype, weights: torch.dtype
) -> None:
    call = quant_call(RAGGED, layouts, dtype=dtype, weights=weights, sparse_mode=mode)
    check_quant(call.changed(sparse_count=40))


@pytest.mark.parametrize("heads", [1, 8, 16, 17, 24, 33, 64])
def test_heads(heads: int) -> None:
    for dtype, weights in KINDS:
        check_quant(quant_call(RAGGED, heads=heads, dtype=dtype, weights=weights, sparse_count=16))


@pytest.mark.parametrize("count", [1, 241, 2048])
def test_counts(count: int) -> None:
    check_quant(quant_call(LONG, heads=3, sparse_count=count))


@settings(max_examples=15, deadline=None)
@given(
    batch=batches().filter(lambda batch: sum(batch.queries) > 0 and sum(batch.keys) > 0),
    layouts=st.sampled_from(LAYOUTS),
    kind=st.sampled_from(KINDS),
)
def test_any_batch(
    batch: Batch, layouts: tuple[str, str], kind: tuple[torch.dtype, torch.dtype]
) -> None:
    dtype, weights = kind
    check_quant(quant_call(batch, layouts, dtype=dtype, weights=weights, sparse_count=9))


def test_extreme_values() -> None:
    """The lowest int8 in all places: a product of 2^21, which is 2048 in float16."""
    call = quant_call(RAGGED, heads=16, sparse_count=64)
    query, key, weights, query_scale, key_scale = call.tensors
    lowest = torch.full_like(query, -128)
    key[::5] = -128
    key[1::5] = 127
    check_quant(Call((lowest, key, weights.abs(), query_scale, key_scale), call.options))


def test_ties() -> None:
    """Scores that differ before they are rounded to bfloat16 are ties: the lower index."""
    call = quant_call(LONG, heads=1, dtype=E4M3, sparse_count=500)
    query, key, weights, _, key_scale = call.tensors
    ones = torch.ones_like(weights)
    exact = Call(
        ((query.float() * 0 + 1).to(E4M3), key, ones, ones, torch.ones_like(key_scale)),
        call.options,
    )
    assert torch.equal(on_device(exact).cpu(), quant_reference(exact))


@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
def test_keys_and_scales_apart(layouts: tuple[str, str]) -> None:
    call = quant_call(RAGGED, layouts, heads=16, sparse_count=64)
    query, key, weights, query_scale, key_scale = call.tensors
    check_quant(Call((query, apart(key), weights, query_scale, apart(key_scale)), call.options))


def refusals() -> dict[str, Call]:
    """A fault -> a call."""
    call = quant_call(RAGGED, ("BSND", "BSND"), sparse_count=16)
    query, key, weights, query_scale, key_scale = call.tensors
    floats = quant_call(RAGGED, ("BSND", "BSND"), dtype=E4M3, weights=torch.bfloat16)
    f_query, f_key, f_weights, f_query_scale, f_key_scale = floats.tensors

    def of(*tensors: torch.Tensor, **options: object) -> Call:
        return Call(tensors, {**call.options, **options})

    scales = (query_scale, key_scale)
    return {
        "'query' has dtype Half; it must be int8 or float8_e4m3fn": of(
            query.half(), key.half(), weights, *scales
        ),
        "parameter 'query' has dtype Float8_e5m2": of(
            query.to(torch.float8_e5m2), key.to(torch.float8_e5m2), weights, *scales
        ),
        "parameter 'key' has dtype Float8_e4m3fn; it must be that of parameter 'query', Char": of(
            query, key.to(E4M3), weights, *scales
        ),
        "parameter 'weights' has dtype BFloat16; it must be float16": of(
            query, key, weights.bfloat16(), *scales
        ),
        "'weights' has dtype Float; it must be float16 or bfloat16": of(
            f_query, f_key, f_weights.float(), f_query_scale, f_key_scale
        ),
        "'query_dequant_scale' has dtype Float; with weights of Half it must be Half": of(
            query, key, weights, query_scale.float(), key_scale
        ),
        "'key_dequant_scale' has dtype Half; with weights of BFloat16 it must be Float": of(
            f_query, f_key, f_weights, f_query_scale, f_key_scale.half()
        ),
        "parameter 'query_dequant_scale' has shape [6, 7, 7]; it must be [6, 7, 8]": of(
            query, key, weights, query_scale[..., :7].contiguous(), key_scale
        ),
        "parameter 'key_dequant_scale' has shape [6, 701]; it must be [6, 701, 1]": of(
            query, key, weights, query_scale, key_scale[..., 0]
        ),
        "parameter 'query_dequant_scale' has strides": of(
            query, key, weights, query_scale.transpose(0, 1).contiguous().transpose(0, 1), key_scale
        ),
        "parameter 'sparse_count' is 3072; it must be 1 to 2048": call.changed(sparse_count=3072),
        "parameter 'sparse_mode' is 1; it must be 0 (all keys) or 3": call.changed(sparse_mode=1),
        "parameter 'pre_tokens' is 5; it must be 9223372036854775807": call.changed(pre_tokens=5),
        "parameter 'next_tokens' is 0; it must be": call.changed(next_tokens=0),
    }


REFUSALS = refusals()


@pytest.mark.parametrize(("why", "call"), REFUSALS.items(), ids=REFUSALS.keys())
def test_quant_lightning_indexer_refuses_wrong_calls(why: str, call: Call) -> None:
    rejects(why, REFUSED, *call.tensors, 0, 0, **call.options)


def test_refused_modes_and_dtypes() -> None:
    """A mode of quantisation, and hifloat8, which torch does not have."""
    call = quant_call(RAGGED, sparse_count=16)
    for name, modes in (("query_quant_mode", (1, 0)), ("key_quant_mode", (0, 2))):
        why = f"parameter '{name}' is {max(modes)}; it must be 0"
        rejects(why, REFUSED, *call.tensors, *modes, **call.options)
    hifloat8 = {"query_dtype": torch_npu.hifloat8, "key_dtype": torch_npu.hifloat8}
    rejects("parameter 'query'", REFUSED, *call.tensors, 0, 0, **call.options, **hifloat8)

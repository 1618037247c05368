"""The graph engine's kernels of the indexers and of sparse attention.

tests/twin/graphs/test_sparse_attention.py runs them through TorchAir, with references.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
import torch_npu
import torchair  # noqa: F401 - isolated tests are forked from a process that has it

from opwright.graph_engine.errors import KernelArgumentError
from opwright.graph_engine.kernels import creation, sparse_attention
from opwright.graph_engine.lookup import find_kernel, find_prototype
from opwright.reference.comparison import differing_attention
from opwright.reference.lightning_indexer import lightning_indexer, quant_lightning_indexer
from opwright.reference.sparse_flash_attention import (
    kv_quant_sparse_flash_attention,
    sparse_flash_attention,
)
from tests.graph_engine.agreement import compiled

pytestmark = pytest.mark.twin
TYPES = (
    "LightningIndexer",
    "QuantLightningIndexer",
    "SparseFlashAttention",
    "KvQuantSparseFlashAttention",
)


@pytest.mark.parametrize("name", TYPES)
def test_a_kernel_has_its_prototypes_names_in_order(name: str) -> None:
    kernel, prototype = find_kernel(name), find_prototype(name)
    assert kernel is not None
    assert prototype is not None
    assert [*kernel.inputs] == [port.name for port in prototype.inputs]
    assert {n for n, passing in kernel.inputs.items() if passing.optional} == {
        port.name for port in prototype.inputs if port.presence == "optional"
    }
    assert {*kernel.attributes} == {attribute.name for attribute in prototype.attributes}


def whole(*shape: int, dtype: torch.dtype = torch.float16, seed: int = 0) -> torch.Tensor:
    """Small integers: scores are exact."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-3, 4, shape, generator=generator).to(dtype)


def parts(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Query, key and weights; neither is contiguous."""
    query = whole(3, 2, 8, 128, dtype=dtype, seed=1).transpose(0, 1)
    key = whole(2, 1, 9, 128, dtype=dtype, seed=2).transpose(1, 2)
    return query, key, whole(8, 2, 3, seed=3).permute(1, 2, 0)


@pytest.mark.parametrize("values", [False, True])
def test_lightning_indexer(values: bool) -> None:  # noqa: FBT001
    given = parts(torch.float16)
    got = sparse_attention.lightning_indexer(*given, sparse_count=5, return_values=values)
    want = lightning_indexer(*given, sparse_count=5, return_value=values)
    assert all(map(torch.equal, got, want))


def test_quant_lightning_indexer() -> None:
    query, key, weights = parts(torch.int8)
    scales = torch.ones(2, 3, 8).half(), torch.ones(2, 9, 1).half()
    got = sparse_attention.quant_lightning_indexer(
        query, key, weights, *scales, query_quant_mode=0, key_quant_mode=0, sparse_count=5
    )
    want = quant_lightning_indexer(query, key, weights, *scales, 0, 0, sparse_count=5)
    assert torch.equal(got, want)


def test_sparse_flash_attention() -> None:
    """With sinks, which TorchAir's converter passes where torch_npu has them, and statistics."""
    query, key = whole(1, 2, 4, 512, seed=1), whole(1, 6, 1, 512, seed=2).abs()
    indices = torch.tensor([[0, 3, 1, -1], [5, 2, -1, -1]], dtype=torch.int32).view(1, 2, 1, 4)
    options: dict[str, Any] = {"attention_mode": 2, "return_softmax_lse": True}
    for value, sinks in ((key, None), (None, torch.tensor([0.5, -3, 8, 0]))):
        got = sparse_attention.sparse_flash_attention(
            query, key, value, indices, sinks=sinks, scale_value=0.01, **options
        )
        want = sparse_flash_attention(query, key, value, indices, 0.01, sinks=sinks, **options)
        assert differing_attention(got[0], want[0]) is None
        torch.testing.assert_close(got[1:], want[1:])


def test_kv_quant_sparse_flash_attention() -> None:
    cache = torch.cat(
        (
            whole(1, 6, 1, 512, dtype=torch.int8).abs(),
            whole(1, 6, 1, 64).view(torch.int8),
            torch.ones(1, 6, 1, 4).view(torch.int8),
        ),
        -1,
    )
    query = whole(1, 2, 4, 576, seed=1)
    indices = torch.tensor([[0, 3, 1, -1], [5, 2, -1, -1]], dtype=torch.int32).view(1, 2, 1, 4)
    got = sparse_attention.kv_quant_sparse_flash_attention(
        *(query, cache, cache, indices),
        scale_value=0.01,
        key_quant_mode=2,
        value_quant_mode=2,
        attention_mode=2,
    )
    want = kv_quant_sparse_flash_attention(
        query, cache, cache, indices, 0.01, 2, 2, attention_mode=2
    )
    assert differing_attention(got, want) is None


def test_operators_have_fake_kernels() -> None:
    """Their sizes may be symbols, and their schemas say what they do."""
    given = parts(torch.float16)
    torch.library.opcheck(
        torch.ops.opwright.lightning_indexer.default,
        given,
        {"sparse_count": 5, "return_value": True},
    )
    key = whole(6, 1, 512, seed=2)
    torch.library.opcheck(
        torch.ops.opwright.sparse_flash_attention.default,
        (whole(2, 4, 512), key, key, torch.zeros(2, 1, 4, dtype=torch.int32), 0.1),
        {
            "actual_seq_lengths_query": torch.tensor([2], dtype=torch.int32),
            "actual_seq_lengths_kv": torch.tensor([6], dtype=torch.int32),
            "layout_query": "TND",
            "layout_kv": "TND",
            "return_softmax_lse": True,
        },
    )


def test_backward_says_that_there_is_no_derivative() -> None:
    query, key, weights = parts(torch.float16)
    values = torch.ops.opwright.lightning_indexer(
        query, key, weights.requires_grad_(), sparse_count=5, return_value=True
    )[1]
    with pytest.raises(RuntimeError, match="derivative for opwright::lightning_indexer is not imp"):
        values.sum().backward()


INDEXED: dict[str, Any] = {"query_quant_mode": 0, "key_quant_mode": 0}
ATTENDED: dict[str, Any] = {"scale_value": 1.0, "attention_mode": 2}
CACHED: dict[str, Any] = {**ATTENDED, "key_quant_mode": 2, "value_quant_mode": 2}


@pytest.mark.parametrize(
    ("kernel", "inputs", "options", "change"),
    [
        (sparse_attention.lightning_indexer, 3, {}, {"pre_tokens": 7}),
        (sparse_attention.quant_lightning_indexer, 5, INDEXED, {"key_quant_mode": 1}),
        (sparse_attention.sparse_flash_attention, 4, ATTENDED, {"attention_mode": 0}),
        (sparse_attention.sparse_flash_attention, 4, ATTENDED, {"next_tokens": 0}),
        *(
            (sparse_attention.kv_quant_sparse_flash_attention, 4, CACHED, {name: 77})
            for name in ("value_quant_mode", "quant_scale_repo_mode", "tile_size", "rope_head_dim")
        ),
    ],
)
def test_attributes_with_one_value(
    kernel: Any,  # noqa: ANN401 - each has parameters of its own
    inputs: int,
    options: dict[str, Any],
    change: dict[str, int],
) -> None:
    ((name, value),) = change.items()
    with pytest.raises(ValueError, match=f"parameter '{name}' is {value}; it must be "):
        functools.partial(kernel, **{**options, **change})(*[torch.zeros(1)] * inputs)


@pytest.mark.parametrize("name", ["key_dequant_scale", "value_dequant_scale"])
def test_a_quantised_cache_has_its_scales_itself(name: str) -> None:
    one = torch.zeros(1)
    scale: dict[str, Any] = {name: one}
    with pytest.raises(ValueError, match=f"parameter '{name}' is given; it is reserved"):
        sparse_attention.kv_quant_sparse_flash_attention(one, one, one, one, **scale, **CACHED)


def of_two_sequences() -> dict[str, tuple[Any, ...]]:
    """Operator -> its inputs, in BSND."""
    weights, scales = torch.ones(2, 1, 8).half(), torch.ones(2, 32, 1).half()
    indices = torch.zeros(2, 1, 1, 2, dtype=torch.int32)
    codes, latent, token = whole(2, 1, 8, 128), whole(2, 32, 1, 512), whole(2, 32, 1, 656).char()
    key = whole(2, 32, 1, 128)
    return {
        "lightning_indexer": (codes, key, weights),
        "quant_lightning_indexer": (codes.char(), key.char(), weights, weights, scales),
        "sparse_flash_attention": (whole(2, 1, 8, 512), latent, latent, indices, 0.1),
        "kv_quant_sparse_flash_attention": (whole(2, 1, 8, 576), token, token, indices, 0.1),
    }


@pytest.mark.parametrize("name", of_two_sequences())
def test_keys_of_another_batch(name: str) -> None:
    """Lengths for two sequences do not make two of one."""
    query, key, *others = of_two_sequences()[name]
    lengths_name = "actual_seq_lengths_kv" if "attention" in name else "actual_seq_lengths_key"
    for keys in (key[:1], torch.cat((key, key))):
        why = rf"'key' has {len(keys)} sequences; .* it must have those of parameter 'query', 2"
        for lengths in (None, torch.tensor([32, 32], dtype=torch.int32)):
            with pytest.raises(RuntimeError, match=why):
                getattr(torch.ops.opwright, name)(query, keys, *others, **{lengths_name: lengths})


def test_values_ropes_and_scales_of_another_batch() -> None:
    query, key, value, *others = of_two_sequences()["sparse_flash_attention"]
    ropes = {"query_rope": whole(2, 1, 8, 64), "key_rope": whole(1, 32, 1, 64)}
    attend = torch.ops.opwright.sparse_flash_attention
    with pytest.raises(RuntimeError, match="parameter 'value' has shape"):
        attend(query, key, value[:1], *others)
    with pytest.raises(RuntimeError, match="parameter 'key_rope' has shape"):
        attend(query, key, value, *others, **ropes)
    *inputs, scales = of_two_sequences()["quant_lightning_indexer"]
    with pytest.raises(RuntimeError, match="parameter 'key_dequant_scale' has shape"):
        torch.ops.opwright.quant_lightning_indexer(*inputs, scales[:1])


def moved(values: tuple[Any, ...], device: str) -> tuple[Any, ...]:
    return tuple(v.to(device) if isinstance(v, torch.Tensor) else v for v in values)


@pytest.mark.parametrize("name", of_two_sequences())
def test_a_tensor_without_memory_among_others(name: str) -> None:
    given = of_two_sequences()[name]
    query, key, *others = given
    operator = getattr(torch.ops.opwright, name)
    with pytest.raises(RuntimeError, match=r"'key' is on device meta; .* 'query', cpu"):
        operator(query, key.to("meta"), *others)
    with pytest.raises(RuntimeError, match=r"'key' is on device cpu; .* 'query', meta"):
        operator(query.to("meta"), key, *others)


REFUSED_BY_ALL: dict[str, dict[str, Any]] = {
    "parameter 'sparse_mode' is 7; it must be 0": {"sparse_mode": 7},
    "parameter 'layout_query' is 'X'; it must be BSND or TND": {"layout_query": "X"},
    "parameter 'query' has shape .* its layout has 3 dimensions": {
        "layout_query": "TND",
        "layout_k": "TND",
    },
    "parameter 'layout_k.*' is 'X'; it must be BSND, TND or PA_BSND": {"layout_k": "X"},
    "parameter 'block_table' is absent": {"layout_k": "PA_BSND"},
}
COUNTS = (0, -1, 2**31, 2**40, -(2**63))


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("name", of_two_sequences())
def test_refusals_with_and_without_memory(name: str, device: str) -> None:
    given = moved(of_two_sequences()[name], device)
    operator = getattr(torch.ops.opwright, name)
    for why, changes in REFUSED_BY_ALL.items():
        layout = "layout_kv" if "attention" in name else "layout_key"
        options = {layout if key == "layout_k" else key: changes[key] for key in changes}
        with pytest.raises(RuntimeError, match=why):
            operator(*given, **options)
    for count in COUNTS if "indexer" in name else ():
        why = f"parameter 'sparse_count' is {count}; it must be 1 to 2048"
        with pytest.raises(RuntimeError, match=why):
            operator(*given, sparse_count=count)


def test_a_cache_without_pages() -> None:
    query, key, _, *others = of_two_sequences()["sparse_flash_attention"]
    with pytest.raises(
        RuntimeError, match=r"'key' has shape \[0, 32, 1, 512\]; it must have pages"
    ):
        torch.ops.opwright.sparse_flash_attention(
            *(query, key[:0], key[:0], *others),
            block_table=torch.zeros(2, 1, dtype=torch.int32),
            actual_seq_lengths_kv=torch.tensor([3, 3], dtype=torch.int32),
            layout_kv="PA_BSND",
        )


def test_hifloat8_is_refused_by_name() -> None:
    """TorchAir's converters bitcast to it."""
    with pytest.raises(KernelArgumentError, match="dtype HIFLOAT8"):
        creation.bitcast(torch.zeros(1, dtype=torch.uint8), type=34)


@pytest.mark.isolated
def test_a_graph_refuses_the_default_attention_mode() -> None:
    """With the operator's name and the value that it takes."""
    query, key = (
        torch.zeros(1, 1, 4, 512).half().to("npu"),
        torch.zeros(1, 6, 1, 512).half().to("npu"),
    )
    indices = torch.zeros(1, 1, 1, 2, dtype=torch.int32).to("npu")

    def step(query: torch.Tensor, key: torch.Tensor, indices: torch.Tensor) -> object:
        return torch_npu.npu_sparse_flash_attention(query, key, key, indices, 0.1)[0]

    graph = compiled(step)
    with pytest.raises(RuntimeError, match="OPW-N004 the operator rejects its inputs") as raised:
        graph(query, key, indices)
    assert "node 'SparseFlashAttention'" in str(raised.value)
    assert "parameter 'attention_mode' is 0; it must be 2" in str(raised.value)


@pytest.mark.isolated
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"sparse_mode": 2}, "parameter 'sparse_mode' is 2; it must be 0 (all keys) or 3"),
        ({"sparse_count": 2049}, "parameter 'sparse_count' is 2049; it must be 1 to 2048"),
    ],
    ids=["mode", "count"],
)
def test_a_graph_refuses_a_mode_and_a_count_of_the_indexer(
    options: dict[str, int], why: str
) -> None:
    """When it is compiled, with the operator's name."""
    query, key = (
        torch.zeros(1, 1, 8, 128).half().to("npu"),
        torch.zeros(1, 32, 1, 128).half().to("npu"),
    )
    weights = torch.zeros(1, 1, 8).half().to("npu")

    def step(query: torch.Tensor, key: torch.Tensor, weights: torch.Tensor) -> object:
        return torch_npu.npu_lightning_indexer(query, key, weights, **options)[0]

    graph = compiled(step)
    with pytest.raises(RuntimeError) as raised:
        graph(query, key, weights)
    text = str(raised.value).split("Traceback")[0]
    assert text.count("CompileGraph: OPW-N004 the operator rejects its inputs") == 1
    assert text.count("node 'LightningIndexer'") == 1
    assert why in text

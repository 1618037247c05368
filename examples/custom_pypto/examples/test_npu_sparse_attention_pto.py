"""Tests of ``npu_sparse_attention_pto`` in the installed wheel; they need an NPU or its twin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import torch
from functorch.compile import make_boxed_compiler
from torch._dynamo.backends.common import aot_autograd
from torch.fx.experimental.proxy_tensor import make_fx

import custom_pypto  # noqa: F401 - registers the operators
from decoder import CACHES, WEIGHTS, Decode, Tensors, decode, npu
from support import MODES, PAGE_SIZE, compiled

if TYPE_CHECKING:
    from collections.abc import Callable

attention = torch.ops.custom_pypto.npu_sparse_attention_pto
undeclared = torch.ops.custom_pypto.npu_sparse_attention_pto_undeclared

STEPS = 3
Operator = torch._ops.OpOverloadPacket  # noqa: SLF001 - the type has no other name


@pytest.fixture(scope="module")
def decoded() -> Decode:
    return decode(1, STEPS)


def assert_same_attention(got: torch.Tensor, wanted: torch.Tensor) -> None:
    assert got.shape == wanted.shape
    close = torch.isclose(got.cpu().float(), wanted.float(), rtol=0.03, atol=1e-4)
    assert close.float().mean() >= 0.97


def assert_same_caches(caches: Tensors, wanted: Tensors) -> None:
    """Compare the caches: a sum in another order may round to the next bfloat16."""
    for name, cache in caches.items():
        differs = cache.cpu() != wanted[name]
        assert differs.float().mean() < 1e-4, name
        torch.testing.assert_close(cache.cpu(), wanted[name], rtol=2**-7, atol=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_the_steps_of_a_decoder_agree_with_the_reference(mode: str, decoded: Decode) -> None:
    caches = run_steps(attention, mode, decoded)
    assert_same_caches(caches, decoded.written)


@pytest.mark.parametrize("mode", ["eager", "max-autotune"])
def test_the_undeclared_operator_where_nothing_moves_its_call(mode: str, decoded: Decode) -> None:
    caches = run_steps(undeclared, mode, decoded)
    assert_same_caches(caches, decoded.written)


@pytest.mark.parametrize("mode", ["reduce-overhead", "npugraph_ex"])
def test_captured_graphs_lose_what_the_undeclared_operator_writes(
    mode: str, decoded: Decode
) -> None:
    # A tensor that a graph only reads is copied for the captured graph, and the copy is written.
    caches = run_steps(undeclared, mode, decoded, steps=1)
    assert_same_caches(caches, decoded.caches)


def run_steps(operator: Operator, mode: str, decoded: Decode, *, steps: int = STEPS) -> Tensors:
    """Run steps, compare their results with the reference, and return the caches."""
    constant, caches = npu(decoded.constant), npu(decoded.caches)
    addresses = {name: cache.data_ptr() for name, cache in caches.items()}
    call = compiled(lambda given, caches: operator(**constant, **caches, **given), mode)
    for given, wanted in zip(decoded.steps[:steps], decoded.results, strict=False):
        assert_same_attention(call(npu(given), caches), wanted)
    assert {name: cache.data_ptr() for name, cache in caches.items()} == addresses
    return caches


def test_two_tokens_at_a_time() -> None:
    two = decode(2, 1)
    caches = npu(two.caches)
    got = attention(**npu(two.constant), **caches, **npu(two.steps[0]))
    assert_same_attention(got, two.results[0])
    assert_same_caches(caches, two.written)


# A model that reads a cache before and after it is written.
def around(operator: Operator, given: Tensors, caches: Tensors) -> tuple[torch.Tensor, ...]:
    before = caches["kv_cache"].sum(dtype=torch.float32)
    out = operator(**given, **caches)
    return out, caches["kv_cache"].sum(dtype=torch.float32) - before


@pytest.mark.parametrize("mode", MODES)
def test_what_a_model_reads_around_the_call(mode: str, decoded: Decode) -> None:
    given, caches = npu({**decoded.constant, **decoded.steps[0]}), npu(decoded.caches)
    call = compiled(lambda given, caches: around(attention, given, caches), mode)
    out, change = call(given, caches)
    assert_same_attention(out, decoded.results[0])
    wanted = caches["kv_cache"].cpu().float().sum() - decoded.caches["kv_cache"].float().sum()
    torch.testing.assert_close(change.cpu(), wanted, rtol=1e-3, atol=0.1)


def test_a_graph_of_the_undeclared_operator_loses_the_write(decoded: Decode) -> None:
    given, caches = npu({**decoded.constant, **decoded.steps[0]}), npu(decoded.caches)
    reads: dict[Any, set[Any]] = {}
    for operator in (attention, undeclared):
        graphs: list[torch.fx.GraphModule] = []

        def keep(
            module: torch.fx.GraphModule, _: object, graphs: list[Any] = graphs
        ) -> Callable[..., object]:
            graphs.append(module)
            return module.forward

        torch.compiler.reset()
        backend = aot_autograd(fw_compiler=make_boxed_compiler(keep))
        torch.compile(around, backend=backend, fullgraph=True)(operator, given, caches)
        sums = graphs[0].graph.find_nodes(op="call_function", target=torch.ops.aten.sum.default)
        reads[operator] = {node.args[0] for node in sums}
    assert len(reads[attention]) == 2  # the cache before, and the cache after
    assert len(reads[undeclared]) == 1  # one cache, which nothing seems to change


def test_autograd_sees_the_writes(decoded: Decode) -> None:
    given, caches = npu({**decoded.constant, **decoded.steps[0]}), npu(decoded.caches)
    attention(**given, **caches)
    assert [cache._version for cache in caches.values()] == [1, 1, 1]  # noqa: SLF001


BF16 = torch.bfloat16


def on_meta(batch: int, queries: int) -> Tensors:
    shapes = {
        **{name: shape for name, (shape, _) in WEIGHTS.items()},
        **{name: (9, PAGE_SIZE, 1, n) for name, n in CACHES.items()},
        "x": (batch, queries, 7168),
        "sin": (batch, queries, 64),
        "cos": (batch, queries, 64),
    }
    integers = {"cache_index": (batch, queries), "act_seqs": (batch,), "block_table": (batch, 7)}
    return {
        **{name: torch.empty(shape, dtype=BF16, device="meta") for name, shape in shapes.items()},
        **{n: torch.empty(s, dtype=torch.int32, device="meta") for n, s in integers.items()},
    }


@pytest.mark.parametrize("operator", [attention, undeclared], ids=["declared", "undeclared"])
def test_sizes_stay_symbols(operator: Operator) -> None:
    graph = make_fx(lambda given: operator(**given), tracing_mode="symbolic")(on_meta(4, 2))
    (node,) = graph.graph.find_nodes(op="call_function", target=operator.default)
    # Batch and queries can only be 4 and 2 here.
    assert node.meta["val"].shape == (4, 2, 128, 512)
    for place in (10, 19):  # kv_cache, index_k_cache
        pages = node.args[place].meta["val"].shape[0]
        assert isinstance(pages, torch.SymInt)
        assert pages.node.maybe_as_int() is None


@pytest.mark.parametrize("device", ["npu", "meta"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": ((4, 1, 7168), torch.float16)}, "x must be BFloat16, got Half"),
        ({"x": ((4, 7168), BF16)}, "x must have the shape [B, S1, 7168], got [4, 7168]"),
        ({"w_dq": ((1536, 7168), BF16)}, "w_dq must have the shape [7168, 1536]"),
        ({"sin": ((4, 2, 64), BF16)}, "sin must have the shape [B, S1, 64] with S1 = 1"),
        ({"cache_index": ((4, 1), torch.int64)}, "cache_index must be Int, got Long"),
        (
            {"kr_cache": ((1, 128, 1, 64), BF16)},
            "kr_cache must have the shape [block_num, 128, 1, 64]",
        ),
        ({"act_seqs": ((3,), torch.int32)}, "act_seqs must have the shape [B] with B = 4, got [3]"),
        ({"block_table": ((4, 1025), torch.int32)}, "max_blocks must be from 1 to 1024, got 1025"),
    ],
    ids=str,
)
def test_refusals(device: str, changes: dict[str, Any], message: str, decoded: Decode) -> None:
    tensors = {**decoded.constant, **decoded.steps[0], **decoded.caches}
    given = {name: torch.empty_like(tensor, device=device) for name, tensor in tensors.items()}
    for name, (shape, dtype) in changes.items():
        given[name] = torch.zeros(shape, dtype=dtype, device=device)
    with pytest.raises(RuntimeError, match=re.escape(f"npu_sparse_attention_pto: {message}")):
        attention(**given)


def test_a_batch_that_the_device_operator_does_not_take() -> None:
    with pytest.raises(RuntimeError, match="B must be from 4 to 4, got 3"):
        attention(**on_meta(3, 1))


def test_caches_that_are_not_contiguous(decoded: Decode) -> None:
    given = npu({**decoded.constant, **decoded.steps[0], **decoded.caches})
    given["kr_cache"] = torch.zeros(*given["kr_cache"].shape[:3], 128, dtype=BF16).npu()[..., :64]
    with pytest.raises(RuntimeError, match="kr_cache is written in place and must be contiguous"):
        attention(**given)


@pytest.mark.parametrize("name", ["x", "w_uk"])
def test_a_gradient_that_nobody_would_compute_is_refused(name: str, decoded: Decode) -> None:
    given = npu({**decoded.constant, **decoded.steps[0], **decoded.caches})
    given[name].requires_grad_()
    for operator in (attention, undeclared):
        with pytest.raises(NotImplementedError, match=f"has no derivative, but {name} requires"):
            operator(**given)

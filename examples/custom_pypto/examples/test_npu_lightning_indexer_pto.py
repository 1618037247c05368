"""Tests of ``npu_lightning_indexer_pto`` in the installed wheel; they need an NPU or its twin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import torch
from opwright.reference.comparison import differing_rows
from opwright.reference.lightning_indexer import lightning_indexer, lightning_indexer_scores
from torch.fx.experimental.proxy_tensor import make_fx

import custom_pypto  # noqa: F401 - registers the operators
from support import MODES, PAGE_SIZE, compiled, paged

if TYPE_CHECKING:
    from collections.abc import Sequence

indexer = torch.ops.custom_pypto.npu_lightning_indexer_pto
Operands = dict[str, torch.Tensor]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(2026)


def operands(lengths: Sequence[int], queries: int) -> Operands:
    pages, table = paged(lengths)
    batch = len(lengths)
    return {
        "query": torch.randn(batch, queries, 64, 128).bfloat16(),
        "key": torch.randn(pages, PAGE_SIZE, 1, 128).bfloat16(),
        "weights": torch.randn(batch, queries, 64).bfloat16(),
        "actual_seq_lengths_key": torch.tensor(lengths, dtype=torch.int32),
        "block_table": table,
    }


def npu(given: Operands) -> Operands:
    return {name: tensor.npu() for name, tensor in given.items()}


def assert_selects(got: torch.Tensor, given: Operands, count: int = 2048) -> None:
    expected, _ = lightning_indexer(**given, layout_key="PA_BSND", sparse_count=count)
    assert got.shape == expected.shape
    assert got.dtype == torch.int32
    scores = lightning_indexer_scores(**given, layout_key="PA_BSND")
    assert differing_rows(got.cpu(), expected, scores) == []


@pytest.mark.parametrize("count", [1, 100, 2048])
@pytest.mark.parametrize(
    ("lengths", "queries"),
    [([7, 2048, 2049, 5000], 3), ([1, 0, 3], 4), ([129], 1)],
    ids=["long", "shorter than the queries", "one"],
)
def test_eager_agrees_with_the_reference(lengths: list[int], queries: int, count: int) -> None:
    given = operands(lengths, queries)
    assert_selects(indexer(**npu(given), sparse_count=count), given, count)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("mode", MODES[1:])
def test_graphs_agree_with_the_reference(mode: str, *, dynamic: bool) -> None:
    call = compiled(lambda given: indexer(**given, sparse_count=300) + 1, mode, dynamic=dynamic)
    for lengths in ([200, 700], [700, 200], [900, 5, 300]) if dynamic else ([200, 700], [150, 690]):
        given = operands(lengths, 2)
        assert_selects(call(npu(given)) - 1, given, 300)


def test_tensors_of_the_host_as_inputs_of_a_compiled_model() -> None:
    call = compiled(lambda given: indexer(**given), "max-autotune")
    for lengths in ([200, 2500], [190, 2550]):
        given = operands(lengths, 2)
        assert_selects(call(given), given)


def test_a_key_that_is_a_slice_of_a_larger_cache() -> None:
    given = operands([300, 40], 2)
    wide = torch.randn(len(given["key"]), PAGE_SIZE, 2, 128).bfloat16()
    wide[:, :, :1] = given["key"]
    view = wide.npu()[:, :, :1]
    assert_selects(indexer(**{**npu(given), "key": view}), given)


def test_sizes_stay_symbols() -> None:
    given = {name: tensor.to("meta") for name, tensor in operands([200, 700, 90], 3).items()}
    graph = make_fx(lambda given: indexer(**given, sparse_count=64), tracing_mode="symbolic")(given)
    (node,) = graph.graph.find_nodes(op="call_function", target=indexer.default)
    batch, queries, heads, count = node.meta["val"].shape
    assert isinstance(batch, torch.SymInt)
    assert isinstance(queries, torch.SymInt)
    assert (batch, queries, heads, count) == (3, 3, 1, 64)


@pytest.mark.parametrize("device", ["npu", "meta"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layout_query": "TND"}, "layout_query must be 'BSND', got 'TND'"),
        ({"layout_key": "BSND"}, "layout_key must be 'PA_BSND', got 'BSND'"),
        ({"sparse_mode": 0}, "sparse_mode must be 3, got 0"),
        ({"sparse_count": 0}, "sparse_count must be from 1 to 2048, got 0"),
        ({"sparse_count": 2049}, "sparse_count must be from 1 to 2048, got 2049"),
        ({"block_table": None}, "block_table must be given: Int [B, max_blocks]"),
        ({"actual_seq_lengths_key": None}, "actual_seq_lengths_key must be given: Int [B]"),
        (
            {"actual_seq_lengths_query": ((2,), torch.int32)},
            "actual_seq_lengths_query must be None",
        ),
        (
            {"query": ((2, 2, 32, 128), torch.bfloat16)},
            "query must have the shape [B, S1, 64, 128]",
        ),
        (
            {"query": ((2, 5, 64, 128), torch.bfloat16)},
            "weights must have the shape [B, S1, 64] with S1",
        ),
        ({"query": ((2, 2, 64, 128), torch.float16)}, "query must be BFloat16, got Half"),
        (
            {"key": ((4, 64, 1, 128), torch.bfloat16)},
            "key must have the shape [block_num, 128, 1, 128]",
        ),
        ({"weights": ((3, 2, 64), torch.bfloat16)}, "[B, S1, 64] with B = 2, got [3, 2, 64]"),
        ({"block_table": ((2, 7), torch.int64)}, "block_table must be Int, got Long"),
        ({"block_table": ((2, 1025), torch.int32)}, "max_blocks must be from 1 to 1024, got 1025"),
    ],
    ids=str,
)
def test_refusals(device: str, changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        name: tensor.to(device) for name, tensor in operands([9, 200], 2).items()
    }
    for name, value in changes.items():
        if isinstance(value, tuple):
            value = torch.zeros(value[0], dtype=value[1], device=device)  # noqa: PLW2901
        arguments[name] = value
    with pytest.raises(RuntimeError, match=re.escape(message)) as error:
        indexer(**arguments)
    assert "npu_lightning_indexer_pto: " in str(error.value)


@pytest.mark.parametrize("name", ["query", "key", "weights"])
def test_a_gradient_that_nobody_would_compute_is_refused(name: str) -> None:
    given = npu(operands([9, 200], 2))
    given[name].requires_grad_()
    with pytest.raises(NotImplementedError, match=f"has no derivative, but {name} requires"):
        indexer(**given)
    with torch.no_grad():
        assert indexer(**given).shape == (2, 2, 1, 2048)

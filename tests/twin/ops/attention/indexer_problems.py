"""Problems for the lightning indexers in each layout, and the comparison with their references."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
import torch_npu

from opwright.reference.comparison import differing_rows
from opwright.reference.lightning_indexer import (
    lightning_indexer,
    lightning_indexer_scores,
    quant_lightning_indexer,
    quant_lightning_indexer_scores,
)
from tests.reference.problems import Batch, lengths
from tests.twin.ops.compare import copied, run_on_npu

if TYPE_CHECKING:
    from collections.abc import Mapping

SIZE = 128
LAYOUTS = (("BSND", "BSND"), ("TND", "TND"), ("BSND", "PA_BSND"), ("TND", "PA_BSND"))
# Sequences that end within a block of the kernel, at its border, and after several; empty ones;
# more queries than keys; more queries than share a block of keys.
RAGGED = Batch(queries=(3, 2, 0, 1, 6, 1), keys=(700, 0, 30, 240, 4, 487), seed=1)
LONG = Batch(queries=(2, 1), keys=(9001, 4300), seed=2)  # divided among threads
OF_SCORES = ("sparse_count", "return_value")  # parameters that scores do not depend on

Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Call:
    """Arguments of an indexer, on the CPU."""

    tensors: Tensors
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def of_scores(self) -> dict[str, Any]:
        return {name: value for name, value in self.options.items() if name not in OF_SCORES}

    def changed(self, **options: object) -> Call:
        return Call(self.tensors, {**self.options, **options})


def arranged(
    batch: Batch, layouts: tuple[str, str], of_queries: Tensors, of_keys: Tensors
) -> tuple[Tensors, Tensors, dict[str, Any]]:
    """Return tensors with a row for each token in these layouts, and what says where they lie."""
    query_layout, key_layout = layouts
    options: dict[str, Any] = {"layout_query": query_layout, "layout_key": key_layout}
    if query_layout == "TND":
        options["actual_seq_lengths_query"] = batch.query_ends
    else:
        options["actual_seq_lengths_query"] = lengths(*batch.queries)
        of_queries = tuple(batch.padded(tensor, batch.queries) for tensor in of_queries)
    if key_layout == "TND":
        options["actual_seq_lengths_key"] = batch.key_ends
        return of_queries, of_keys, options
    options["actual_seq_lengths_key"] = lengths(*batch.keys)
    if key_layout == "BSND":
        return of_queries, tuple(batch.padded(tensor, batch.keys) for tensor in of_keys), options
    paged = [batch.paged(tensor) for tensor in of_keys]
    return of_queries, tuple(pages for pages, _ in paged), options | {"block_table": paged[0][1]}


def indexer_call(
    batch: Batch,
    layouts: tuple[str, str] = ("TND", "TND"),
    *,
    heads: int = 8,
    dtype: torch.dtype = torch.bfloat16,
    weights: torch.dtype | None = None,
    **options: object,
) -> Call:
    rows, tokens = sum(batch.queries), sum(batch.keys)
    of_queries = (
        batch.normal(rows, heads, SIZE, salt=1, dtype=dtype),
        batch.normal(rows, heads, salt=3, dtype=weights or dtype),
    )
    of_keys = (batch.normal(tokens, 1, SIZE, salt=2, dtype=dtype),)
    (query, made), (key,), places = arranged(batch, layouts, of_queries, of_keys)
    return Call((query, key, made), {**places, **options})


def quant_call(
    batch: Batch,
    layouts: tuple[str, str] = ("TND", "TND"),
    *,
    heads: int = 8,
    dtype: torch.dtype = torch.int8,
    weights: torch.dtype = torch.float16,
    **options: object,
) -> Call:
    """Scales are positive."""
    rows, tokens = sum(batch.queries), sum(batch.keys)
    scale = torch.float16 if weights == torch.float16 else torch.float32

    def quantised(count: int, heads: int, salt: int) -> torch.Tensor:
        values = batch.normal(count, heads, SIZE, salt=salt, dtype=torch.float32) * 50
        return values.clamp(-128, 127).to(dtype)

    of_queries = (
        quantised(rows, heads, 1),
        batch.normal(rows, heads, salt=3, dtype=weights),
        batch.normal(rows, heads, salt=4, dtype=scale).abs() + 0.01,
    )
    of_keys = (quantised(tokens, 1, 2), batch.normal(tokens, 1, salt=5, dtype=scale).abs() + 0.01)
    (query, made, query_scale), (key, key_scale), places = arranged(
        batch, layouts, of_queries, of_keys
    )
    return Call((query, key, made, query_scale, key_scale), {**places, **options})


def on_device(call: Call) -> Any:  # noqa: ANN401 -- a tensor or two
    """Run the operator that has as many operands."""
    if len(call.tensors) == 3:
        return run_on_npu(torch_npu.npu_lightning_indexer, *call.tensors, **call.options)
    return run_on_npu(torch_npu.npu_quant_lightning_indexer, *call.tensors, 0, 0, **call.options)


def check_indexer(call: Call) -> None:
    """Compare with the reference: which keys, and with return_value their scores."""
    indices, values = on_device(call)
    expected, expected_values = lightning_indexer(*call.tensors, **call.options)
    compare(indices, expected, lightning_indexer_scores(*call.tensors, **call.of_scores))
    assert values.dtype == expected_values.dtype
    assert values.shape == expected_values.shape
    # In the order of scores, which is that of the reference but for scores that are nearly equal.
    torch.testing.assert_close(values.cpu(), expected_values, rtol=0.005, atol=1e-3)


def quant_reference(call: Call) -> torch.Tensor:
    query, key, weights, *scales = call.tensors
    return quant_lightning_indexer(query, key, weights, scales[0], scales[1], 0, 0, **call.options)


def check_quant(call: Call) -> None:
    expected = quant_reference(call)
    query, key, weights, *scales = call.tensors
    scores = quant_lightning_indexer_scores(
        query, key, weights, scales[0], scales[1], **call.of_scores
    )
    compare(on_device(call), expected, scores)


def compare(indices: torch.Tensor, expected: torch.Tensor, scores: list[torch.Tensor]) -> None:
    assert indices.dtype == expected.dtype
    assert indices.shape == expected.shape
    assert differing_rows(indices.cpu(), expected, scores) == []


def apart(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor with noise between the entries of its first axis."""
    wide = torch.full((tensor.shape[0], 2, *tensor.shape[1:]), 3).to(tensor.dtype)
    wide[:, 0] = tensor
    view = wide[:, 0]
    assert copied(view, "npu").stride() == view.stride()
    return view


def check_all() -> None:
    """Each layout and kind of operands once: what is run for each instruction set."""
    for layouts in LAYOUTS:
        for heads, dtype, weights in (
            (64, torch.bfloat16, torch.bfloat16),
            (24, torch.float16, torch.float32),
        ):
            options: dict[str, Any] = {"heads": heads, "dtype": dtype, "weights": weights}
            check_indexer(indexer_call(RAGGED, layouts, sparse_count=128, **options))
        for dtype, weights in (
            (torch.int8, torch.float16),
            (torch.float8_e4m3fn, torch.float16),
            (torch.float8_e4m3fn, torch.bfloat16),
        ):
            options = {"heads": 40, "dtype": dtype, "weights": weights}
            check_quant(quant_call(RAGGED, layouts, sparse_count=128, **options))
    check_indexer(indexer_call(LONG, heads=9, sparse_count=300))

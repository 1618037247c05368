"""Runs the operators of the installed wheel in each mode, and compares them with plain PyTorch."""

from __future__ import annotations

import sys

import torch
from opwright.reference.comparison import differing_rows
from opwright.reference.lightning_indexer import lightning_indexer, lightning_indexer_scores

import custom_pypto  # noqa: F401 - registers the operators
from decoder import Decode, decode, npu
from support import MODES, PAGE_SIZE, compiled, paged

ops = torch.ops.custom_pypto
CACHE = {"layout_key": "PA_BSND"}


def total(mode: str, _: Decode) -> str:
    """Add two tensors."""
    x, y = torch.randn(2, 8, 2048)
    got = compiled(ops.add_custom, mode)(x.npu(), y.npu())
    return "exact" if torch.equal(got.cpu(), x + y) else "WRONG"


def selected(mode: str, _: Decode) -> str:
    """Select 64 of up to 700 keys for two queries."""
    lengths = (200, 700)
    pages, table = paged(lengths)
    given = {
        "query": torch.randn(2, 1, 64, 128).bfloat16(),
        "key": torch.randn(pages, PAGE_SIZE, 1, 128).bfloat16(),
        "weights": torch.randn(2, 1, 64).bfloat16(),
        "actual_seq_lengths_key": torch.tensor(lengths, dtype=torch.int32),
        "block_table": table,
    }
    call = compiled(lambda given: ops.npu_lightning_indexer_pto(**given, sparse_count=64), mode)
    expected, _ = lightning_indexer(**given, **CACHE, sparse_count=64)
    scores = lightning_indexer_scores(**given, **CACHE)
    wrong = differing_rows(call(npu(given)).cpu(), expected, scores)
    return "WRONG" if wrong else "same keys"


def written(operator: torch._ops.OpOverloadPacket, mode: str, decoded: Decode) -> str:
    """Decode one step, and look for the new tokens in the caches."""
    constant, caches = npu(decoded.constant), npu(decoded.caches)
    call = compiled(lambda given, caches: operator(**constant, **caches, **given), mode)
    got = call(npu(decoded.steps[0]), caches).cpu()
    if not torch.allclose(got.float(), decoded.results[0].float(), rtol=0.03, atol=1e-2):
        return "WRONG"
    same = [torch.equal(cache.cpu(), decoded.caches[name]) for name, cache in caches.items()]
    return {0: "written", len(same): "LOST"}.get(sum(same), "WRONG")


def declared(mode: str, decoded: Decode) -> str:
    """Call the operator whose schema says what it writes."""
    return written(ops.npu_sparse_attention_pto, mode, decoded)


def undeclared(mode: str, decoded: Decode) -> str:
    """Call the one whose schema does not."""
    return written(ops.npu_sparse_attention_pto_undeclared, mode, decoded)


ROWS = {
    "add_custom: the sum": (total, ["exact"] * 4),
    "npu_lightning_indexer_pto: the result": (selected, ["same keys"] * 4),
    "npu_sparse_attention_pto: the caches": (declared, ["written"] * 4),
    "npu_sparse_attention_pto_undeclared: the caches": (
        undeclared,
        ["written", "written", "LOST", "LOST"],  # what the schema hides, a captured graph loses
    ),
}


def main() -> int:
    """Print the table; return 1 if something is not as it has to be."""
    torch.manual_seed(2026)
    decoded = decode(1, 1)
    print(f"{'':48}" + "".join(f"{mode:16}" for mode in MODES).rstrip())
    holds = True
    for name, (run, expected) in ROWS.items():
        found = [run(mode, decoded) for mode in MODES]
        print(f"{name:48}" + "".join(f"{word:16}" for word in found).rstrip())
        holds &= found == expected
    return 0 if holds else 1


sys.exit(main())

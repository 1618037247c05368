"""The cost of a call of the sparse attention block, beside its plain reference and its weights.

Start it with `opwright run -- python benchmarks/sparse_attention_block.py`.

The block has 74 million parameters, 151 MB in bfloat16, which each call reads once: with sequences
of one token little else is left to do, and reading these bytes (`read weights`, a sum over them) is
the least that a call can take. Longer sequences add attention, up to 2048 tokens of each, and the
indexer, which looks at all.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import partial

import torch
from timing import interleaved

from opwright.reference.sparse_attention_block import sparse_attention_block
from opwright.twin.toolkit import installed_toolkit

BATCH, HIDDEN, RANK, HEADS, INDEX_HEADS, PAGE = 4, 7168, 1536, 128, 64, 128
WEIGHTS = {
    "w_dq": (HIDDEN, RANK),
    "w_uq_qr": (RANK, HEADS * 192),
    "w_uk": (HEADS, 128, 512),
    "w_dkv_kr": (HIDDEN, 576),
    "w_idx_qb": (RANK, INDEX_HEADS * 128),
    "w_idx_k": (HIDDEN, 128),
    "w_idx_proj": (HIDDEN, INDEX_HEADS),
}
VECTORS = {"gamma_cq": RANK, "gamma_ckv": 512, "in_gamma_k": 128, "in_beta_k": 128}
CACHES = {"kv_cache": 512, "kr_cache": 64, "index_k_cache": 128}


@dataclass(frozen=True)
class Case:
    """Sequences of so many tokens, of which so many are new."""

    length: int
    count: int
    has_reference: bool


CASES = (
    Case(1, 1, has_reference=True),
    Case(2, 2, has_reference=True),
    Case(2_048, 1, has_reference=True),
    Case(2_048, 2, has_reference=True),
    Case(32_768, 2, has_reference=False),
)


def random(*shape: int) -> torch.Tensor:
    """Return values between -0.1 and 0.1; any bytes are weights in FRACTAL_NZ as well."""
    return torch.rand(shape).sub_(0.5).mul_(0.2).bfloat16()


def inputs(case: Case, weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the operator's arguments."""
    pages = -(-case.length // PAGE)
    table = torch.randperm(BATCH * pages, dtype=torch.int32).view(BATCH, pages)
    new = torch.arange(case.length - case.count, case.length)
    return {
        **weights,
        **{name: random(columns) for name, columns in VECTORS.items()},
        **{name: random(BATCH * pages, PAGE, 1, columns) for name, columns in CACHES.items()},
        "x": random(BATCH, case.count, HIDDEN),
        "sin": random(BATCH, case.count, 64),
        "cos": random(BATCH, case.count, 64),
        "cache_index": table[:, new // PAGE] * PAGE + (new % PAGE).int(),
        "block_table": table,
        "act_seqs": torch.full((BATCH,), case.length, dtype=torch.int32),
    }


def read(weights: dict[str, torch.Tensor]) -> None:
    """Look at each byte of the weights."""
    for weight in weights.values():
        weight.view(torch.float32).sum()


def main() -> None:
    """Print a row per case and number of threads."""
    ctypes.CDLL(str(installed_toolkit().libraries / "libopapi.so"))  # registers its operators
    weights = {name: random(*shape) for name, shape in WEIGHTS.items()}
    print(f"{BATCH} sequences; milliseconds per call")
    print("threads  length  new   native  reference   ratio  read weights   ratio")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for case in CASES:
            operands = inputs(case, weights)
            sides = {
                "native": partial(torch.ops.opwright.sparse_attention_block, **operands),
                "read": partial(read, weights),
            }
            times = interleaved(sides, calls=1)
            if case.has_reference:
                sides = {"reference": partial(sparse_attention_block, **operands)}
                times |= interleaved(sides, calls=1, rounds=3)
            native, least = times["native"] / 1e3, times["read"] / 1e3
            row = f"{threads:7} {case.length:7} {case.count:4} {native:8.1f}"
            if case.has_reference:
                reference = times["reference"] / 1e3
                row += f" {reference:10.0f} {reference / native:6.0f}x"
            else:
                row += f"{'':19}"
            print(f"{row} {least:13.1f} {native / least:6.1f}x")


if __name__ == "__main__":
    main()

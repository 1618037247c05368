"""Operators whose kernels (kernels.cpp) are broken in how they use memory, and sound ones.

Compile and check them with

    opwright run --guard --kernels kernels.cpp -- python -m tests.check.guarded.examine
"""

from __future__ import annotations

import opwright as ow

BROKEN = {
    "reads_past": "bounds/out-of-bounds-read",
    "reads_before": "bounds/out-of-bounds-read",
    "reads_far": "bounds/out-of-bounds-read",
    "writes_past": "bounds/out-of-bounds-write",
    "writes_before": "bounds/out-of-bounds-write",
    "whole_blocks": "bounds/out-of-bounds-write",
    "unchecked_rows": "bounds/out-of-bounds-read",
    "ignores_strides": "bounds/out-of-bounds-read",
    "skips_last": "bounds/unwritten-result",
    "adds_to_workspace": "bounds/uninitialised-read",
    "keeps_pointer": "bounds/stale-pointer",
    "leaks_buffer": "leaks/host-memory",
    "one_buffer": "concurrency/different-results",
}
SOUND = (
    "reads_to_the_end",
    "last_block_short",
    "checked_rows",
    "follows_strides",
    "fills_workspace",
    "own_memory",
    "shared_ends",
)

ops = ow.OperatorSet("corpus_memory")
CONTIGUOUS = [ow.sample(x=ow.tensor(5))]


def same(x):
    return x.clone()


def rows_of(table, rows):
    known = (rows >= 0) & (rows < table.shape[0])
    return table[rows.clamp(0, table.shape[0] - 1)] * known[:, None]


for name in (*BROKEN, *SOUND):
    if name.endswith("_rows"):
        ops.operator(
            f"{name}(Tensor table, Tensor rows) -> Tensor",
            shapes={"table": "N, D", "rows": "K", "out": "K, D"},
            dtypes={"table": "float32", "rows": "int64", "out": "table"},
            layouts={"table": "contiguous", "rows": "contiguous"},
            requires=["N > 0"],
            samples=[ow.sample(table=ow.tensor(4, 3), rows=ow.tensor(6, low=0, high=4))],
        )(rows_of)
    elif name == "shared_ends":
        continue
    else:
        ops.operator(
            f"{name}(Tensor x) -> Tensor",
            dtypes="float32",
            layouts={} if name.endswith("_strides") else {"x": "contiguous"},
            samples=CONTIGUOUS,
        )(same)


@ops.operator(
    "shared_ends(Tensor(a!) x, Tensor y) -> ()",
    dtypes="float32",
    shapes={"x": "N", "y": "N"},
    layouts={"x": "contiguous", "y": "contiguous"},
    samples=[ow.sample(x=ow.tensor(5), y=ow.tensor(5))],
)
def shared_ends(x, y):
    x.add_(y)

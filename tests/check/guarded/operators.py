"""Operators whose kernels (kernels.cpp) are broken in how they use memory, and sound ones.

Check them from the project's folder with

    opwright check tests/check/guarded/operators.py --kernels tests/check/guarded/kernels.cpp
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import opwright as ow
from tests.check.guarded.names import BROKEN, SOUND

if TYPE_CHECKING:
    import torch

ops = ow.OperatorSet("corpus_memory")


def same(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


def rows_of(table: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
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
    elif name != "shared_ends":
        ops.operator(
            f"{name}(Tensor x) -> Tensor",
            dtypes="float32",
            layouts={} if name.endswith("_strides") else {"x": "contiguous"},
            samples=[ow.sample(x=ow.tensor(5))],
        )(same)


@ops.operator(
    "shared_ends(Tensor(a!) x, Tensor y) -> ()",
    dtypes="float32",
    shapes={"x": "N", "y": "N"},
    layouts={"x": "contiguous", "y": "contiguous"},
    samples=[ow.sample(x=ow.tensor(5), y=ow.tensor(5))],
)
def shared_ends(x: torch.Tensor, y: torch.Tensor) -> None:
    x.add_(y)

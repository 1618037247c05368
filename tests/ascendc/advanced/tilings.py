"""Tiling structures and layouts of the high-level API, for tests of kernels."""

from __future__ import annotations

import torch

__all__ = ["cube", "to_fractals"]

_CUBE = [
    "usedCoreNum",
    "M",
    "N",
    "Ka",
    "Kb",
    "singleCoreM",
    "singleCoreN",
    "singleCoreK",
    "baseM",
    "baseN",
    "baseK",
    "depthA1",
    "depthB1",
    "stepM",
    "stepN",
    "isBias",
    "transLength",
    "iterateOrder",
]
_CUBE_WORDS = 50


def cube(
    m: int,
    n: int,
    k: int,
    *,
    single: tuple[int, ...],
    base: tuple[int, ...],
    bias: bool = False,
    order: int = 0,
) -> torch.Tensor:
    """Return a TCubeTiling as int32 words; `single` and `base` may leave out K."""
    values = {
        "usedCoreNum": 1,
        "M": m,
        "N": n,
        "Ka": k,
        "Kb": k,
        "singleCoreM": single[0],
        "singleCoreN": single[1],
        "singleCoreK": single[2] if len(single) > 2 else k,
        "baseM": base[0],
        "baseN": base[1],
        "baseK": base[2] if len(base) > 2 else 16,
        "isBias": int(bias),
        "iterateOrder": order,
    }
    words = torch.zeros(_CUBE_WORDS, dtype=torch.int32)
    for name, value in values.items():
        words[_CUBE.index(name)] = value
    return words


def to_fractals(matrix: torch.Tensor) -> torch.Tensor:
    """Return a matrix in NZ: [columns / C0, rows rounded up to 16, C0]."""
    width = 32 // matrix.itemsize
    rows, columns = matrix.shape
    padded = torch.nn.functional.pad(matrix, (0, -columns % width, 0, -rows % 16))
    return padded.reshape(padded.shape[0], -1, width).transpose(0, 1).contiguous()

"""Operators on 1 Mi elements and more: time on npu divided by time on CPU tensors, in the same run.

Start it with `opwright run -- python benchmarks/large_operators.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch_npu  # noqa: F401 - the device
from timing import interleaved
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

DEMAND = 1.10
HALF = 0.5

ROWS, COLUMNS = 1024, 1024


def operators(device: str) -> dict[str, Callable[[], object]]:
    """Return the calls on operands of the device."""
    torch.manual_seed(0)

    def made(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(device)

    x, y = made(torch.rand(ROWS, COLUMNS)), made(torch.rand(ROWS, COLUMNS))
    # Multiplied by one: a product that shrinks would end in denormal numbers, which are slow.
    z, ones = made(torch.rand(ROWS, COLUMNS)), made(torch.ones(ROWS, COLUMNS))
    large, other = made(torch.rand(16 << 20)), made(torch.rand(16 << 20))
    image, filters = made(torch.rand(8, 32, 64, 64)), made(torch.rand(32, 32, 3, 3))
    mask = made(torch.rand(ROWS, COLUMNS) > HALF)
    index = made(torch.randperm(ROWS))
    weight, bias = made(torch.rand(COLUMNS)), made(torch.rand(COLUMNS))
    return {
        "add": lambda: x + y,
        "add, 16 Mi": lambda: large + other,
        "mul in place": lambda: z.mul_(ones),
        "exp": x.exp,
        "gelu": lambda: functional.gelu(x),
        "sum": x.sum,
        "sum over a dim": lambda: x.sum(1),
        "softmax": lambda: x.softmax(-1),
        "layer_norm": lambda: functional.layer_norm(x, (COLUMNS,), weight, bias),
        "matmul": lambda: x @ y,
        "conv2d": lambda: functional.conv2d(image, filters, padding=1),
        "cat": lambda: torch.cat((x, y)),
        "index_select": lambda: x.index_select(0, index),
        "sort": lambda: x.sort(-1),
        "cumsum": lambda: x.cumsum(-1),
        "where": lambda: torch.where(mask, x, y),
        "dropout": lambda: functional.dropout(x, HALF),
        "to float16": x.half,
        "transpose copy": lambda: x.t().contiguous(),
    }


def main() -> None:
    """Print the table, and the operators that miss the demand."""
    on_cpu, on_npu = operators("cpu"), operators("npu")
    missed = []
    print(f"{'operator':16} {'CPU us':>10} {'npu us':>10} {'npu/CPU':>8}")
    for name, call in on_cpu.items():
        calls = 3 if name in ("matmul", "sort", "conv2d", "add, 16 Mi") else 10
        times = interleaved({"cpu": call, "npu": on_npu[name]}, calls=calls)
        ratio = times["npu"] / times["cpu"]
        print(f"{name:16} {times['cpu']:>10.0f} {times['npu']:>10.0f} {ratio:>8.2f}", flush=True)
        if ratio > DEMAND:
            missed.append(name)
    print(f"\nabove {DEMAND:.2f}: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main()

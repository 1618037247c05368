"""Sparse attention beside gather and scaled_dot_product_attention, and what the machine can do.

Start it with `opwright run -- python benchmarks/sparse_attention.py`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch_npu
from machine import MI, RESIDENT, extra_memory, resident_product
from timing import interleaved

if TYPE_CHECKING:
    from collections.abc import Callable

HEADS, LATENT, ROPE, SELECTED = 128, 512, 64, 2048
SCALE = (LATENT + ROPE) ** -0.5
CONTEXTS = (4 << 10, 64 << 10, 128 << 10)
ROWS = (1, 4)

# Of every line of the table.
FASTER_THAN_GATHER = 3.0
TIMES_ROOF = 2.0
EXTRA_MEMORY = 64 * MI  # at 128 Ki keys


@dataclass(frozen=True)
class Operands:
    """One sequence: a few queries, many keys, of which each query selects some."""

    query: torch.Tensor  # [rows, heads, 576]
    key: torch.Tensor  # [keys, 576]
    indices: torch.Tensor  # [rows, selected]

    @classmethod
    def of(cls, rows: int, keys: int) -> Operands:
        """Return random ones on the CPU."""
        torch.manual_seed(0)
        indices = [torch.randperm(keys)[:SELECTED] for _ in range(rows)]
        return cls(
            torch.randn(rows, HEADS, LATENT + ROPE).bfloat16(),
            torch.randn(keys, LATENT + ROPE).bfloat16(),
            torch.stack(indices),
        )

    def kernel(self) -> Callable[[], object]:
        """Return the operator's call on the device."""

        def parts(tensor: torch.Tensor) -> list[torch.Tensor]:
            split = (tensor[..., :LATENT], tensor[..., LATENT:])
            return [part.contiguous().unsqueeze(0).to("npu") for part in split]

        query, query_rope = parts(self.query)
        key, key_rope = parts(self.key.unsqueeze(1))
        indices = self.indices.int().view(1, len(self.query), 1, SELECTED).to("npu")
        return lambda: torch_npu.npu_sparse_flash_attention(
            query,
            key,
            key,
            indices,
            SCALE,
            query_rope=query_rope,
            key_rope=key_rope,
            sparse_mode=0,
            attention_mode=2,
        )

    def gathered(self, columns: int) -> Callable[[], object]:
        """Return attention to gathered keys; heads are its queries, as all have the same keys.

        Values of all 576 columns let PyTorch take its fused kernel.
        """

        def attend() -> None:
            for query, indices in zip(self.query, self.indices, strict=True):
                keys = self.key.index_select(0, indices).view(1, 1, SELECTED, -1)
                values = keys[..., :columns]
                torch.nn.functional.scaled_dot_product_attention(
                    query.view(1, 1, HEADS, -1), keys, values, scale=SCALE
                )

        return attend

    @property
    def operations(self) -> float:
        """Return how many there are in the products, two for each multiplication."""
        return 2.0 * len(self.query) * HEADS * SELECTED * (2 * LATENT + ROPE)


def measure(rows: int, keys: int) -> dict[str, float]:
    """Return milliseconds of each side."""
    operands = Operands.of(rows, keys)
    sides = {
        "kernel": operands.kernel(),
        "sdpa": operands.gathered(LATENT),
        "sdpa 576": operands.gathered(LATENT + ROPE),
        "roof": resident_product(),
    }
    times = interleaved(sides, calls=1, rounds=41, choose=min)
    times["roof"] *= operands.operations / (2 * RESIDENT**3)
    return {name: time / 1e3 for name, time in times.items()}


def main() -> None:
    """Print the table, and the demands that are missed."""
    # With torch_npu's own queue the number of threads is what it was at the first operator.
    os.environ["TASK_QUEUE_ENABLE"] = "0"
    memory = extra_memory(Operands.of(ROWS[-1], CONTEXTS[-1]).kernel())
    print(f"{HEADS} heads, {SELECTED} selected, bfloat16; ms (the shortest of turns)")
    print("sdpa: gather + attention; sdpa 576: values of 576 columns, for PyTorch's fused kernel")
    columns = ("kernel", "sdpa", "sdpa 576", "roof")
    ratios = ("sdpa/kernel", "kernel/roof", "GFLOP/s")
    heading = "".join(f"{name:>12}" for name in columns + ratios)
    print(f"{'threads':>7} {'rows':>5} {'keys':>7}{heading}")
    failures = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for rows in ROWS:
            for keys in CONTEXTS:
                times = measure(rows, keys)
                kernel = times["kernel"]
                gain = min(times["sdpa"], times["sdpa 576"]) / kernel
                rate = Operands.of(rows, keys).operations / kernel / 1e6
                shown = [times[name] for name in columns] + [gain, kernel / times["roof"], rate]
                print(
                    f"{threads:>7} {rows:>5} {keys:>7}" + "".join(f"{x:12.2f}" for x in shown),
                    flush=True,
                )
                line = f"({threads} threads, {rows} rows, {keys} keys)"
                if gain < FASTER_THAN_GATHER:
                    failures.append(f"{FASTER_THAN_GATHER} x gather + sdpa {line}")
                if kernel > TIMES_ROOF * times["roof"]:
                    failures.append(f"{TIMES_ROOF} x the roof {line}")
    print(f"\nextra memory at {CONTEXTS[-1]} keys: {memory / MI:.1f} MiB")
    if memory > EXTRA_MEMORY:
        failures.append("memory")
    print(f"missed: {', '.join(failures) or 'none'}")


if __name__ == "__main__":
    main()

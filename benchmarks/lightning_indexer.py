"""The lightning indexer beside plain PyTorch, its own matmul alone, and what the machine can do.

Start it with `opwright run -- python benchmarks/lightning_indexer.py`.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch_npu
from machine import MI, RESIDENT, extra_memory, resident_product
from timing import run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

HEADS, SIZE, ROWS, COUNT = 64, 128, 4, 2048
CONTEXTS = (4 << 10, 64 << 10, 128 << 10)

REST = 0.005  # seconds, in which the threads of the side before cease to wait for work

# Of 64 Ki keys.
FASTER_THAN_REFERENCE = 4.0
TIMES_MATMUL = 1.25
TIMES_ROOF = 2.0
EXTRA_MEMORY = 64 * MI  # at 128 Ki keys


@dataclass(frozen=True)
class Operands:
    """One sequence: a few queries, many keys."""

    query: torch.Tensor
    key: torch.Tensor
    weights: torch.Tensor

    @classmethod
    def of(cls, keys: int, dtype: torch.dtype = torch.bfloat16) -> Operands:
        """Return random ones on the CPU."""
        torch.manual_seed(0)
        return cls(
            torch.randn(1, ROWS, HEADS, SIZE).to(dtype),
            torch.randn(1, keys, 1, SIZE).to(dtype),
            torch.randn(1, ROWS, HEADS).to(dtype),
        )

    def kernel(self) -> Callable[[], object]:
        """Return the operator's call on the device."""
        tensors = [tensor.to("npu") for tensor in (self.query, self.key, self.weights)]
        return lambda: torch_npu.npu_lightning_indexer(*tensors, sparse_count=COUNT)

    def reference(self) -> None:
        """Compute scores of all keys in float32, and topk of those that each query sees."""
        keys = self.key.shape[1]
        products = self.query[0].float() @ self.key[0, :, 0].float().T
        scores = torch.einsum("rh,rhk->rk", self.weights[0].float(), products.relu_())
        hidden = torch.ones(ROWS, keys, dtype=torch.bool).triu_(keys - ROWS + 1)
        scores.masked_fill_(hidden, -torch.inf)
        indices = scores.topk(min(COUNT, keys)).indices
        indices.masked_fill_(hidden.gather(1, indices), -1)

    def matmul(self, dtype: torch.dtype) -> Callable[[], object]:
        """Return the product alone, of one dtype, into memory that is there."""
        query = self.query.view(ROWS * HEADS, SIZE).to(dtype)
        key = self.key.view(-1, SIZE).to(dtype)
        out = torch.empty(len(query), len(key), dtype=dtype)

        def multiply() -> None:
            torch.set_float32_matmul_precision("medium")  # float32 in tiles of bfloat16
            torch.mm(query, key.t(), out=out)
            torch.set_float32_matmul_precision("highest")

        return multiply

    def quantised(self, dtype: torch.dtype) -> Callable[[], object]:
        """Return the call of the quantised operator with keys of another dtype."""
        query, key = (
            (tensor.float() * 20).to(dtype).to("npu") for tensor in (self.query, self.key)
        )
        weights, scale = self.weights.half().to("npu"), torch.ones(self.key.shape[:-1]).half()
        scales = torch.ones_like(weights), scale.to("npu")
        return lambda: torch_npu.npu_quant_lightning_indexer(
            query, key, weights, *scales, 0, 0, sparse_count=COUNT
        )

    @property
    def operations(self) -> float:
        """Return how many there are in the products, two for each multiplication."""
        return 2 * self.query.numel() * self.key.shape[1]


def least(sides: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Return microseconds of each side's best turn: others on the machine only make it slower."""
    times = dict.fromkeys(sides, torch.inf)
    for _ in range(rounds):
        for name, side in sides.items():
            time.sleep(REST)
            times[name] = min(times[name], run(side, calls=1))
    return times


def measure(keys: int) -> dict[str, float]:
    """Return milliseconds of each side."""
    operands = Operands.of(keys)
    sides = {
        "kernel": operands.kernel(),
        "reference": operands.reference,
        "mm bf16": operands.matmul(torch.bfloat16),
        "mm fp32": operands.matmul(torch.float32),
        "roof": resident_product(),
    }
    times = least(sides, rounds=25 if keys > CONTEXTS[0] else 100)
    times["roof"] *= operands.operations / (2 * RESIDENT**3)
    return {name: value / 1e3 for name, value in times.items()}


def print_dtypes() -> None:
    """Print the time of each dtype of keys, on one thread."""
    torch.set_num_threads(1)
    keys = CONTEXTS[1]
    operands = Operands.of(keys)
    sides = {
        "bfloat16": operands.kernel(),
        "float16": Operands.of(keys, torch.float16).kernel(),
        "int8": operands.quantised(torch.int8),
        "float8_e4m3fn": operands.quantised(torch.float8_e4m3fn),
    }
    times = least(sides, rounds=25)
    texts = (f"{name} {value / 1e3:.2f}" for name, value in times.items())
    print(f"{keys} keys, one thread, by dtype: {', '.join(texts)} ms")


def missed(keys: int, times: dict[str, float]) -> list[str]:
    """Return the demands that the times do not meet."""
    if keys != CONTEXTS[1]:
        return []
    demands = {
        f"{FASTER_THAN_REFERENCE} x the reference": times["kernel"] * FASTER_THAN_REFERENCE
        <= times["reference"],
        f"{TIMES_MATMUL} x mm fp32": times["kernel"] <= TIMES_MATMUL * times["mm fp32"],
        f"{TIMES_MATMUL} x mm bf16": times["kernel"] <= TIMES_MATMUL * times["mm bf16"],
        f"{TIMES_ROOF} x the roof": times["kernel"] <= TIMES_ROOF * times["roof"],
    }
    return [text for text, met in demands.items() if not met]


def main() -> None:
    """Print the table, and the demands that are missed."""
    # With torch_npu's own queue the number of threads is what it was at the first operator.
    os.environ["TASK_QUEUE_ENABLE"] = "0"
    memory = extra_memory(Operands.of(CONTEXTS[-1]).kernel())
    print(f"{ROWS} queries, {HEADS} heads, bfloat16, {COUNT} selected; ms (the best of many turns)")
    print("mm bf16: bfloat16 result, too coarse to select by; mm fp32: precision 'medium'")
    columns = ("kernel", "reference", "mm bf16", "mm fp32", "roof")
    ratios = ("ref/kernel", "kernel/bf16", "kernel/fp32", "kernel/roof")
    print(f"{'threads':>7} {'keys':>7}" + "".join(f"{name:>12}" for name in columns + ratios))
    failures = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for keys in CONTEXTS:
            times = measure(keys)
            kernel = times["kernel"]
            shown = [f"{times[name]:12.2f}" for name in columns]
            shown += [
                f"{value:12.2f}"
                for value in (
                    times["reference"] / kernel,
                    *(kernel / times[name] for name in columns[2:]),
                )
            ]
            print(f"{threads:>7} {keys:>7}" + "".join(shown), flush=True)
            failures += [f"{text} ({threads} threads)" for text in missed(keys, times)]
    print()
    print_dtypes()
    print(f"extra memory at {CONTEXTS[-1]} keys: {memory / MI:.1f} MiB")
    if memory > EXTRA_MEMORY:
        failures.append("memory")
    print(f"missed: {', '.join(failures) or 'none'}")


if __name__ == "__main__":
    main()

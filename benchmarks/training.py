"""A step of training on npu divided by one on the CPU, in the same run.

Start it with `opwright run -- python benchmarks/training.py [NAME ...]`.

The models and their loops are those of examples/training: on npu with torch_npu's fused operators,
on the CPU in plain PyTorch, with the same options. The sides take turns, and the fastest of their
rounds counts. The second ratio is that of processor time, all threads together, which other load on
the machine changes less.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

EXAMPLE = Path(__file__).parents[1] / "examples" / "training"
ROUNDS = int(os.environ.get("ROUNDS", "10"))
CALLS = 2  # steps of a round
LIMIT = 1.5


class Case(NamedTuple):
    """A script of the example with its options, and other sizes than it has."""

    script: str
    options: Sequence[str] = ("--optimizer", "fused")
    sizes: Mapping[str, int] = {}


LARGER = {"WIDTH": 512, "HEADS": 8, "LENGTH": 128}
CASES = {
    "llama": Case("llama"),
    "llama, torch_npu's optimizer": Case("llama", ()),
    "llama, foreach": Case("llama", ("--optimizer", "foreach")),
    "llama, recomputed": Case("llama", ("--optimizer", "fused", "--recompute")),
    "llama, bfloat16": Case("llama", ("--optimizer", "fused", "--amp", "bfloat16")),
    "llama, 512 wide": Case("llama", sizes=LARGER),
    "mixture": Case("mixture"),
    "mixture, 512 wide": Case("mixture", sizes=LARGER | {"INNER": 512}),
    "diffusion": Case("diffusion"),
    "diffusion, 64 channels": Case("diffusion", sizes={"CHANNELS": 64, "SIDE": 32}),
    "resnet": Case("resnet"),
    "resnet, torch_npu's optimizer": Case("resnet", ()),
    "resnet, 96 pixels": Case("resnet", sizes={"SIDE": 96}),
}


@contextmanager
def sized(case: Case) -> Iterator[ModuleType]:
    """Give the script's module, which has the sizes of the case meanwhile."""
    module = importlib.import_module(case.script)
    before = {name: getattr(module, name) for name in case.sizes}
    vars(module).update(case.sizes)
    try:
        yield module
    finally:
        vars(module).update(before)


def step(module: ModuleType, device: str, options: Sequence[str]) -> Callable[[], None]:
    """Return a function that trains on one batch."""
    chosen = module.options().parse_args(["--device", device, "--steps", "2", *options])
    trainer, batches, *_ = module.prepare(chosen)
    return partial(trainer.step, [part.to(device) for part in next(iter(batches))])


class Times(NamedTuple):
    """Of one step, in milliseconds."""

    wall: float
    processor: float


def once(side: Callable[[], None]) -> Times:
    """Measure two steps, the wait for the device included."""
    begin, processor = time.perf_counter(), time.process_time()
    for _ in range(CALLS):
        side()
    torch_npu.npu.synchronize()
    return Times(
        (time.perf_counter() - begin) / CALLS * 1e3, (time.process_time() - processor) / CALLS * 1e3
    )


def measure(case: Case) -> tuple[Times, Times]:
    """Return the fastest steps on npu and on the CPU."""
    with sized(case) as module:
        sides = [step(module, device, case.options) for device in ("npu", "cpu")]
        for side in sides:
            once(side)
        rounds = [[once(side) for side in sides] for _ in range(ROUNDS)]
    npu, cpu = (
        Times(min(times.wall for times in taken), min(times.processor for times in taken))
        for taken in zip(*rounds, strict=True)
    )
    return npu, cpu


def main(names: Sequence[str]) -> None:
    """Print the table."""
    sys.path.insert(0, str(EXAMPLE))
    width = max(map(len, CASES))
    print(f"{'milliseconds per step':{width}}{'npu':>10}{'CPU':>10}{'ratio':>8}{'processor':>11}")
    above = []
    for name in names or CASES:
        npu, cpu = measure(CASES[name])
        ratio, processor = npu.wall / cpu.wall, npu.processor / cpu.processor
        above += [name] * (ratio > LIMIT)
        print(f"{name:{width}}{npu.wall:10.2f}{cpu.wall:10.2f}{ratio:8.2f}{processor:11.2f}")
    threads = torch.get_num_threads()
    print(f"\n{threads} threads; above {LIMIT}: {', '.join(above) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The cost of the graph engine, beside torch.compile on the CPU.

Start it with `opwright run -- python benchmarks/graph_engine.py [MODEL…]`.

Each row is a model. Without the Inductor option, `step` compares a step in max-autotune mode on the
twin with a step of the same model with backend="aot_eager" on the CPU; with the option, with one of
backend="inductor" on the CPU. `compile` is the first call of a new process without caches, divided
by that of backend="inductor" on the CPU. Every ratio is at most the number in the last line.

A step on the twin is all that happens between two calls: Dynamo's guards, TorchAir, the engine, and
the stream's thread. The second table has its parts, without the Inductor option: `call` is the time
until the call returns, which is Dynamo, TorchAir and torch_npu; `engine` is the lowered graph on
the stream's thread, which overlaps with the next call.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import TYPE_CHECKING
from unittest.mock import patch

import torch
import torch_npu
import torchair
from networks import NETWORKS
from timing import interleaved

from opwright.graph_engine.running.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[], object]

OPTION = "OPWRIGHT_GRAPH_COMPILER"
SIDES = ("eager", "inductor", "peer")  # the twin with each of its compilers; Inductor on the CPU
COMPILATIONS = 1  # of each model and side; more take minutes
SECONDS_PER_ROUND = 0.1
STEPS_FOR_PARTS = 50
MOST_STEP = {"eager": 1.1, "inductor": 1.15}
MOST_COMPILE = 1.0
COMPILE_COLUMNS = ("compile", "inductor", "CPU", "ratio", "ratio")


def twin_step(name: str, compiler: str) -> Step:
    """Return a step of a model in max-autotune mode."""
    os.environ[OPTION] = compiler
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return compiled_step(name, "npu", backend)


def compiled_step(name: str, device: str, backend: str | Step) -> Step:
    """Return a step of a compiled model that has run once."""
    torch.manual_seed(7)
    model, arguments = NETWORKS[name]()
    model = model.eval().to(device)
    arguments = tuple(argument.to(device) for argument in arguments)
    function = torch.compile(model, backend=backend, dynamic=False, fullgraph=True)

    def step() -> object:
        with torch.no_grad():
            return function(*arguments)

    step()
    torch_npu.npu.synchronize()
    return step


def first_call(name: str, side: str) -> float:
    """Return the seconds of the first call in a new process without caches."""
    with tempfile.TemporaryDirectory() as caches:
        done = subprocess.run(
            [sys.executable, __file__, "--compile", name, side],
            env={
                **os.environ,
                "TORCHINDUCTOR_CACHE_DIR": caches,
                "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
            },
            check=True,
            capture_output=True,
            text=True,
        )
    return float(json.loads(done.stdout.splitlines()[-1]))


def measure_first_call(name: str, side: str) -> None:
    """Print the seconds of the first call in this process."""
    torch.compile(lambda x: x + 1, backend="eager")(
        torch.ones(2)
    )  # both sides have imported Dynamo
    torch.ones(2).to("npu").add_(1).cpu()
    begin = time.perf_counter()
    if side == "peer":
        compiled_step(name, "cpu", "inductor")
    else:
        twin_step(name, side)
    print(json.dumps(time.perf_counter() - begin))


def compile_seconds(name: str) -> dict[str, float]:
    """Return the median of the first call of each side, which take turns."""
    found: dict[str, list[float]] = {side: [] for side in SIDES}
    for _ in range(COMPILATIONS):
        for side, seconds in found.items():
            seconds.append(first_call(name, side))
    return {side: median(seconds) for side, seconds in found.items()}


def step_microseconds(name: str) -> dict[str, float]:
    """Return the median step of each side and of its peer, which take turns."""
    torch.compiler.reset()
    sides = {
        "eager": twin_step(name, "eager"),
        "aot_eager": compiled_step(name, "cpu", "aot_eager"),
        "inductor": twin_step(name, "inductor"),
        "peer": compiled_step(name, "cpu", "inductor"),
    }
    begin = time.perf_counter()
    sides["aot_eager"]()
    calls = max(3, int(SECONDS_PER_ROUND / (time.perf_counter() - begin)))
    return interleaved(sides, calls=calls)


def parts(name: str) -> tuple[float, float]:
    """Return microseconds of a call, and of the engine in a step."""
    run, calls, runs = Runner.run, list[float](), list[float]()

    def timed(runner: Runner, addresses: bytes, threads: int) -> None:
        begin = time.perf_counter()
        run(runner, addresses, threads)
        runs.append(time.perf_counter() - begin)

    step = twin_step(name, "eager")
    with patch.object(Runner, "run", timed):
        for _ in range(STEPS_FOR_PARTS):
            begin = time.perf_counter()
            step()
            calls.append(time.perf_counter() - begin)
            torch_npu.npu.synchronize()
    return median(calls) * 1e6, median(runs) * 1e6


def main() -> None:
    """Print the tables."""
    if sys.argv[1:2] == ["--compile"]:
        measure_first_call(*sys.argv[2:])
        return
    print("a step: microseconds; the first call: seconds\n")
    columns = ("step", "aot_eager", "ratio", "inductor", "CPU", "ratio", *COMPILE_COLUMNS)
    print(f"{'model':<12}" + "".join(f"{column:>11}" for column in columns))
    names = sys.argv[1:] or list(NETWORKS)
    for name in names:
        step, first = step_microseconds(name), compile_seconds(name)
        cells = (
            *(step["eager"], step["aot_eager"], step["eager"] / step["aot_eager"]),
            *(step["inductor"], step["peer"], step["inductor"] / step["peer"]),
            *(first["eager"], first["inductor"], first["peer"]),
            *(first["eager"] / first["peer"], first["inductor"] / first["peer"]),
        )
        print(f"{name:<12}" + "".join(f"{cell:>11.2f}" for cell in cells))
    print(
        f"\ndemands: step {MOST_STEP['eager']} of aot_eager, {MOST_STEP['inductor']} of Inductor; "
        f"compile {MOST_COMPILE} of Inductor\n"
    )
    print(f"{'model':<12}{'call':>11}{'engine':>11}")
    for name in names:
        call, engine = parts(name)
        print(f"{name:<12}{call:>11.2f}{engine:>11.2f}")


if __name__ == "__main__":
    main()

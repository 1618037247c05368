"""Engines of torch_aie beside TorchScript's own inference mode: time, memory, time to compile.

Run it without arguments for the table, or with names of models. The sides take turns in one
process, so that a busy machine slows both; memory is that of a process for each side.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
import time
import warnings
from statistics import median
from typing import TYPE_CHECKING, Any

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # the CPU's libtorch only

import process_memory
import torch
from networks import encoders, recurrent, vision

import torch_aie

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Network = tuple[torch.nn.Module, tuple[torch.Tensor, ...]]
Inputs = tuple[torch.Tensor, ...]

THREADS = (1, 2)
ROUNDS = 21
AT_LEAST = 1.0  # asked of every model: TorchScript's time / the engine's
FASTER = 1.2  # asked of three models
MEMORY = 1.0  # asked of every model, at most: the engine's peak / TorchScript's
MB = 1 << 20


def bert() -> Network:
    """Build four layers of width 512, one sentence of 128 words."""
    torch.manual_seed(0)
    mask = torch.ones(1, 128, dtype=torch.int64)
    mask[:, -20:] = 0
    return encoders.BertEncoder().eval(), (
        torch.randint(0, 8000, (1, 128)),
        mask,
        torch.zeros(1, 128, dtype=torch.int64),
    )


def vit() -> Network:
    """Build ViT-Tiny, one picture."""
    torch.manual_seed(0)
    return encoders.VisionTransformer().eval(), (torch.rand(1, 3, 224, 224),)


def lstm() -> Network:
    """Build a bidirectional tagger, eight sentences of 40 words."""
    torch.manual_seed(0)
    return recurrent.LstmTagger().eval(), (torch.randint(0, 2000, (8, 40)),)


MODELS: Mapping[str, Callable[[], Network]] = {
    "resnet18": vision.resnet18,
    "resnet50": vision.resnet50,
    "unet": vision.unet,
    "yolo": vision.yolo,
    "bert": bert,
    "vit": vit,
    "lstm": lstm,
}


def traced(module: torch.nn.Module, inputs: Inputs) -> torch.jit.ScriptModule:
    """Return the traced module."""
    module = module.requires_grad_(requires_grad=False)
    result = torch.jit.trace(module, inputs)  # type: ignore[no-untyped-call]  # torch's
    assert isinstance(result, torch.jit.ScriptModule)
    return result


def torchscript(module: torch.jit.ScriptModule, _inputs: Inputs) -> torch.jit.ScriptModule:
    """Return what PyTorch recommends for inference."""
    return torch.jit.optimize_for_inference(torch.jit.freeze(module))


def engine(module: torch.jit.ScriptModule, inputs: Inputs) -> torch.jit.ScriptModule:
    """Return the module as one engine, FP32."""
    compiled: torch.jit.ScriptModule = torch_aie.compile(
        module,
        inputs=list(inputs),
        precision_policy=torch_aie.PrecisionPolicy.FP32,
        require_full_compilation=True,
        truncate_long_and_double=False,
    )
    return compiled


SIDES: Mapping[str, Callable[[torch.jit.ScriptModule, Inputs], torch.jit.ScriptModule]] = {
    "torchscript": torchscript,
    "engine": engine,
}


def seconds(call: Callable[[], object]) -> float:
    """Return how long one call takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def times(sides: Mapping[str, torch.jit.ScriptModule], inputs: Inputs) -> dict[str, float]:
    """Return the median of each side's calls in milliseconds; the sides take turns."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for name in list(sides) * 3:  # compiled in the first calls, then warm
        sides[name](*inputs)
    for _ in range(ROUNDS):
        for name, side in sides.items():
            taken[name].append(seconds(lambda side=side: side(*inputs)))  # type: ignore[misc]
    return {name: median(values) * 1e3 for name, values in taken.items()}


def same(sides: Mapping[str, torch.jit.ScriptModule], inputs: Inputs) -> None:
    """Raise where the sides differ by more than 1e-4."""
    first, second = (side(*inputs) for side in sides.values())
    torch.testing.assert_close(first, second, atol=1e-4, rtol=1e-4)


def measure(name: str) -> dict[str, Any]:
    """Return a row of the table."""
    module, inputs = MODELS[name]()
    row: dict[str, Any] = {"model": name}
    with torch.no_grad():
        sides = {}
        for side, make in SIDES.items():
            script = traced(module, inputs)
            begin = time.perf_counter()
            sides[side] = make(script, inputs)
            row[f"compile_{side}"] = time.perf_counter() - begin
        # Lowering, converters and the builder, without what a compiled module needs to run.
        options: Any = {"precision_policy": torch_aie.PrecisionPolicy.FP32}
        script = traced(module, inputs)
        row["convert"] = seconds(
            lambda: torch_aie.export_engine(script, inputs=list(inputs), **options)
        )
        same(sides, inputs)
        for threads in THREADS:
            torch.set_num_threads(threads)
            row[f"times_{threads}"] = times(sides, inputs)
    for side in SIDES:
        row[f"peak_{side}"] = peak_of_process(name, side)
    return row


def peak_of_process(name: str, side: str) -> float:
    """Return a new process's peak of memory in MB while it runs the model."""
    command = [sys.executable, __file__, "--peak", name, side]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(finished.stdout.splitlines()[-1]))


def warmed(side: str) -> None:
    """Compile and run something small: a side's imports and libraries do not count."""
    convolution = torch.nn.Conv2d(3, 8, 3)
    layers = torch.nn.Sequential(convolution, torch.nn.ReLU(), torch.nn.Linear(6, 6))
    inputs = (torch.rand(1, 3, 8, 8),)
    ready = SIDES[side](traced(layers.eval(), inputs), inputs)
    for _ in range(3):
        ready(*inputs)


def released() -> None:
    """Give memory that nothing uses back to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def peak(name: str, side: str) -> float:
    """Return MB of weights and values: the peak of some calls above what the side takes itself."""
    torch.set_num_threads(1)
    with torch.no_grad():
        warmed(side)
        released()
        before = process_memory.resident()
        module, inputs = MODELS[name]()
        ready = SIDES[side](traced(module, inputs), inputs)
        del module
        for _ in range(3):
            ready(*inputs)  # the first calls compile
        released()
        process_memory.begin_peak()
        for _ in range(3):
            ready(*inputs)
    return (process_memory.peak() - before) / MB


def show(row: Mapping[str, Any]) -> dict[str, float]:
    """Print a row; return TorchScript's time / the engine's by threads, and the ratio of peaks."""
    ratios = {}
    cells = [f"{row['model']:9}"]
    for threads in THREADS:
        both = row[f"times_{threads}"]
        ratios[f"x{threads}"] = both["torchscript"] / both["engine"]
        cells.append(
            f"{both['torchscript']:8.2f} {both['engine']:8.2f} {ratios[f'x{threads}']:5.2f}"
        )
    ratios["memory"] = row["peak_engine"] / row["peak_torchscript"]
    cells.append(
        f"{row['peak_torchscript']:7.0f} {row['peak_engine']:7.0f} {ratios['memory']:5.2f}"
    )
    cells.append(
        f"{row['compile_torchscript']:6.2f} {row['compile_engine']:6.2f} {row['convert']:6.2f}"
    )
    print(" | ".join(cells), flush=True)
    return ratios


def main() -> None:
    """Print the table, and what of the asked is missed."""
    warnings.filterwarnings("ignore", message=".*torch.jit")
    if sys.argv[1:2] == ["--peak"]:
        print(peak(sys.argv[2], sys.argv[3]))
        return
    print(
        "ms per call, TorchScript / engine / ratio; peak MB; seconds to compile, to convert alone"
    )
    titles = "".join(f" | {threads} thread{'s' * (threads > 1):18}" for threads in THREADS)
    print(f"{'model':9}{titles}| peak memory           | compile       convert")
    rows = {name: show(measure(name)) for name in sys.argv[1:] or MODELS}
    missed = [
        f"{name}, {threads} threads: {row[f'x{threads}']:.2f} x, asked at least {AT_LEAST}"
        for name, row in rows.items()
        for threads in THREADS
        if row[f"x{threads}"] < AT_LEAST
    ]
    missed += [
        f"{name}: peak memory {row['memory']:.2f} x, asked at most {MEMORY}"
        for name, row in rows.items()
        if row["memory"] > MEMORY
    ]
    fast = [name for name, row in rows.items() if min(row["x1"], row["x2"]) >= FASTER]
    print(
        f"at least {FASTER} x on one and two threads (asked of three): {', '.join(fast) or 'none'}"
    )
    print("missed:", "; ".join(missed) or "nothing")


if __name__ == "__main__":
    main()

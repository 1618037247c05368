"""Runs every model in some modes and prints a line of JSON for each: what was wrong, what captured.

    python run.py MODE[,MODE...] [PACKAGE]    the operators are an installed package's, or live ones

npugraph_ex and TorchAir patch the same operators: in one process, TorchAir has to be the first that
compiles (torch_npu 2.13.0).
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch_npu

sys.path.insert(0, str(Path(__file__).parent))
if len(sys.argv) > 2:
    importlib.import_module(sys.argv[2])
else:
    importlib.import_module("operators").ops.load()
from models import MODELS, Model  # type: ignore[import-not-found]  # beside this file

if TYPE_CHECKING:
    from collections.abc import Callable

TORCHAIR = ("reduce-overhead", "max-autotune")
SIZES = {False: (5, 5, 5), True: (5, 5, 5, 8, 8, 5)}
captured: list[list[str]] = []


def watch() -> None:
    """Note the launches of each capture."""
    end = torch_npu.npu.NPUGraph.capture_end

    def capture_end(graph: Any) -> None:  # noqa: ANN401 - torch_npu has no types
        end(graph)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the dump is for debugging
            file = Path(folder, "graph.json")
            graph.debug_dump(str(file))
            events = json.loads(file.read_text(encoding="utf-8"))
        tasks = [named(event) for event in events if event["ph"] == "X"]
        if tasks:
            captured.append(tasks)

    torch_npu.npu.NPUGraph.capture_end = capture_end


def named(event: dict[str, Any]) -> str:
    """Return the name of a launch; a copy of memory onto itself is called so."""
    name = str(event["name"]).removeprefix("aclnn")
    memory = {block["Address"] for block in event["args"].get("Memory", ())}
    return "CopyOntoItself" if name == "InplaceCopy" and len(memory) == 1 else name


def compiled(model: Callable[..., Any], mode: str, *, dynamic: bool) -> Callable[..., Any]:
    """Return the model, compiled for a mode."""
    backend: Any = mode
    if mode in TORCHAIR:
        import torchair  # noqa: PLC0415 - in this mode only

        config = torchair.CompilerConfig()
        config.mode = mode
        backend = torchair.get_npu_backend(compiler_config=config)
    return torch.compile(model, backend=backend, dynamic=dynamic, fullgraph=True)


def inputs(model: Model, size: int) -> list[torch.Tensor]:
    """Return inputs with new values."""
    return [
        torch.rand([size if each is None else each for each in shape]) for shape in model.shapes
    ]


def run(model: Model, mode: str, *, dynamic: bool) -> list[str]:
    """Call a model with new values, at old addresses and at new ones; return what was wrong."""
    call = compiled(model.function, mode, dynamic=dynamic)
    wrong: list[str] = []
    kept: dict[int, list[torch.Tensor]] = {}
    for number, size in enumerate(SIZES[dynamic]):
        on_cpu = inputs(model, size)
        known = kept.get(size)
        if known is None or number % 3 == 2:  # each third call has other addresses
            kept[size] = on_npu = [each.to("npu") for each in on_cpu]
        else:
            on_npu = known
            for target, source in zip(on_npu, on_cpu, strict=True):
                target.copy_(source)
        addresses = [each.data_ptr() for each in on_npu]
        want = model.function(*on_cpu)
        got = call(*on_npu)
        if want is not None and not torch.equal(want, got.cpu()):
            wrong.append(f"call {number}: the result")
        for place, (left, right) in enumerate(zip(on_cpu, on_npu, strict=True)):
            if not torch.equal(left, right.cpu()):
                wrong.append(f"call {number}: input {place}")
        if addresses != [each.data_ptr() for each in on_npu]:
            wrong.append(f"call {number}: an address")
    return wrong


def run_in(mode: str, model: Model, *, dynamic: bool) -> list[str]:
    """Run a model in a mode; return what was wrong."""
    if mode != "by hand":
        return run(model, mode, dynamic=dynamic)
    capture_eager(model)
    return []


def capture_eager(model: Model) -> None:
    """Capture the eager calls of a model."""
    on_npu = [each.to("npu") for each in inputs(model, 5)]
    model.function(*on_npu)
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        model.function(*on_npu)


def main(modes: list[str]) -> None:
    """Run all models in all modes."""
    torch.manual_seed(0)
    watch()
    for mode in modes:
        run_mode(mode)


def run_mode(mode: str) -> None:
    """Run all models in a mode."""
    if mode == "max-autotune" and len(sys.argv) == 2:
        for name, dynamic, wrong in importlib.import_module("kinds").all_wrong():
            print_line({"mode": mode, "model": name, "dynamic": dynamic, "wrong": wrong})
    for name, model in MODELS.items():
        for dynamic in (False,) if mode == "by hand" else (False, True):
            torch.compiler.reset()
            captured.clear()
            with torch.no_grad():
                wrong = run_in(mode, model, dynamic=dynamic)
            line = {"mode": mode, "model": name, "dynamic": dynamic, "wrong": wrong}
            print_line({**line, "captured": captured})


def print_line(line: dict[str, Any]) -> None:
    """Print a line for the test."""
    sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.flush()


main(sys.argv[1].split(","))

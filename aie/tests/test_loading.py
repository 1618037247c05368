"""Engines that are loaded: damaged bytes, inputs that no memory holds, processes that fork."""

from __future__ import annotations

import io
import os
import resource
import signal
import struct
import threading
import time
import zipfile
from typing import Any

import pytest
import torch
from torch import nn

import torch_aie
from aie.tests.processes import run
from torch_aie import Input

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


class Altered(nn.Module):
    """A small model, of whose engine each byte is changed."""

    def __init__(self) -> None:
        super().__init__()
        self.second = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.second(x) + 1)


def traced(module: nn.Module, x: torch.Tensor) -> Any:  # noqa: ANN401 - torch's
    return torch.jit.trace(module.eval(), x)  # type: ignore[no-untyped-call]  # torch's


def load_altered() -> None:
    """Load and run a model with each byte changed: nothing but an error comes of it."""
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    torch.set_num_threads(1)
    x = torch.rand(3, 2)
    module = traced(Altered(), x)
    saved = io.BytesIO()
    compiled = torch_aie.compile(module, inputs=[Input((3, 2))])
    torch.jit.save(compiled, saved)
    saved.seek(0)
    with zipfile.ZipFile(saved) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    (engine,) = [name for name, text in parts.items() if text.startswith(b"ASCENDIE")]
    header, model = parts[engine][:16], parts[engine][32:]

    def load(model: bytes) -> Any:  # noqa: ANN401 - torch's
        checksum = 0xCBF29CE484222325
        for byte in model:
            checksum = ((checksum ^ byte) * 0x100000001B3) % 2**64
        new = io.BytesIO()
        with zipfile.ZipFile(new, "w") as file:
            for name, text in parts.items():
                whole = header + struct.pack("<QQ", checksum, len(model)) + model
                file.writestr(name, whole if name == engine else text)
        new.seek(0)
        return torch.jit.load(new)  # type: ignore[no-untyped-call]  # torch's

    assert torch.equal(load(model)(x), module(x))
    refused = 0
    for place in range(len(model)):
        for bit in (place % 3, 7):
            altered = bytearray(model)
            altered[place] ^= 1 << bit
            try:
                load(bytes(altered))(x)
            except (RuntimeError, ValueError, IndexError, TypeError):
                refused += 1
    assert refused / len(model) > 1


def test_altered_models_are_refused_or_run() -> None:
    """Each byte is changed, and the checksum fits."""
    done = run(load_altered)
    assert done.returncode == 0, done.stderr[-2000:]


def fork_while_a_thread_runs() -> None:
    """Run an engine in children that are forked while a thread of their parent runs it."""
    torch.set_num_threads(1)
    x = torch.rand(1, 512, 4, 4)
    layers = nn.Sequential(*[nn.Conv2d(512, 512, 3, padding=1) for _ in range(8)])
    module = traced(layers.requires_grad_(requires_grad=False), x)
    compiled: Any = torch_aie.compile(module, inputs=[Input(x.shape)])

    def run_engine() -> torch.Tensor:
        """Not through TorchScript: its executor has a lock for which children may wait forever."""
        held = compiled.engine_0_needs_import_torch_aie
        result: torch.Tensor = torch.ops.torch_aie.execute_engine([x], held)[0]
        return result

    wanted = run_engine()
    enough = threading.Event()

    def work() -> None:
        torch.set_num_threads(2)  # weights are packed again in the first run
        while not enough.is_set():
            run_engine()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    children = []
    for _ in range(24):
        time.sleep(0.003)
        child = os.fork()
        if child == 0:
            signal.alarm(300)  # a hang; 24 of these share a machine with others
            same = torch.allclose(run_engine(), wanted, atol=1e-5)
            os._exit(0 if same else 3)
        children.append(child)
    worked = thread.is_alive()
    enough.set()
    thread.join()
    assert worked
    assert {os.waitpid(child, 0)[1] for child in children} == {0}


def test_forks_run_an_engine_that_threads_run() -> None:
    done = run(fork_while_a_thread_runs)
    assert done.returncode == 0, done.stderr[-2000:]


def test_input_that_no_memory_holds() -> None:
    module = torch.jit.script(nn.ReLU().eval())
    shape = (2**40, 3)
    compiled = torch_aie.compile(module, inputs=[Input(shape)], require_full_compilation=True)
    with pytest.raises(RuntimeError, match=r"got shape \[2\], allowed is \[1099511627776, 3\]"):
        compiled(torch.ones(2))


class Division(nn.Module):
    """A model that does not take zeros."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.div(7, x, rounding_mode="floor")


def compile_what_plans_later() -> None:
    """Compile two models whose memory is not planned when they are built."""
    module = traced(Division(), torch.ones(2, dtype=torch.int64))
    torch_aie.compile(
        module,
        inputs=[Input((2,), dtype=torch.int64)],
        truncate_long_and_double=True,
        require_full_compilation=True,
    )
    module = torch.jit.script(nn.ReLU().eval())
    torch_aie.compile(module, inputs=[Input((2**40,))], require_full_compilation=True)


def test_why_memory_is_planned_later_is_logged() -> None:
    done = run(compile_what_plans_later, TORCH_AIE_LOG_LEVEL="info", MINDIE_LOG_TO_FILE="0")
    assert done.returncode == 0, done.stderr[-2000:]
    reported = [line for line in done.stderr.splitlines() if "plans its memory when" in line]
    assert len(reported) == 2
    assert "it does not take zeros: ZeroDivisionError" in reported[0]
    assert "may need more than half of the memory" in reported[1]

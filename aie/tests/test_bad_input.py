"""A mistake is reported with its place, and the process goes on."""

from __future__ import annotations

import ctypes
import gc
import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

import torch_aie
from torch_aie import Input

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

WIDTH = 512


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + y


class Wrong(Model):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.matmul(self.linear(x), y)


INPUTS = [Input((2, WIDTH)), Input((2, WIDTH))]


@pytest.fixture(scope="module")
def compiled() -> torch.jit.ScriptModule:
    result: torch.jit.ScriptModule
    result = torch_aie.compile(torch.jit.script(Model().eval()), inputs=INPUTS)
    return result


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (INPUTS[:1], r"^got 1 inputs, but the graph has 2: %x\.1, %y\.1$"),
        ([*INPUTS, Input((2,))], r"^got 3 inputs, but the graph has 2: %x\.1, %y\.1$"),
        ([Input((2, 3)), INPUTS[1]], r"aten::linear.*with the shapes \[2, 3\]"),
        ([Input((2, WIDTH)), Input((5, WIDTH))], r"aten::add"),
        ([Input((2, WIDTH, 1, 1, 1)), INPUTS[1]], r"aten::linear"),
    ],
)
def test_compile_refuses_inputs(inputs: list[Input], message: str) -> None:
    module = torch.jit.script(Model().eval())
    with pytest.raises(ValueError, match=message):
        torch_aie.compile(module, inputs=inputs)


def test_inputs_that_are_no_tensors() -> None:
    class Number(nn.Module):
        def forward(self, x: torch.Tensor, times: int) -> torch.Tensor:
            return x * times

    module = torch.jit.script(Number().eval())
    with pytest.raises(TypeError, match=r"input 1 \(%times.*\) is int, allowed is Tensor"):
        torch_aie.compile(module, inputs=[Input((2,)), Input(())])


def test_module_in_training_mode() -> None:
    with pytest.raises(ValueError, match=r"training mode: call eval\(\)"):
        torch_aie.compile(torch.jit.script(Model()), inputs=INPUTS)


def test_method_that_is_not_there() -> None:
    module = torch.jit.script(Model().eval())
    with pytest.raises(ValueError, match="no method 'backward', it has: forward"):
        torch_aie.export_engine(module, "backward", inputs=INPUTS)


def test_engine_of_nothing() -> None:
    module = torch.jit.script(nn.Identity().eval())
    with pytest.raises(ValueError, match="there is no engine to export"):
        torch_aie.export_engine(module, inputs=[Input((2,))])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((torch.zeros(3, WIDTH), torch.zeros(2, WIDTH)), r"got shape \[3, 512\], allowed is"),
        ((torch.zeros(WIDTH), torch.zeros(2, WIDTH)), r"got shape \[512\], allowed is"),
        ((torch.zeros(2, WIDTH).half(), torch.zeros(2, WIDTH)), "got dtype Half, allowed is Float"),
        ((torch.zeros(2, WIDTH),), "missing value for argument 'y'"),
        ((torch.zeros(2, WIDTH),) * 3, "expected at most 3 argument.* but received 4"),
    ],
)
def test_run_refuses(
    compiled: torch.jit.ScriptModule, given: tuple[torch.Tensor, ...], message: str
) -> None:
    with pytest.raises(RuntimeError, match=message):
        compiled(*given)
    x = torch.ones(2, WIDTH)
    assert compiled(x, x).shape == (2, WIDTH)  # it goes on


def test_inputs_that_do_not_fit_each_other() -> None:
    """Each of them is in its range."""
    row = Input(min_shape=(1, WIDTH), max_shape=(4, WIDTH))
    compiled = torch_aie.compile(torch.jit.script(Model().eval()), inputs=[row, row])
    shapes = r"an engine with the inputs '.*x.*' of shape \[2, 512\], '.*y.*' of shape \[3, 512\]"
    with pytest.raises(RuntimeError, match=shapes):
        compiled(torch.zeros(2, WIDTH), torch.zeros(3, WIDTH))
    assert compiled(torch.zeros(2, WIDTH), torch.zeros(2, WIDTH)).shape == (2, WIDTH)


def test_functions_are_no_modules() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x + x

    module = "call it in the forward of a torch.nn.Module, and script that"
    with pytest.raises(TypeError, match=rf"module: got ScriptFunction, .*: {module}"):
        torch_aie.compile(torch.jit.script(double), inputs=[Input((2,))])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method_name": 5}, "method_name: got 5, allowed are names of methods"),
        ({"path": 5}, "path: got 5, allowed are str, pathlib.Path and None"),
    ],
)
def test_export_refuses(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        torch_aie.export_engine(torch.jit.script(Model().eval()), inputs=INPUTS, **given)


def changed(module: torch.jit.ScriptModule, change: Callable[[str, bytes], bytes]) -> io.BytesIO:
    """Return the saved module with other contents of its files."""
    saved = io.BytesIO()
    torch.jit.save(module, saved)
    result = io.BytesIO()
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(result, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    result.seek(0)
    return result


def other_version(_name: str, text: bytes) -> bytes:
    return text.replace(b"torch_aie engine 1", b"torch_aie engine 0")


def other_weights(_name: str, text: bytes) -> bytes:
    return text[:-9] + bytes([text[-9] ^ 1]) + text[-8:] if text.startswith(b"ASCENDIE") else text


def other_format(_name: str, text: bytes) -> bytes:
    return text[:8] + b"\xff" + text[9:] if text.startswith(b"ASCENDIE") else text


def other_magic(_name: str, text: bytes) -> bytes:
    return text.replace(b"ASCENDIE", b"DESCEND!")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_version, "compiled by another torch_aie: .*'torch_aie engine 0', allowed is"),
        (other_weights, "it is damaged"),
        (other_format, "it has version"),
        (other_magic, "the bytes are no model"),
    ],
)
def test_load_refuses(
    compiled: torch.jit.ScriptModule, change: Callable[[str, bytes], bytes], message: str
) -> None:
    file = changed(compiled, change)
    with pytest.raises(ValueError, match=message):
        torch.jit.load(file)  # type: ignore[no-untyped-call]
    same = torch.jit.load(changed(compiled, lambda _, text: text))  # type: ignore[no-untyped-call]
    x = torch.randn(2, WIDTH)
    torch.testing.assert_close(same(x, x), compiled(x, x))


def resident() -> int:
    """Return the bytes in memory without what malloc keeps for later."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def repeated(times: int) -> None:
    module = torch.jit.script(Wrong().eval())
    for _ in range(times):
        with pytest.raises(ValueError, match="aten::matmul"):
            torch_aie.compile(module, inputs=INPUTS)


def test_what_fails_does_not_leak() -> None:
    """The weights have 1 MiB: 30 of them would be 30 MiB."""
    repeated(5)
    before = resident()
    repeated(30)
    assert resident() - before < 8 << 20


def test_engines_are_freed_with_their_module() -> None:
    module = torch.jit.script(Model().eval())

    def compile_some(times: int) -> None:
        for _ in range(times):
            assert torch_aie.compile(module, inputs=INPUTS).forward is not None

    compile_some(5)
    before = resident()
    compile_some(30)
    assert resident() - before < 8 << 20


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"min_block_size": -1}, ValueError, "min_block_size: got -1, allowed are 0 to 1024"),
        (
            {"default_buffer_size_vec": [1, 2]},
            ValueError,
            "got 2 sizes, allowed are 1, or one for each of the 1",
        ),
        ({"default_buffer_size_vec": [36865]}, ValueError, "got 36865, allowed are 1 to 36864"),
        ({"torch_executed_ops": ["relu"]}, ValueError, "torch_executed_ops: got 'relu'"),
    ],
)
def test_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    module = torch.jit.script(Model().eval())
    with pytest.raises(error, match=message):
        torch_aie.compile(module, inputs=INPUTS, **options)

"""Decisions once in a process: the device npu with and without torch_npu, log files, loading."""

from __future__ import annotations

import io
import re
import stat
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
import torch

import torch_aie
from aie.tests.processes import Done, run
from torch_aie import Input

if TYPE_CHECKING:
    from pathlib import Path

# PyTorch calls TorchScript deprecated in each of its functions; this package is about it.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

X = torch.tensor([-1.0, 2.0])
WITH_NPU: Any = torch  # with the names that torch_aie gives it


def relu() -> tuple[torch.jit.ScriptModule, Any]:
    """Return a module, and what it is compiled to."""
    module = torch.jit.trace(torch.nn.ReLU().eval(), torch.ones(2))  # type: ignore[no-untyped-call]
    return module, torch_aie.compile(module, inputs=[Input((2,))])


def use_own_device() -> None:
    """Use torch_aie's own device as programs do, and compile with names that nothing has."""
    module, compiled = relu()
    assert not torch_aie._C.owns_npu(), "made by the import"  # noqa: SLF001 - no public form
    torch_aie.set_device(3)
    x: Any = X
    y = compiled(x.to("npu"))
    assert torch_aie._C.owns_npu()  # noqa: SLF001 - no public form
    assert (str(y.device), y.tolist(), str(x.npu(1).device)) == ("npu:3", [0.0, 2.0], "npu:1")
    assert (y.is_npu, WITH_NPU.npu.device_count()) == (True, 8)
    compute_on_own_device()
    event = torch.Event("npu")
    event.record()
    assert event.query()
    assert WITH_NPU.npu.current_device() == 3
    file = io.BytesIO()
    torch.save(y, file)
    shown = {None: "tensor([0., 2.], device='npu:3')", "cpu": "tensor([0., 2.])"}
    for place, text in shown.items():
        file.seek(0)
        assert str(torch.load(file, map_location=place)) == text
    assert WITH_NPU.npu.current_stream() == WITH_NPU.npu.default_stream()
    refuse_others()
    assert str(compiled(torch.ones(2, device="npu:0")).device) == "npu:0"
    torch_aie.compile(
        module,
        inputs=[Input((2,))],
        torch_executed_ops=["aten::absent", "aten::relu"],
        torch_executed_modules=["Absent"],
    )


def compute_on_own_device() -> None:
    a = torch.zeros(2, 3, device="npu:0")
    a[1].add_(2).mul_(3)
    torch.add(a, 1, out=a)
    assert a.view(3, 2).t().tolist() == [[1.0, 1.0, 7.0], [1.0, 7.0, 7.0]]
    assert (a.sum().item(), (a > 1).any().item()) == (24.0, True)
    assert torch.cat([a.cpu(), torch.ones(1, 3)]).shape == (3, 3)
    assert a.resize_(4, 3).shape == (4, 3)
    assert (a.clone().untyped_storage().nbytes(), a.numpy(force=True).shape) == (48, (4, 3))


def refuse_others() -> None:
    """Refuse devices that there are not, and torch_npu."""
    none = "device npu:8: there is none, allowed are npu:0 to npu:7"
    for device, text in {"npu:8": none, "npu:-1": "Invalid device string: 'npu:-1'"}.items():
        with pytest.raises((RuntimeError, ValueError)) as wrong:
            torch.ones(1, device=device)
        assert str(wrong.value).splitlines()[0] == text
    with pytest.raises(ImportError) as refused:
        import_module("torch_npu")
    assert str(refused.value) == (
        "torch_npu cannot be imported: the device npu of this process is torch_aie's, which made "
        "it when it was first used, and PyTorch has one of them. Import torch_npu at the top of "
        "the program"
    )


def import_torch_npu_later() -> None:
    """Import torch_npu after torch_aie, which gives its names to it."""
    _, compiled = relu()
    assert find_spec("torch_npu")  # looking for it changes nothing
    assert WITH_NPU.npu.__name__ == "torch_aie._device_module"
    import_module("opwright.twin")
    torch_npu = import_module("torch_npu")
    assert WITH_NPU.npu is torch_npu.npu
    assert torch_aie.npu.is_available()
    x: Any = X
    y = compiled(x.npu())
    stream = torch_npu.npu.Stream()
    with torch_npu.npu.stream(stream):
        assert torch_aie.npu.current_stream() == stream
        z = compiled(x.npu().mul(2))
        torch_aie.npu.synchronize()
    torch_aie.set_device(0)
    assert (str(y.device), y.tolist(), z.tolist()) == ("npu:0", [0.0, 2.0], [0.0, 4.0])
    assert not torch_aie._C.owns_npu()  # noqa: SLF001 - no public form


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def without_torch_npu(home: Path) -> Done:
    settings = {"TORCH_AIE_LOG_LEVEL": "INFO", "TORCH_AIE_LOG_PRINT_TO_STDOUT": "False"}
    return run(use_own_device, HOME=str(home), **settings)


@pytest.fixture(scope="module")
def with_torch_npu(home: Path) -> Done:
    settings = {"TORCH_AIE_LOG_LEVEL": "0", "TORCH_AIE_PRINT_TO_STDOUT": "maybe"}
    path = str(home / "x" / ("y" * 300))
    return run(import_torch_npu_later, MINDIE_LOG_PATH=path, **settings)


def test_device_without_torch_npu(without_torch_npu: Done) -> None:
    assert without_torch_npu.returncode == 0, without_torch_npu.stderr


@pytest.mark.twin
def test_torch_npu_after_torch_aie(with_torch_npu: Done) -> None:
    assert with_torch_npu.returncode == 0, with_torch_npu.stderr


def test_log_file(without_torch_npu: Done, home: Path) -> None:
    (path,) = (home / "ascend/log/torch_aie_log").iterdir()
    assert re.fullmatch(r"plog_\d+_\d{14}\.log", path.name)
    modes = [stat.S_IMODE(entry.stat().st_mode) for entry in (path, path.parent)]
    assert modes == [0o600, 0o700]
    line = path.read_text(encoding="utf-8").splitlines()[0]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+ \[torch_aie\] info: ", line)
    assert "[torch_aie]" not in without_torch_npu.stderr


def test_names_that_nothing_in_the_graph_has(without_torch_npu: Done, home: Path) -> None:
    assert not without_torch_npu.returncode, without_torch_npu.stderr
    (path,) = (home / "ascend/log/torch_aie_log").iterdir()
    text = path.read_text(encoding="utf-8")
    message = "torch_executed_ops: nothing in the graph is 'aten::absent', there are: aten::relu"
    assert f"{message}\n" in text
    assert "torch_executed_modules: nothing in the graph is 'Absent', there are: " in text
    assert text.count("nothing in the graph is") == 2


@pytest.mark.twin
@pytest.mark.parametrize(
    "message",
    [
        "[torch_aie] TORCH_AIE_PRINT_TO_STDOUT: got 'maybe', allowed are 0, 1, false, true",
        "[torch_aie] cannot make the log file ",
        "[torch_aie] info: ",
    ],
)
def test_log_settings_that_are_not_allowed(with_torch_npu: Done, message: str) -> None:
    assert message in with_torch_npu.stderr


def test_compilers_of_torch_are_imported_after_torch_aie() -> None:
    """torch._inductor (torch.profiler needs it) imports torch._dynamo in its middle."""
    # Text: the order of imports is what is tested.
    done = run(
        "import torch, torch_aie, torch._inductor\nprint('mindie' in torch._dynamo.list_backends())"
    )
    assert done.stdout == "True\n", done.stderr


def test_module_that_is_loaded_without_torch_aie(tmp_path: Path) -> None:
    module = torch.jit.script(torch.nn.ReLU().eval())
    path = tmp_path / "relu.pt"
    torch_aie.compile(module, inputs=[torch_aie.Input((2,))]).save(str(path))
    # Text: a function of this module would import torch_aie.
    refused = run("import sys, torch\ntorch.jit.load(sys.argv[1])", str(path))
    assert "needs_import_torch_aie" in refused.stderr
    loaded = torch.jit.load(path)  # type: ignore[no-untyped-call]  # torch's
    assert loaded(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]

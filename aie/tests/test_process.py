"""Decisions once in a process: the device npu with and without torch_npu, log files, loading."""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING

import pytest
import torch

import torch_aie
from aie.tests.processes import Done, run

if TYPE_CHECKING:
    from pathlib import Path

# PyTorch calls TorchScript deprecated in each of its functions; this package is about it.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

COMPILED = """
import torch
import torch_aie

module = torch.jit.trace(torch.nn.ReLU().eval(), torch.ones(2))
compiled = torch_aie.compile(module, inputs=[torch_aie.Input((2,))])
x = torch.tensor([-1.0, 2.0])
"""

OWN_DEVICE = """
import io
assert not torch_aie._C.owns_npu(), "made by the import"
torch_aie.set_device(3)
y = compiled(x.to("npu"))
assert torch_aie._C.owns_npu()
print(y.device, y.tolist(), x.npu(1).device, y.is_npu, torch.npu.device_count())
a = torch.zeros(2, 3, device="npu:0")
a[1].add_(2).mul_(3)
torch.add(a, 1, out=a)
print(a.view(3, 2).t().tolist(), a.sum().item(), (a > 1).any().item())
print(torch.cat([a.cpu(), torch.ones(1, 3)]).shape, a.resize_(4, 3).shape)
print(a.clone().untyped_storage().nbytes(), a.numpy(force=True).shape)
event = torch.Event("npu")
event.record()
print(event.query(), torch.npu.current_device())
file = io.BytesIO()
torch.save(y, file)
for place in (None, "cpu"):
    file.seek(0)
    print(torch.load(file, map_location=place))
print(torch.npu.current_stream() == torch.npu.default_stream())
for wrong in ("npu:8", "npu:-1"):
    try:
        torch.ones(1, device=wrong)
    except (RuntimeError, ValueError) as error:
        print(str(error).splitlines()[0])
try:
    import torch_npu
except ImportError as error:
    print(error)
print(compiled(torch.ones(2, device="npu:0")).device)
kept = {"torch_executed_ops": ["aten::absent", "aten::relu"], "torch_executed_modules": ["Absent"]}
torch_aie.compile(module, inputs=[torch_aie.Input((2,))], **kept)
"""

OWN_DEVICE_OUTPUT = """\
npu:3 [0.0, 2.0] npu:1 True 8
[[1.0, 1.0, 7.0], [1.0, 7.0, 7.0]] 24.0 True
torch.Size([3, 3]) torch.Size([4, 3])
48 (4, 3)
True 3
tensor([0., 2.], device='npu:3')
tensor([0., 2.])
True
device npu:8: there is none, allowed are npu:0 to npu:7
Invalid device string: 'npu:-1'
torch_npu cannot be imported: the device npu of this process is torch_aie's, which made it when it \
was first used, and PyTorch has one of them. Import torch_npu at the top of the program
npu:0
"""

TORCH_NPU_LATER = """
import importlib.util
assert importlib.util.find_spec("torch_npu")  # looking for it changes nothing
assert torch.npu.__name__ == "torch_aie._device_module"
import opwright.twin
import torch_npu

assert torch.npu is torch_npu.npu
assert torch_aie.npu.is_available()
y = compiled(x.npu())
stream = torch_npu.npu.Stream()
with torch_npu.npu.stream(stream):
    assert torch_aie.npu.current_stream() == stream
    z = compiled(x.npu().mul(2))
    torch_aie.npu.synchronize()
torch_aie.set_device(0)
print(y.device, y.tolist(), z.tolist(), torch_aie._C.owns_npu())
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def without_torch_npu(home: Path) -> Done:
    settings = {"TORCH_AIE_LOG_LEVEL": "INFO", "TORCH_AIE_LOG_PRINT_TO_STDOUT": "False"}
    return run(COMPILED + OWN_DEVICE, HOME=str(home), **settings)


@pytest.fixture(scope="module")
def with_torch_npu(home: Path) -> Done:
    settings = {"TORCH_AIE_LOG_LEVEL": "0", "TORCH_AIE_PRINT_TO_STDOUT": "maybe"}
    return run(
        COMPILED + TORCH_NPU_LATER, MINDIE_LOG_PATH=str(home / "x" / ("y" * 300)), **settings
    )


def test_device_without_torch_npu(without_torch_npu: Done) -> None:
    assert without_torch_npu.stdout == OWN_DEVICE_OUTPUT, without_torch_npu.stderr


@pytest.mark.twin
def test_torch_npu_after_torch_aie(with_torch_npu: Done) -> None:
    last = with_torch_npu.stdout.splitlines()[-1:]
    assert last == ["npu:0 [0.0, 2.0] [0.0, 4.0] False"], with_torch_npu.stderr


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
    done = run(
        "import torch, torch_aie, torch._inductor\nprint('mindie' in torch._dynamo.list_backends())"
    )
    assert done.stdout == "True\n", done.stderr


def test_module_that_is_loaded_without_torch_aie(tmp_path: Path) -> None:
    module = torch.jit.script(torch.nn.ReLU().eval())
    path = tmp_path / "relu.pt"
    torch_aie.compile(module, inputs=[torch_aie.Input((2,))]).save(str(path))
    refused = run("import sys, torch\ntorch.jit.load(sys.argv[1])", str(path))
    assert "needs_import_torch_aie" in refused.stderr
    loaded = torch.jit.load(path)  # type: ignore[no-untyped-call]  # torch's
    assert loaded(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]

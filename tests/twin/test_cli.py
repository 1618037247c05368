"""The command line and the ways in, as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from opwright.twin.hardware import Hardware
from opwright.twin.launch import NoHardwareError, choose_target
from opwright.twin.toolkit import default_toolkit, find_missing_parts
from tests.twin.on_twin import CLEAN, python

if TYPE_CHECKING:
    from pathlib import Path

TOOLKIT = default_toolkit()

twin = pytest.mark.twin
needs_toolkit = pytest.mark.skipif(
    bool(find_missing_parts(TOOLKIT)), reason="needs the native libraries: make native"
)


def opwright(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "opwright", *arguments, **variables)


ADD = "import torch, torch_npu; print((torch.ones(2).npu() + 1).cpu().tolist())"


@pytest.mark.parametrize(
    ("arguments", "identifier"),
    [
        (["run", "--soc", "Ascend910B5", "--", "true"], "OPW-T001"),
        (["run", "--devices", "0", "--", "true"], "OPW-T002"),
        (["run", "--memory", "lots", "--", "true"], "OPW-T003"),
        (["run", "--real", "--", "true"], "OPW-T020"),
        (["twin", "env", "--soc", "x"], "OPW-T001"),
        (["twin", "coverage", "--list", "missing"], "OPW-T031"),
    ],
)
def test_mistakes_end_with_code_2(arguments: list[str], identifier: str) -> None:
    done = opwright(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(identifier)
    assert "  fix:     " in done.stderr


@twin
@needs_toolkit
@pytest.mark.parametrize(
    "command", [["-m", "opwright", "run", "--", "true"], ["-c", f"import opwright.twin; {ADD}"]]
)
def test_another_torch_is_named_before_it_is_loaded(command: list[str], tmp_path: Path) -> None:
    package = tmp_path / "torch-1.99.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 1.99.0\n")
    done = python(*command, PYTHONPATH=str(tmp_path))
    assert done.returncode != 0
    assert "OPW-T012 opwright is built for another torch" in done.stderr
    assert "got:     torch 1.99.0" in done.stderr
    assert "undefined symbol" not in done.stderr


@pytest.mark.parametrize(
    ("usable", "wish", "target"),
    [
        (False, None, "twin"),
        (False, "twin", "twin"),
        (True, None, "real"),
        (True, "twin", "twin"),
        (True, "real", "real"),
    ],
)
def test_target(usable: bool, wish: str | None, target: str) -> None:  # noqa: FBT001 - a table row
    hardware = Hardware(npus=("/dev/davinci0",), cann="/cann" if usable else None)
    assert choose_target(hardware, wish) == target  # type: ignore[arg-type]  # a table row


def test_real_without_hardware() -> None:
    with pytest.raises(NoHardwareError, match=r"no /dev/davinci\* device"):
        choose_target(Hardware(npus=(), cann=None), "real")


def test_import_of_the_package_is_light() -> None:
    done = python("-c", "import opwright, sys; print('torch' in sys.modules, sys.meta_path)")
    assert done.stdout.startswith("False")
    assert "BeforeTorchNpu" not in done.stdout


def test_import_of_the_twin_loads_nothing_and_can_be_switched_off() -> None:
    code = (
        "import sys, opwright.twin; from opwright.twin.activation import BeforeTorchNpu as B;"
        "print('torch' in sys.modules, sum(isinstance(f, B) for f in sys.meta_path))"
    )
    assert python("-c", code).stdout.strip() == "False 1"
    assert python("-c", code, OPWRIGHT_TWIN="0").stdout.strip() == "False 0"


def test_armed_twin_can_be_removed() -> None:
    code = (
        "import sys, os; before = list(sys.meta_path), dict(os.environ)\n"
        "os.environ['OPWRIGHT_TWIN'] = '0'; import opwright.twin; del os.environ['OPWRIGHT_TWIN']\n"
        "with opwright.twin.arm() as armed: assert armed.finder is sys.meta_path[0]\n"
        "armed.remove(); print((list(sys.meta_path), dict(os.environ)) == before)"
    )
    assert python("-c", code).stdout.strip() == "True"


@needs_toolkit
def test_run_passes_arguments_environment_and_exit_code() -> None:
    script = "import os, sys; print(os.environ['OPWRIGHT_SOC'], sys.argv[1:]); sys.exit(7)"
    done = opwright(
        "run", "--soc", "Ascend910B2", "--", sys.executable, "-c", script, "--soc", "mine"
    )
    assert done.returncode == 7, done.stderr
    assert done.stdout.strip() == "Ascend910B2 ['--soc', 'mine']"


@needs_toolkit
def test_run_tells_of_an_operator_package_that_is_not_there() -> None:
    done = opwright("run", "--", "true", ASCEND_CUSTOM_OPP_PATH="/nowhere")
    assert done.returncode == 0
    assert done.stderr.count("ASCEND_CUSTOM_OPP_PATH: /nowhere does not exist") == 1


@needs_toolkit
def test_run_of_an_unknown_command() -> None:
    done = opwright("run", "--", "no-such-command")
    assert done.returncode == 2
    assert done.stderr.startswith("OPW-T021 command not found")


@needs_toolkit
def test_env_for_a_shell() -> None:
    done = opwright("twin", "env", "--shell", "--devices", "3")
    assert f"export ASCEND_HOME_PATH={TOOLKIT.root}\n" in done.stdout
    assert "export OPWRIGHT_DEVICES=3\n" in done.stdout


@needs_toolkit
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_set_env_is_idempotent(shell: str) -> None:
    if subprocess.run(["which", shell], capture_output=True, check=False).returncode:
        pytest.skip(f"{shell} is not installed")
    script = (
        f"set -u; cd /; source {TOOLKIT.root}/set_env.sh; once=$LD_LIBRARY_PATH;"
        f"source {TOOLKIT.root}/set_env.sh;"
        'echo "$ASCEND_HOME_PATH $ASCEND_OPP_PATH"; [ "$once" = "$LD_LIBRARY_PATH" ] && echo same'
    )
    environment = {**CLEAN, "LC_ALL": "C"}  # bash warns of a locale that is not installed
    done = subprocess.run(
        [shell, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == f"{TOOLKIT.root} {TOOLKIT.operators}\nsame\n"


@twin
@needs_toolkit
def test_run_on_the_twin() -> None:
    done = opwright("run", "--", sys.executable, "-c", ADD)
    assert done.stdout.strip().endswith("[2.0, 2.0]"), done.stderr


@twin
@needs_toolkit
@pytest.mark.parametrize(
    "first", ["import opwright.twin", "import opwright.twin, torch", "import torch, opwright.twin"]
)
def test_import_before_torch_npu(first: str) -> None:
    variables = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"} if first.startswith("import torch") else {}
    done = python("-c", f"{first}\n{ADD}", **variables)
    assert done.stdout.strip().endswith("[2.0, 2.0]"), done.stderr


@twin
@needs_toolkit
def test_torch_loads_torch_npu_by_itself() -> None:
    code = "import opwright.twin, torch; print((torch.ones(2).npu() + 1).cpu().tolist())"
    done = python("-c", code)
    assert done.stdout.strip().endswith("[2.0, 2.0]"), done.stderr


@twin
@needs_toolkit
def test_settings_in_this_process() -> None:
    code = (
        "from opwright import twin\n"
        "twin.activate(twin.TwinSettings(soc='Ascend910B2', devices=3))\n"
        "import torch, torch_npu; print(torch.npu.device_count(), torch.npu.get_device_name(0))"
    )
    done = python("-c", code)
    assert done.stdout.strip().endswith("3 Ascend910B2"), done.stderr


@twin
@needs_toolkit
def test_import_inside_a_process_on_the_twin() -> None:
    done = opwright("run", "--", sys.executable, "-c", f"{ADD}; import opwright.twin")
    assert done.returncode == 0, done.stderr


@twin
@needs_toolkit
def test_pytest_plugin(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import torch, torch_npu\n", encoding="utf-8")
    (tmp_path / "test_sample.py").write_text(
        "import torch\n\ndef test_devices():\n    assert torch.npu.device_count() == 3\n",
        encoding="utf-8",
    )
    # Only the plugin itself: this repository may be installed or not.
    plugin = "-p", "opwright.pytest_plugin"
    installed = python(
        "-c", "import importlib.metadata as m; print(list(m.entry_points(group='pytest11')))"
    )
    load = () if "opwright" in installed.stdout else plugin
    done = python("-m", "pytest", "-q", *load, "--npu-twin", "--npu-devices=3", str(tmp_path))
    assert "1 passed" in done.stdout, done.stdout + done.stderr


# Text: files that pytest collects with the plug-in, as a user has them.
KERNEL = """
import torch
from opwright import twin


@twin.kernel("aclnnTwiceInCli(const aclTensor *x, aclTensor *out)")
def twice(x, out):
    torch.mul(x, 2, out=out)
"""
CALLS_THE_KERNEL = """
import ctypes
import os
from pathlib import Path

import torch_npu


def test_torch_npu_finds_it():
    packages = map(Path, os.environ["ASCEND_CUSTOM_OPP_PATH"].split(os.pathsep))
    libraries = [package / "op_api/lib/libcust_opapi.so" for package in packages]
    found = [ctypes.CDLL(str(library)) for library in libraries if library.exists()]
    assert any(hasattr(library, "aclnnTwiceInCliGetWorkspaceSize") for library in found)
"""


@twin
@needs_toolkit
def test_pytest_takes_kernels(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(KERNEL, encoding="utf-8")
    (tmp_path / "test_sample.py").write_text(CALLS_THE_KERNEL, encoding="utf-8")
    plugin = ("-p", "no:opwright", "-p", "opwright.pytest_plugin", "--npu-twin")
    kernels = f"--npu-kernels={tmp_path / 'reference.py'}"
    done = python("-m", "pytest", "-q", *plugin, kernels, str(tmp_path))
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    done = python("-m", "pytest", "-q", *plugin, "--npu-kernels=absent.py", str(tmp_path))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--npu-kernels: no such file: absent.py" in done.stderr


# Text, as above.
RACES = """
import pytest
import torch
import torch_npu


def on_two_streams(waits):
    x = torch.ones(100, device="npu")
    torch.npu.synchronize()
    x.mul_(2)
    side = torch.npu.Stream()
    if waits:
        side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        x.exp()
    torch.npu.synchronize()


def test_ordered():
    on_two_streams(waits=True)


def test_unordered():
    on_two_streams(waits=False)


def test_unordered_and_wrong():
    x = torch.ones(100, device="npu")
    torch.npu.synchronize()
    x.mul_(3)
    with torch.npu.stream(torch.npu.Stream()):
        x.log()
    assert not x.numel()


@pytest.fixture
def unordered_end():
    yield
    on_two_streams(waits=False)


def test_ordered_with_a_fixture_that_is_not(unordered_end):
    on_two_streams(waits=True)


def test_ordered_again():
    on_two_streams(waits=True)
"""


@twin
@needs_toolkit
def test_pytest_finds_streams_without_order(tmp_path: Path) -> None:
    (tmp_path / "test_race.py").write_text(RACES, encoding="utf-8")
    plugin = ("-p", "no:opwright", "-p", "opwright.pytest_plugin", "--npu-twin")
    done = python("-m", "pytest", "-q", *plugin, str(tmp_path))
    assert "1 failed, 4 passed" in done.stdout, done.stdout + done.stderr
    done = python("-m", "pytest", "-q", *plugin, "--npu-order", str(tmp_path))
    assert "2 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "ERROR at teardown of test_ordered_with_a_fixture_that_is_not" in done.stdout
    message = "nothing orders aclnnInplaceMuls and aclnnExp, which use the same memory"
    assert message in done.stdout
    assert "test_race.py:10 in on_two_streams" in done.stdout


def test_pytest_options_of_the_twin_need_the_twin(tmp_path: Path) -> None:
    plugin = ("-p", "no:opwright", "-p", "opwright.pytest_plugin")
    done = python("-m", "pytest", "-q", *plugin, "--npu-devices=3", str(tmp_path))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--npu-devices can only be used with --npu-twin" in done.stderr


@twin
@needs_toolkit
def test_doctor_and_coverage_as_json() -> None:
    result = json.loads(opwright("doctor", "--json").stdout)
    assert result["facts"]["trial"]["passed"], result
    counts = json.loads(opwright("twin", "coverage", "--json").stdout)["counts"]
    assert counts["implemented"] > 0

"""Gather what doctor judges: versions, files, environment, and a trial in a child process."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright import other_cann
from opwright.pairs import built_for, find_installed
from opwright.twin.enabling import site_packages, state
from opwright.twin.environment import twin_environment
from opwright.twin.hardware import Hardware, find_hardware
from opwright.twin.settings import TwinSettings
from opwright.twin.toolkit import default_toolkit, find_missing_parts
from opwright.twin.user_kernels.library import compiler
from opwright.twin.user_kernels.packages import OperatorPackage, operator_packages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.twin.enabling import State
    from opwright.twin.toolkit import Toolkit

__all__ = ["Facts", "Trial", "gather"]

# Variables that decide which CANN is found, which operators it has, and how torch_npu runs.
VARIABLES = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "TORCH_DEVICE_BACKEND_AUTOLOAD",
    "OPWRIGHT_TWIN",
    "OPWRIGHT_SOC",
    "OPWRIGHT_DEVICES",
    "OPWRIGHT_MEMORY",
    "OPWRIGHT_GRAPH_COMPILER",
    "OPWRIGHT_SYNC",
    "OPWRIGHT_GUARD",
    "OPWRIGHT_ORDER",
    "OPWRIGHT_TRACE",
)

TRIAL = """
import torch, torch_npu
x = torch.ones(4).npu()
print(torch.npu.device_count(), "x", torch.npu.get_device_name(0))
assert (x + x).cpu().tolist() == [2.0] * 4
"""
TRIAL_SECONDS = 120  # importing torch_npu takes a few seconds; a slow disk is no fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Result of importing torch_npu on the twin and adding two tensors, in a child process."""

    passed: bool
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The state of this environment.

    Parameters
    ----------
    torch_cuda
        CUDA version that torch was built for; None for a CPU build.
    built_for
        Minor version of torch that the native libraries are built for; None if nothing says it.
    compiler
        First line of `g++ --version`; None without a compiler.
    variables
        Those of VARIABLES that are set.
    dead_paths
        Variables of one folder that name none.
    shadowing
        Folders in LD_LIBRARY_PATH with another libascendcl.so before the twin's.
    by_itself
        Whether plain `python` runs on the twin (`opwright enable`).
    trial
        None if it could not be made, because something it needs is missing.
    """

    python: str
    torch: str | None
    torch_cuda: str | None
    torch_npu: str | None
    built_for: str | None
    compiler: str | None
    toolkit: Path
    missing: tuple[str, ...]
    hardware: Hardware
    user: int
    variables: Mapping[str, str]
    dead_paths: tuple[str, ...]
    shadowing: tuple[str, ...]
    packages: tuple[OperatorPackage, ...]
    by_itself: State
    trial: Trial | None


def gather(environ: Mapping[str, str]) -> Facts:
    """Look at this machine, this Python environment and the variables."""
    toolkit = default_toolkit()
    missing = find_missing_parts(toolkit)
    torch, torch_npu = find_installed("torch"), find_installed("torch_npu")
    cuda = cuda_build() if torch else None
    homes = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH")
    ready = torch and torch_npu and not missing
    return Facts(
        python=platform.python_version(),
        torch=torch,
        torch_cuda=cuda,
        torch_npu=torch_npu,
        built_for=built_for(),
        compiler=compiler_version(environ),
        toolkit=toolkit.root,
        missing=missing,
        hardware=find_hardware(environ),
        user=os.getuid(),
        variables={name: environ[name] for name in VARIABLES if name in environ},
        dead_paths=tuple(
            name for name in homes if environ.get(name) and not Path(environ[name]).is_dir()
        ),
        shadowing=tuple(
            other_cann.folders_before(environ.get("LD_LIBRARY_PATH", ""), toolkit.root)
        ),
        packages=tuple(operator_packages(environ)),
        by_itself=state(site_packages()),
        trial=try_twin(environ, toolkit) if ready else None,
    )


def cuda_build() -> str | None:
    """Return the CUDA version that torch was built for; its version file is run, torch is not."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    location = Path(spec.submodule_search_locations[0]) / "version.py"
    version_spec = importlib.util.spec_from_file_location("torch_version_file", location)
    if version_spec is None or version_spec.loader is None:
        return None
    module = importlib.util.module_from_spec(version_spec)
    version_spec.loader.exec_module(module)
    return module.cuda if isinstance(module.cuda, str) else None


def compiler_version(environ: Mapping[str, str]) -> str | None:
    """Return the first line that the C++ compiler says about itself."""
    program, *arguments = compiler(environ)
    found = shutil.which(program, path=environ.get("PATH"))
    if found is None:
        return None
    shown = subprocess.run(
        [found, *arguments, "--version"], capture_output=True, text=True, check=False, timeout=30
    )
    return shown.stdout.partition("\n")[0]


def try_twin(environ: Mapping[str, str], toolkit: Toolkit) -> Trial:
    """Run the trial in a child process, as `opwright run` would."""
    environment = twin_environment(environ, toolkit, TwinSettings())
    command = [sys.executable, "-c", TRIAL]
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=TRIAL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Trial(passed=False, output=f"no answer within {TRIAL_SECONDS} seconds")
    if done.returncode == 0:
        return Trial(passed=True, output=done.stdout.strip().rpartition("\n")[2])
    lines = [*done.stderr.strip().splitlines()[-6:], f"exit code {done.returncode}"]
    return Trial(passed=False, output="\n".join(lines))

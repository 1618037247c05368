#!/usr/bin/env python3
"""Preflight: can this machine build and run opwright? Told before anything is installed.

Uses the standard library only and reads nothing but this machine. Facts are gathered first, then
judged by a pure function, so that every decision can be tested without the machine that causes it.

    preflight.py machine --venv DIR               compiler, Python, disk, memory, the torch in DIR
    preflight.py torch --version V --pip-args A   would pip install a CUDA build of torch?
    preflight.py torch-cmake --venv DIR           print the folder in which CMake finds torch
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PYTHON = (3, 11)  # the version that torch_npu 2.13.0 is tested with here
COMPILER_MAJOR = 11  # g++; the oldest that torch 2.13's headers are tested with here
# torch, torch_npu and tools unpacked (3), downloads (1), native build and the sample's venv (2)
DISK_GIB = 6.0
MEMORY_GIB = 4.0  # one compiler on a unit that includes ATen headers (2) while another runs
GIB = 1 << 30


@dataclass(frozen=True)
class Facts:
    """What the checks look at."""

    system: str
    machine: str
    python: tuple[int, int]
    compiler: str | None
    disk: int
    memory: int
    torch_present: bool
    torch_cuda: str | None


@dataclass(frozen=True)
class Problem:
    """What is wrong and how to mend it."""

    what: str
    cure: str


def problems(facts: Facts) -> list[Problem]:
    """Judge the facts; an empty list means that set-up can start."""
    found = []
    if (facts.system, facts.machine) != ("Linux", "x86_64"):
        found.append(
            Problem(
                f"this is {facts.system} on {facts.machine}; opwright runs on x86-64 Linux",
                "use an x86-64 Linux machine, container or virtual machine",
            )
        )
    if facts.python != PYTHON:
        wanted, got = (".".join(map(str, version)) for version in (PYTHON, facts.python))
        found.append(
            Problem(
                f"Python {got} was found, Python {wanted} is needed",
                f"install Python {wanted} with its venv module, then: make PYTHON=/path/to/python",
            )
        )
    found += compiler_problems(facts.compiler)
    # What is already unpacked in the virtual environment needs no room again.
    needed = DISK_GIB / 3 if facts.torch_present else DISK_GIB
    if facts.disk < needed * GIB:
        found.append(
            Problem(
                f"{facts.disk / GIB:.1f} GiB of disk are free here, {needed:.0f} GiB are needed",
                "free some space, or clone the repository to a larger disk",
            )
        )
    if facts.memory < MEMORY_GIB * GIB:
        found.append(
            Problem(
                f"{facts.memory / GIB:.1f} GiB of memory are free, {MEMORY_GIB:.0f} GiB are needed",
                "close other programs, raise the container's limit, or add swap",
            )
        )
    if facts.torch_cuda is not None:
        found.append(cuda_problem(f"the virtual environment has torch for CUDA {facts.torch_cuda}"))
    return found


def compiler_problems(version: str | None) -> list[Problem]:
    """Judge the output of `g++ -dumpfullversion -dumpversion`, None if there is no g++."""
    cure = (
        f"install g++ {COMPILER_MAJOR} or newer "
        "(Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++)"
    )
    if version is None:
        return [Problem("no C++ compiler: PATH has no g++ (nor what CXX names, if set)", cure)]
    major = re.match(r"\d+", version)
    if major is None or int(major.group()) < COMPILER_MAJOR:
        return [Problem(f"g++ {version or '(unknown version)'} is too old", cure)]
    return []


def cuda_problem(what: str) -> Problem:
    """Tell of a CUDA build of torch, found in the environment or offered by the index."""
    return Problem(
        f"{what}; torch_npu refuses to load beside a CUDA build",
        "remove .venv if it exists, then name a package index with CPU builds of torch, the one "
        "that PyTorch's installation page shows for the compute platform CPU: "
        'make setup PIP_ARGS="--extra-index-url URL"',
    )


def gather(venv: Path) -> Facts:
    """Collect the facts about this machine and the virtual environment."""
    version_file = torch_folder(venv) / "version.py"
    present = version_file.is_file()
    return Facts(
        system=platform.system(),
        machine=platform.machine(),
        python=sys.version_info[:2],
        compiler=compiler_version(),
        disk=shutil.disk_usage(venv.parent).free,
        memory=available_memory(),
        torch_present=present,
        torch_cuda=cuda_version(version_file.read_text(encoding="utf-8")) if present else None,
    )


def torch_folder(venv: Path) -> Path:
    """Where the virtual environment has torch, or would have it."""
    return venv / "lib" / "python{}.{}".format(*PYTHON) / "site-packages" / "torch"


def cuda_version(version_file: str) -> str | None:
    """Read the CUDA version from the text of torch/version.py; None for a CPU build."""
    match = re.search(r"^cuda\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", version_file, re.MULTILINE)
    return match.group(1) if match else None


def compiler_version() -> str | None:
    """Version text of g++, or of $CXX where it is set; None without a compiler."""
    program, *arguments = shlex.split(os.environ.get("CXX") or "g++")
    compiler = shutil.which(program)
    if compiler is None:
        return None
    shown = subprocess.run(
        [compiler, *arguments, "-dumpfullversion", "-dumpversion"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return shown.stdout.strip()


def available_memory() -> int:
    """Return the bytes that can be used: memory and free swap, or less where a cgroup limits us."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.is_file():
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    fields = dict(
        re.findall(r"^(\w+):\s+(\d+) kB$", meminfo.read_text(encoding="ascii"), re.MULTILINE)
    )
    machine = (int(fields["MemAvailable"]) + int(fields["SwapFree"])) * 1024
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text(encoding="ascii").strip() if limit.is_file() else "max"
    return machine if text == "max" else min(machine, int(text))


def offered_cuda(report: str) -> str | None:
    """Name the CUDA packages that torch in a pip report asks for; None for a CPU build."""
    requirements = [
        requirement
        for item in json.loads(report)["install"]
        if item["metadata"]["name"] == "torch"
        for requirement in item["metadata"].get("requires_dist", [])
        if "extra ==" not in requirement
    ]
    names = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    cuda = sorted(
        name.group()
        for name in names
        if name and name.group().startswith(("nvidia", "cuda", "triton"))
    )
    return ", ".join(cuda) or None


def torch_problems(version: str, pip_args: list[str]) -> list[Problem]:
    """Ask pip which build of torch it would install; nothing but metadata is downloaded."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--quiet",
        "install",
        *pip_args,
    ]
    command += [
        "--dry-run",
        "--no-deps",
        "--ignore-installed",
        "--report",
        "-",
        f"torch=={version}",
    ]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        what = f"pip finds no torch {version}:\n{asked.stderr.strip()}"
        return [Problem(what, "check the network and the package index (pip config list)")]
    cuda = offered_cuda(asked.stdout)
    return (
        [cuda_problem(f"the package index offers torch {version} for CUDA (it needs {cuda})")]
        if cuda
        else []
    )


def main() -> int:
    """Run one check; the exit code is 1 if there is a problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("check", choices=("machine", "torch", "torch-cmake"))
    parser.add_argument("--venv", type=Path, default=Path(".venv"))
    parser.add_argument("--version", default="2.13.0")
    parser.add_argument("--pip-args", default="", help="as one word, in the form of a shell")
    options = parser.parse_args()
    if options.check == "torch-cmake":
        print(torch_folder(options.venv.absolute()) / "share" / "cmake")
        return 0
    if options.check == "torch":
        found = torch_problems(options.version, shlex.split(options.pip_args))
    else:
        found = problems(gather(options.venv.absolute()))
    for problem in found:
        print(f"  problem: {problem.what}\n  cure:    {problem.cure}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

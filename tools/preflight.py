"""Preflight: can this machine build and run opwright? Reported before anything is installed.

Uses the standard library, opwright.pairs and tools.aarch64, and reads nothing but this machine.
Facts are gathered first, then judged by a pure function, so that every decision can be tested
without the machine that causes it.

    python -m tools.preflight machine --venv DIR --torch V   the pair, compiler, disk, memory
    python -m tools.preflight torch --torch V --pip-args A   which torch would pip install?
    python -m tools.preflight torch-npu --torch V            print the torch_npu that belongs to it
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

from opwright.pairs import Pair, find_installed, read_pairs
from tools.aarch64 import find_missing_packages

COMPILER_MAJOR = 11  # of g++: the oldest that torch's headers were tried with
# torch, torch_npu and tools unpacked (3), downloads (1), native build and the sample's venv (2)
DISK_GIB = 6.0
CUDA_GIB = 8.0  # taken beyond that by a CUDA build of torch and its packages, with downloads
MEMORY_GIB = 4.0  # one compiler on a unit that includes ATen headers (2) while another runs
GIB = 1 << 30
MACHINES = ("x86_64", "aarch64")  # those that torch_npu has wheels for


@dataclass(frozen=True)
class Facts:
    """The request and the machine, as far as the checks judge them."""

    folder: str
    system: str
    machine: str
    torch: str
    torch_npu: str  # asked for; the table's if the user names none
    python: tuple[int, int]
    compiler: str | None
    disk: int
    memory: int
    torch_present: bool
    missing: tuple[str, ...] = ()  # packages with which this machine stands in for another


@dataclass(frozen=True)
class Problem:
    """A reason why set-up would fail, and how to mend it."""

    what: str
    cure: str


def problems(facts: Facts, pairs: tuple[Pair, ...]) -> list[Problem]:
    """Judge the facts; an empty list means that set-up can start."""
    found = []
    if facts.system != "Linux" or facts.machine not in MACHINES:
        found.append(
            Problem(
                f"this is {facts.system} on {facts.machine}; opwright runs on Linux, on x86-64 and "
                "AArch64",
                "use a Linux machine, container or virtual machine with one of these processors",
            )
        )
    if facts.missing:
        found.append(
            Problem(
                "to build and run for AArch64 on this machine, packages of Debian are missing: "
                + ", ".join(facts.missing),
                f"apt-get install {' '.join(facts.missing)}",
            )
        )
    if " " in facts.folder:
        found.append(
            Problem(
                f"the folder {facts.folder} has a space in its name, which make cannot read",
                "clone the repository to a folder without one",
            )
        )
    found += pair_problems(facts, pairs)
    found += compiler_problems(facts.compiler)
    # A torch that is unpacked in the virtual environment needs no room again.
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
    return found


def pair_problems(facts: Facts, pairs: tuple[Pair, ...]) -> list[Problem]:
    """Judge whether torch, torch_npu and Python belong together."""
    python = ".".join(map(str, facts.python))
    offered = "".join(f"\n             {request_for(pair)}" for pair in pairs)
    cure = f"make setup TORCH=... PYTHON=/path/to/python, for one of{offered}"
    chosen = next((pair for pair in pairs if pair.torch == facts.torch), None)
    if chosen is None:
        return [Problem(f"torch {facts.torch} is none of the releases that opwright runs", cure)]
    found = []
    if release(facts.torch_npu) != release(chosen.torch_npu):
        what = f"torch_npu {facts.torch_npu} does not belong to torch {facts.torch}"
        found.append(Problem(what, f"leave out TORCH_NPU: {chosen.torch_npu} is installed then"))
    if python not in chosen.pythons:
        what = f"torch_npu has no wheel of {facts.torch} for Python {python}, which was found"
        found.append(Problem(what, cure))
    return found


def request_for(pair: Pair) -> str:
    """Return the variable of make and the versions of Python that ask for a pair."""
    return f"TORCH={pair.torch} with Python {', '.join(pair.pythons)}"


def release(version: str) -> str:
    """Return a version without what follows its three numbers, such as `.post7`."""
    return ".".join(version.split(".")[:3])


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


def gather(venv: Path, pair: tuple[str, str], arch: str) -> Facts:
    """Collect the facts about this machine and the virtual environment."""
    return Facts(
        folder=str(Path.cwd()),
        system=platform.system(),
        machine=platform.machine(),
        torch=pair[0],
        torch_npu=pair[1],
        python=sys.version_info[:2],
        compiler=compiler_version(),
        disk=shutil.disk_usage(venv.parent).free,
        memory=available_memory(),
        torch_present=any(venv.glob("lib/python*/site-packages/torch/version.py")),
        missing=tuple(find_missing_packages()) if arch else (),
    )


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


def find_required_cuda(report: str) -> str | None:
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


def torch_problems(version: str, pip_args: list[str], disk: int) -> list[Problem]:
    """Ask pip which build of torch it would install; nothing but metadata is downloaded.

    Return nothing if this Python already has that release.
    """
    if (find_installed("torch") or "").partition("+")[0] == version:
        return []
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
    cuda = find_required_cuda(asked.stdout)
    needed = DISK_GIB + CUDA_GIB
    if cuda is None:
        return []
    print(
        f"      pip has torch {version} for CUDA only (it needs {cuda}): it runs here as well, but "
        "takes 4 GB of downloads; PIP_ARGS may name an index of CPU builds"
    )
    if disk < needed * GIB:
        what = f"{disk / GIB:.1f} GiB of disk are free, a CUDA build of torch needs {needed:.0f}"
        return [Problem(what, 'make setup PIP_ARGS="--extra-index-url <index of CPU builds>"')]
    return []


def npu_release(torch: str, pairs: tuple[Pair, ...]) -> str:
    """Return the torch_npu for a torch; that release itself where the table has none."""
    return next((pair.torch_npu for pair in pairs if pair.torch == torch), torch)


def main() -> int:
    """Run one check; the exit code is 1 if there is a problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("check", choices=("machine", "torch", "torch-npu"))
    parser.add_argument("--venv", type=Path, default=Path(".venv"))
    parser.add_argument("--torch", required=True, help="release, for example 2.10.0")
    parser.add_argument("--torch-npu", default="", help="release; that of the table if left out")
    parser.add_argument("--arch", choices=("", "aarch64"), default="", help="to emulate")
    parser.add_argument("--pip-args", default="", help="as one word, in the form of a shell")
    options = parser.parse_args()
    pairs, venv = read_pairs(), options.venv.absolute()
    torch_npu = options.torch_npu or npu_release(options.torch, pairs)
    if options.check == "torch-npu":
        print(torch_npu)
        return 0
    if options.check == "torch":
        free = shutil.disk_usage(venv.parent).free
        found = torch_problems(options.torch, shlex.split(options.pip_args), free)
    else:
        found = problems(gather(venv, (options.torch, torch_npu), options.arch), pairs)
    for problem in found:
        print(f"  problem: {problem.what}\n  cure:    {problem.cure}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

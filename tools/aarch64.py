"""Set up what a pair for AArch64 needs on an x86-64 machine with Debian, in the pair's tree.

    python -m tools.aarch64 machine build/pairs/torch-2.10.0-python-3.11-aarch64
    python -m tools.aarch64 tools build/pairs/torch-2.10.0-python-3.11-aarch64

`machine` lays CPython and the libraries below it, which are this Debian's packages for arm64, into
build/sysroot. Python there is a script that starts the real one under qemu-user. So programs of the
target start each other like any others, and the kernel needs no support for them (binfmt_misc).
qemu looks for each file in the sysroot first, and then on this machine.

`tools` puts the programs that build into the virtual environment: the cross compiler under the
names of a compiler, and this machine's CMake and Ninja.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ARCHITECTURE = "arm64"  # Debian's name of it
TRIPLET = "aarch64-linux-gnu"
SYSROOT = Path("build", "sysroot")
HOST = Path("build", "host")  # CMake and Ninja for this machine
# Programs of this machine, and Debian's packages that have them.
PROGRAMS = {
    f"{TRIPLET}-g++": f"g++-{TRIPLET}",
    f"{TRIPLET}-gcc": f"gcc-{TRIPLET}",
    "qemu-aarch64": "qemu-user",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
# Names in the virtual environment, and the program behind each.
COMPILERS = {"g++": "g++", "c++": "g++", "gcc": "gcc", "cc": "gcc"}
BUILDERS = ("cmake", "ninja")
# Of a device of the twin, which reserves many times as many addresses. qemu keeps a record for each
# page of them.
MEMORY = "1GB"


def python_packages(version: str) -> list[str]:
    """Return Debian's packages with Python, its headers and pip, and libraries that wheels need."""
    return [f"python{version}-venv", f"python{version}-dev", "libstdc++6", "libgomp1"]


def find_missing_packages(find: Callable[[str], str | None] = shutil.which) -> list[str]:
    """Return the packages of this machine's Debian that are not installed."""
    return [package for program, package in PROGRAMS.items() if find(program) is None]


def apt_settings(folder: Path) -> str:
    """Return the settings with which apt knows no package of this machine, and changes none."""
    empty = folder / "status"
    return "\n".join(
        [
            f'APT::Architecture "{ARCHITECTURE}";',
            f'APT::Architectures {{ "{ARCHITECTURE}"; }};',
            'APT::Install-Recommends "false";',
            'APT::Sandbox::User "";',  # apt's own user may not read this folder
            f'Dir::State "{folder}";',
            f'Dir::State::status "{empty}";',
            f'Dir::Cache "{folder}";',
            "",
        ]
    )


def download(folder: Path, packages: list[str]) -> list[Path]:
    """Download packages and all that they depend on, from the sources of this machine's apt."""
    for name in ("lists/partial", "archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    settings = folder / "apt.conf"
    settings.write_text(apt_settings(folder), encoding="utf-8")
    environment = {**os.environ, "APT_CONFIG": str(settings)}
    for command in (["update"], ["install", "--download-only", "--yes", *packages]):
        subprocess.run(["apt-get", "-qq", *command], env=environment, check=True)
    return sorted((folder / "archives").glob("*.deb"))


def emulating_script(sysroot: Path, program: Path) -> str:
    """Return the script that runs a program of the target, which sees the script's own name.

    Python finds its virtual environment, and the interpreter to start others with, by that name.
    """
    return "\n".join(
        [
            "#!/bin/sh",
            f'export OPWRIGHT_MEMORY="${{OPWRIGHT_MEMORY:-{MEMORY}}}"',
            f'exec qemu-aarch64 -L "{sysroot}" -0 "$0" "{program}" "$@"',
            "",
        ]
    )


def unpack_sysroot(sysroot: Path, archives: list[Path], version: str) -> None:
    """Unpack the packages, and put the script in Python's place."""
    for archive in archives:
        subprocess.run(["dpkg-deb", "--extract", archive, sysroot], check=True)
    python = sysroot / "usr" / "bin" / f"python{version}"
    program = sysroot / "usr" / "libexec" / python.name
    program.parent.mkdir(exist_ok=True)
    python.replace(program)
    # The kernel of this machine could not run any of the others.
    for folder in ("bin", "sbin", "usr/sbin", "usr/bin"):
        shutil.rmtree(sysroot / folder, ignore_errors=True)
    # Debian's header asks for the one of the compiler's processor, in a folder that no -I names.
    headers = sysroot / "usr" / "include"
    shutil.copy(
        headers / TRIPLET / python.name / "pyconfig.h", headers / python.name / "pyconfig.h"
    )
    # setuptools asks for the folder that Python was configured with.
    for data in (sysroot / "usr" / "lib" / python.name).glob("_sysconfigdata_*.py"):
        text = data.read_text(encoding="utf-8")
        data.write_text(text.replace("/usr/include", str(headers)), encoding="utf-8")
    # Last: what is there is complete.
    python.parent.mkdir()
    python.write_text(emulating_script(sysroot, program), encoding="utf-8")
    python.chmod(0o755)


def set_up_machine(tree: Path) -> None:
    """Lay the sysroot, and CMake and Ninja, unless they are there."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    sysroot, host = tree / SYSROOT, tree / HOST
    if not (sysroot / "usr" / "bin" / f"python{version}").is_file():
        print(f"[0/5] Python {version} for AArch64, from this Debian's packages", flush=True)
        shutil.rmtree(sysroot, ignore_errors=True)
        archives = download(tree / "build" / "debian", python_packages(version))
        unpack_sysroot(sysroot, archives, version)
    if not all((host / "bin" / name).exists() for name in BUILDERS):
        print("[0/5] CMake and Ninja for this machine", flush=True)
        subprocess.run([sys.executable, "-m", "venv", host], check=True)
        pip: list[str | Path] = [
            host / "bin" / "python",
            "-m",
            "pip",
            "--disable-pip-version-check",
            "-qq",
        ]
        subprocess.run([*pip, "install", "pip>=25.1"], check=True)
        subprocess.run([*pip, "install", "--group", f"{tree / 'pyproject.toml'}:build"], check=True)


def link_tools(tree: Path) -> None:
    """Link the programs that build into the virtual environment, in the place of pip's."""
    folder = tree / ".venv" / "bin"
    targets = {name: tree / HOST / "bin" / name for name in BUILDERS}
    for name, compiler in COMPILERS.items():
        program = f"{TRIPLET}-{compiler}"
        found = shutil.which(program)
        if found is None:
            message = f"there is no {program}: apt-get install {PROGRAMS[program]}"
            raise LookupError(message)
        targets[name] = Path(found)
    for name, target in targets.items():
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("part", choices=("machine", "tools"))
    parser.add_argument("tree", type=Path)
    options = parser.parse_args()
    {"machine": set_up_machine, "tools": link_tools}[options.part](options.tree.absolute())


if __name__ == "__main__":
    main()

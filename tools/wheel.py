"""Make the wheel of this tree from its native build: dist/opwright-...whl.

    python -m tools.wheel

Its name has the minor version of torch that it is built for, as a local version. Its bytes depend
on the sources, the compiler and the tools alone: files in the order of their names, dated as the
commit (or SOURCE_DATE_EPOCH), libraries without symbols for debuggers, no path of this machine.

auditwheel proves the platform tag: no library may need a version of a system's library that the
platform lacks. torch's libraries are no part of that; they come with torch.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from auditwheel.architecture import Architecture
from auditwheel.libc import Libc
from auditwheel.wheel_abi import analyze_wheel_abi
from scikit_build_core.build import build_wheel

from native.portable.stubs import NEWEST
from opwright.kit.packaging.wheel import archive_time, record
from tools.repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

# Libraries of other packages: torch (with its OpenMP) and torch_npu.
EXCLUDED = frozenset({"libtorch*", "libc10*", "libgomp*"})
# The others are links to torch, which a source tree needs.
COMPONENTS = ("twin", "torch_aie")
# Where the build of a source tree has packages that a wheel has at its top.
IN_TREE = "aie/python/"
FILE, PROGRAM = 0o100644, 0o100755


class WheelError(Exception):
    """The wheel was not made, and why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a wheel."""

    content: bytes
    mode: int = FILE


def platform_tag() -> str:
    """Return the oldest platform that the libraries are linked for."""
    major, minor = NEWEST["GLIBC"]
    return f"manylinux_{major}_{minor}_{platform.machine()}"


def python_entries(folder: Path) -> dict[str, Entry]:
    """Return the files of the package that are not compiled, and its metadata."""
    with redirect_stdout(StringIO()):  # it prints its progress
        name = build_wheel(str(folder), {"wheel.cmake": "false"})
    with zipfile.ZipFile(folder / name) as wheel:
        return {
            info.filename: Entry(wheel.read(info))
            for info in wheel.infolist()
            if not info.filename.endswith(("/", "/RECORD"))
        }


def native_entries(build: Path, folder: Path) -> dict[str, Entry]:
    """Return what the native build installs."""
    cmake = ["cmake", "--install", str(build), "--prefix", str(folder), "--strip"]
    for component in COMPONENTS:
        done = subprocess.run(
            [*cmake, "--component", component], capture_output=True, text=True, check=False
        )
        if done.returncode:
            message = f"cmake --install failed; is build/native built?\n{done.stderr}"
            raise WheelError(message)
    return {
        path.relative_to(folder).as_posix().removeprefix(IN_TREE): Entry(
            path.read_bytes(), PROGRAM if os.access(path, os.X_OK) else FILE
        )
        for path in folder.rglob("*")
        if path.is_file()
    }


def complete_metadata(python: Mapping[str, Entry], tag: str) -> tuple[str, dict[str, Entry]]:
    """Return the name of the wheel without its ending, and the files with its metadata.

    The local part of the version is torch's minor version, which the metadata depends on.
    """
    metadata = next(name for name in python if name.endswith(".dist-info/METADATA"))
    text = python[metadata].content.decode()
    version = re.search(r"^Version: (.+)$", text, re.MULTILINE)
    torch = re.search(r"^Requires-Dist: torch==([0-9.]+)\.\*$", text, re.MULTILINE)
    assert version is not None
    assert torch is not None
    full = f"{version[1]}+torch{torch[1]}"
    before, after = metadata.split("/")[0], f"opwright-{full}.dist-info"
    entries = {name.replace(before, after, 1): entry for name, entry in python.items()}
    text = text.replace(version[0], f"Version: {full}", 1)
    entries[f"{after}/METADATA"] = Entry(text.encode())
    entries[f"{after}/WHEEL"] = Entry(
        f"Wheel-Version: 1.0\nGenerator: opwright\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    return f"opwright-{full}-{tag}", entries


def write(path: Path, entries: Mapping[str, Entry], environ: Mapping[str, str]) -> None:
    """Write the wheel: the metadata last, as the format asks for."""
    date = archive_time(environ)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(entries, key=lambda name: (".dist-info/" in name, name)):
            info = zipfile.ZipInfo(name, date)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = entries[name].mode << 16
            wheel.writestr(info, entries[name].content)


def commit_time() -> str:
    """Return when the sources were committed, in seconds; 0 for a tree without git."""
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else "0"


def machine_paths(entries: Mapping[str, Entry]) -> list[str]:
    """Return the files that name the folder of these sources or of this environment."""
    folders = [os.fsencode(folder) for folder in (ROOT, sys.prefix)]
    return [
        name
        for name, entry in sorted(entries.items())
        if any(folder in entry.content for folder in folders)
    ]


def prove(wheel: Path, wanted: str) -> None:
    """Ask auditwheel whether the wheel runs on every system of the tag `wanted`.

    Raises
    ------
    WheelError
        It does not; the message has the versions that are too new.
    """
    found = analyze_wheel_abi(
        Libc.GLIBC,
        Architecture(platform.machine()),
        wheel,
        EXCLUDED,
        disable_isa_ext_check=False,
        allow_graft=False,
    )
    policies = found.policies
    policy = policies.get_policy_by_name(wanted)
    if found.overall_policy.priority >= policy.priority:
        return
    allowed = policy.symbol_versions
    newer = [
        version
        for version in sorted(set().union(*found.versioned_symbols.values()))
        if version.partition("_")[2] not in allowed.get(version.partition("_")[0], ())
    ]
    libraries = sorted(found.external_refs[wanted].libs)
    message = (
        f"the wheel needs {found.overall_policy.name}, not {wanted}, which lacks "
        f"versions: {', '.join(newer) or 'none'}; libraries: {', '.join(libraries) or 'none'}"
    )
    raise WheelError(message)


def make(output: Path) -> Path:
    """Make the wheel and return its path."""
    with tempfile.TemporaryDirectory(prefix="opwright-wheel-") as temporary:
        folder = Path(temporary)
        python = python_entries(folder)
        native = native_entries(ROOT / "build/native", folder / "native")
        python_tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
        wanted = platform_tag()
        name, entries = complete_metadata(python, f"{python_tag}-{python_tag}-{wanted}")
        entries |= native
        if paths := machine_paths(entries):
            message = f"these files name a folder of this machine: {', '.join(paths)}"
            raise WheelError(message)
        metadata = next(name for name in entries if name.endswith(".dist-info/METADATA"))
        listed = metadata.replace("METADATA", "RECORD")
        contents = {path: entry.content for path, entry in sorted(entries.items())}
        entries[listed] = Entry(record(contents, listed))
        wheel = folder / f"{name}.whl"
        write(wheel, entries, {"SOURCE_DATE_EPOCH": commit_time(), **os.environ})
        prove(wheel, wanted)
        output.mkdir(parents=True, exist_ok=True)
        made = output / wheel.name
        made.write_bytes(wheel.read_bytes())
    return made


def main() -> int:
    """Make the wheel and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    try:
        wheel = make(arguments.output)
    except WheelError as error:
        print(f"make wheel: {error}", file=sys.stderr)
        return 1
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

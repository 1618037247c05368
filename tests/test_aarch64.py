"""The tree of a pair for AArch64 on another machine: packages, settings, and Python's script."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tools import aarch64

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("absent", "packages"),
    [
        ((), []),
        (("qemu-aarch64",), ["qemu-user"]),
        (
            ("aarch64-linux-gnu-g++", "aarch64-linux-gnu-gcc"),
            ["g++-aarch64-linux-gnu", "gcc-aarch64-linux-gnu"],
        ),
    ],
)
def test_missing_packages_are_named(absent: tuple[str, ...], packages: list[str]) -> None:
    assert (
        aarch64.find_missing_packages(lambda name: None if name in absent else f"/usr/bin/{name}")
        == packages
    )


def test_packages_are_those_of_the_version() -> None:
    assert {"python3.13-venv", "python3.13-dev"} < set(aarch64.python_packages("3.13"))


def test_apt_has_its_own_state(tmp_path: Path) -> None:
    settings = aarch64.apt_settings(tmp_path).splitlines()
    assert 'APT::Architecture "arm64";' in settings
    of_folders = [line for line in settings if line.startswith("Dir::")]
    assert len(of_folders) == 3
    assert all(str(tmp_path) in line for line in of_folders)


@pytest.mark.parametrize(("given", "memory"), [({}, "1GB"), ({"OPWRIGHT_MEMORY": "64M"}, "64M")])
def test_a_program_is_emulated_under_the_name_of_its_script(
    given: dict[str, str], memory: str, tmp_path: Path
) -> None:
    emulator = tmp_path / "bin" / "qemu-aarch64"
    emulator.parent.mkdir()
    emulator.write_text('#!/bin/sh\nprintf "%s\\n" "$OPWRIGHT_MEMORY" "$@"\n', encoding="utf-8")
    script = tmp_path / "python"
    script.write_text(
        aarch64.emulating_script(tmp_path / "root", tmp_path / "root" / "py"), encoding="utf-8"
    )
    for program in (emulator, script):
        program.chmod(0o755)
    link = tmp_path / "venv python"
    link.symlink_to(script)
    inherited = {name: text for name, text in os.environ.items() if name != "OPWRIGHT_MEMORY"}
    done = subprocess.run(
        [link, "-c", "two words"],
        env={**inherited, **given, "PATH": f"{emulator.parent}:{os.environ['PATH']}"},
        check=True,
        capture_output=True,
        text=True,
    )
    root = tmp_path / "root"
    expected = [memory, "-L", str(root), "-0", str(link), str(root / "py"), "-c", "two words"]
    assert done.stdout.splitlines() == expected


def test_the_environment_gets_the_compiler_and_the_build_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "ninja").write_text("of the other processor", encoding="utf-8")
    aarch64.link_tools(tmp_path)
    links = {link.name: str(link.readlink()) for link in folder.iterdir()}
    assert links == {
        "g++": "/usr/bin/aarch64-linux-gnu-g++",
        "c++": "/usr/bin/aarch64-linux-gnu-g++",
        "gcc": "/usr/bin/aarch64-linux-gnu-gcc",
        "cc": "/usr/bin/aarch64-linux-gnu-gcc",
        "cmake": str(tmp_path / "build" / "host" / "bin" / "cmake"),
        "ninja": str(tmp_path / "build" / "host" / "bin" / "ninja"),
    }

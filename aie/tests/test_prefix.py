"""The prefix of C++ projects: its links, its environment, and its compiler's launcher."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from torch_aie import prefix

if TYPE_CHECKING:
    from pathlib import Path

LAUNCHER = prefix.PREFIX / "bin" / "torch_aie_cxx"


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]


def test_links_are_made_once_and_taken_back(tmp_path: Path) -> None:
    made = prefix.link(tmp_path)
    assert sorted(made) == sorted(files_below(tmp_path))
    assert (tmp_path / "usr/local/Ascend/aie/latest/include/torch_aie.h").is_file()
    assert (tmp_path / "usr/local/Ascend/torch_aie/latest/lib/libascendie.so").is_file()
    assert (tmp_path / "usr/local/libtorch2.0.0/lib/libtorch.so").is_file()
    assert prefix.link(tmp_path) == []
    assert sorted(prefix.unlink(tmp_path)) == sorted(made)
    assert files_below(tmp_path) == []
    assert prefix.unlink(tmp_path) == []


def test_a_place_that_is_taken_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    taken = tmp_path / "usr/local/Ascend/torch_aie/latest"
    taken.mkdir(parents=True)
    with pytest.raises(prefix.LinkError, match=rf"{taken} is there and is no link to"):
        prefix.link(tmp_path)
    assert files_below(tmp_path) == []
    assert prefix.unlink(tmp_path) == []
    assert taken.is_dir()


def test_extension_gets_the_names_of_python_3_9(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"run: python setup\.py build"):
        prefix.link_extension(tmp_path)
    built = tmp_path / "build" / "lib.linux-x86_64-cpython-311" / "mine.cpython-311-x.so"
    built.parent.mkdir(parents=True)
    built.write_bytes(b"library")
    for _ in range(2):
        (place,) = prefix.link_extension(tmp_path)
        assert str(place.relative_to(tmp_path)) == (
            "build/lib.linux-x86_64-3.9/mine.cpython-39-x86_64-linux-gnu.so"
        )
        assert place.read_bytes() == b"library"


@pytest.mark.parametrize("before", ["", "/mine"])
def test_set_env_through_a_link_and_twice(tmp_path: Path, before: str) -> None:
    prefix.link(tmp_path)
    file = tmp_path / "usr/local/Ascend/aie/set_env.sh"
    script = f'source "{file}"; source "{file}"; echo "$ASCENDIE_HOME|$MINDIE_TORCH_HOME"; '
    done = subprocess.run(
        ["bash", "-euc", script + 'echo "$LD_LIBRARY_PATH"; set | grep -c "^_aie" || true'],
        env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": before},
        capture_output=True,
        text=True,
        check=True,
    )
    libraries = [before] * bool(before) + [str(prefix.PREFIX / "lib"), str(prefix.TORCH / "lib")]
    assert done.stdout.splitlines() == [
        f"{prefix.PREFIX}|{prefix.PREFIX}",
        os.pathsep.join(libraries),
        "0",
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("-std=c++14 -c 'a b.cpp'", "-std=c++20 -c a b.cpp"),
        ("-D_GLIBCXX_USE_CXX11_ABI=0 -std=gnu++17", "-std=gnu++20"),
        ("-D_GLIBCXX_USE_CXX11_ABI=1 -std=c++23", "-D_GLIBCXX_USE_CXX11_ABI=1 -std=c++23"),
    ],
)
def test_launcher(given: str, expected: str) -> None:
    command = ["sh", "-c", f"{LAUNCHER} echo {given}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == expected + "\n"


def test_launcher_without_a_command_says_how() -> None:
    done = subprocess.run([LAUNCHER], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "give it the compiler's command" in done.stderr

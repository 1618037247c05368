"""Files that are compiled for an instruction set share no function with others.

Of an inline function or a template that several object files have, the linker keeps one. If that
is the one that was compiled for AVX-512, CPUs without it end with an illegal instruction, also in
code that does not ask for it.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "native"
SOURCES = sorted((NATIVE / "sparse_attention").rglob("*_avx*.cpp"))
SETS = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl")
EXTENSIONS = ("avx512bf16", "avx512vnni")
MERGED = "uVvWw"  # how nm marks symbols of which the linker keeps one

pytestmark = [
    pytest.mark.build,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the sets of x86-64; run it there"),
]


def merged(source: Path, folder: Path) -> list[str]:
    """Return the functions and data of an object file that the linker merges with others'."""
    target = folder / "object.o"
    flags = [f"-m{name}" for name in (*SETS, *EXTENSIONS)]
    # Without optimisation each inline function that is called is in the object file.
    compiler = ["g++", "-std=c++20", "-O0", "-c", f"-I{NATIVE}", *flags]
    subprocess.run([*compiler, str(source), "-o", str(target)], check=True)
    symbols = subprocess.run(["nm", str(target)], check=True, capture_output=True, text=True)
    kinds = [line.split()[-2:] for line in symbols.stdout.splitlines()]  # after the value, if any
    return [name for kind, name in kinds if kind in MERGED]


def test_there_are_such_files() -> None:
    assert {file.parent.name for file in SOURCES} == {"attention", "block", "indexer"}


@pytest.mark.parametrize("source", SOURCES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_nothing_is_merged_with_other_files(source: Path, tmp_path: Path) -> None:
    assert merged(source, tmp_path) == []


def test_an_inline_function_is_found(tmp_path: Path) -> None:
    source = tmp_path / "shared_avx2.cpp"
    source.write_text("inline int shared() { return 1; }\nint call() { return shared(); }\n")
    assert merged(source, tmp_path) == ["_Z6sharedv"]

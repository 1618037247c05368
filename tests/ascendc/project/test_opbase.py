"""The headers of opbase, which host code of the public operator repositories includes."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.ascendc import kernels

if TYPE_CHECKING:
    from pathlib import Path


NOBODY_ASKS = "the twin's graphs ask no definition whether it supports a node"


def test_headers_of_opbase(tmp_path: Path) -> None:
    source = kernels.ROOT / "tests" / "ascendc" / "project" / "opbase.cpp"
    native = kernels.ROOT / "native"
    includes = [f"-I{folder}" for folder in (native / "ascendc" / "host", native, native / "abi")]
    link = [f"-L{kernels.LIBRARIES}", "-lascendc_package", f"-Wl,-rpath,{kernels.LIBRARIES}"]
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", *includes, str(source)]
    target = tmp_path / "opbase"
    subprocess.run([*command, "-o", target, *link, "-Wl,--allow-shlib-undefined"], check=True)
    done = subprocess.run([target], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[4, 5, 3]",
        "no",
        "[7, 2]",
        "[-2]",
        "0 0 [-1, -1, -1] 1 [-2] 1",
        "DT_BF16 ND [1]",
        "1 0 1",
        "1 1",
        "0 0 89999 50",
        "27",
        f"ge::Operator::GetInputDesc is not supported: {NOBODY_ASKS}",
    ]
    errors = done.stderr.splitlines()
    assert "x: number of tensors is 51; allowed: [1, 50]" in errors[-3]
    assert "x: dtype is DT_INT8; allowed: DT_FLOAT, DT_FLOAT16" in errors[-2]
    assert "x, y: shape is [2], [3]; they do not broadcast" in errors[-1]

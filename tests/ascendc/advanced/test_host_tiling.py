"""Tiling of the high-level API in host code."""

from __future__ import annotations

import math
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.ascendc import kernels

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = [
    "result",
    "used",
    "m",
    "n",
    "k",
    "base_m",
    "base_n",
    "base_k",
    "depth_a",
    "depth_b",
    "buffers",
    "bias",
]
_BITS = {0: 32, 1: 16, 2: 8}  # DT_FLOAT, DT_FLOAT16, DT_INT8


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("host") / "tiling"
    source = kernels.ROOT / "tests" / "ascendc" / "advanced" / "host.cpp"
    link = [f"-L{kernels.LIBRARIES}", "-lascendc_package", f"-Wl,-rpath,{kernels.LIBRARIES}"]
    warnings = ["-Wall", "-Wextra", "-Werror"]
    native = kernels.ROOT / "native"
    includes = [f"-I{native / 'ascendc' / 'host'}", f"-I{native}", f"-I{native / 'abi'}"]
    subprocess.run(
        [
            "g++",
            "-std=c++17",
            *warnings,
            *includes,
            str(source),
            "-o",
            str(target),
            *link,
            "-Wl,--allow-shlib-undefined",
        ],
        check=True,
    )
    return target


def _tiling(program: Path, *numbers: int) -> dict[str, int]:
    done = subprocess.run(
        [str(program), *map(str, numbers)], check=True, capture_output=True, text=True
    )
    return dict(zip(_NAMES, map(int, done.stdout.split()), strict=True))


@pytest.mark.parametrize("kind", _BITS)
@pytest.mark.parametrize("cores", [1, 2, 8, 24])
@pytest.mark.parametrize(
    "shape", [(1024, 640, 256), (31, 31, 31), (1, 4096, 128), (7000, 48, 9000)]
)
def test_product_fits_the_core(
    program: Path, shape: tuple[int, int, int], cores: int, kind: int
) -> None:
    m, n, k = shape
    t = _tiling(program, m, n, k, cores, kind)
    assert t["result"] == 0
    assert (
        t["used"] == math.ceil(m / t["m"]) * math.ceil(n / t["n"]) * math.ceil(k / t["k"]) <= cores
    )
    size = _BITS[kind] / 8
    assert t["base_m"] % 16 == t["base_n"] % 16 == t["base_k"] * size % 32 == 0
    assert t["base_m"] * t["base_k"] * size * t["buffers"] <= 64 * 1024
    assert t["base_n"] * t["base_k"] * size * t["buffers"] <= 64 * 1024
    assert t["base_m"] * t["base_n"] * 4 <= 128 * 1024
    blocks = t["base_m"] * t["depth_a"] + t["base_n"] * t["depth_b"]
    assert blocks * t["base_k"] * size + t["base_n"] * 4 <= 512 * 1024
    assert t["bias"] == 1


def test_more_cores_take_less_each(program: Path) -> None:
    shares = [_tiling(program, 1024, 1024, 64, cores, 1) for cores in (1, 4, 16)]
    assert [t["m"] * t["n"] for t in shares] == [1024 * 1024, 1024 * 256, 256 * 256]


def test_rows_are_divided_where_columns_would_cost_the_same(program: Path) -> None:
    for cores, rows in ((2, 256), (8, 128)):
        t = _tiling(program, 512, 512, 128, cores, 1)
        assert (t["used"], t["m"], t["n"]) == (cores, rows, 512 * 512 // cores // rows)


def test_narrow_columns_are_divided_too(program: Path) -> None:
    """Stated by matmul_leakyrelu_advanced_api of asc-devkit."""
    t = _tiling(program, 512, 128, 128, 2, 1)
    assert (t["used"], t["m"], t["n"]) == (2, 512, 64)


def test_small_matrices_stay_on_one_core(program: Path) -> None:
    """A kernel of asc-devkit (matmul_tscm) copies all of A to each core."""
    t = _tiling(program, 64, 64, 64, 20, 1)
    assert (t["used"], t["m"], t["n"]) == (1, 64, 64)


def test_no_shape_is_no_tiling(program: Path) -> None:
    assert _tiling(program, 0, 16, 16, 1, 1)["result"] == -1

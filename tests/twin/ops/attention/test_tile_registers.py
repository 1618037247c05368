"""The kernels for CPUs with tile registers (AMX), on CPUs with AVX-512's products of bfloat16.

A library that is loaded first claims that the CPU has tile registers; oneDNN, which knows
better, uses what there is.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.twin.on_twin import output
from tests.twin.ops.attention.indexer_problems import check_all
from tests.twin.ops.attention.sparse_cases import Case, compare, of_all_kinds

if TYPE_CHECKING:
    from collections.abc import Callable

CLAIM = """
#include <ATen/cpu/Utils.h>
#include <ATen/native/CPUBlas.h>
#include <dlfcn.h>

#include <atomic>

namespace at::cpu {
bool init_amx() { return true; }
}  // namespace at::cpu

std::atomic<int> products = 0;

namespace at::native::cpublas {
void brgemm_release(bool is_vnni) {  // called after each group of products
  ++products;
  using Release = void (*)(bool);
  reinterpret_cast<Release>(dlsym(RTLD_NEXT, "_ZN2at6native7cpublas14brgemm_releaseEb"))(is_vnni);
}
}  // namespace at::native::cpublas

extern "C" int products_so_far() { return products; }
"""

pytestmark = [
    pytest.mark.build,
    pytest.mark.skipif(
        "avx512_bf16" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"),
        reason="others of the kernels need bfloat16 products of AVX-512; run it where they are",
    ),
]


@pytest.fixture(scope="module")
def claim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library that claims tile registers."""
    folder = tmp_path_factory.mktemp("claim")
    source, library = folder / "claim.cpp", folder / "libclaim.so"
    source.write_text(CLAIM, encoding="utf-8")
    of_torch = Path(torch.__file__).parent
    places = [f"-isystem{of_torch / 'include'}", f"-L{of_torch / 'lib'}"]
    run_time = f"-Wl,-rpath,{of_torch / 'lib'}"
    options = ["-std=c++20", "-fPIC", "-shared", *places, run_time]
    linked = ["-ltorch_cpu", "-lc10", "-o", str(library)]
    subprocess.run(["g++", *options, str(source), *linked], check=True)
    return library


def compare_attention() -> None:
    for case in (*of_all_kinds(), Case(heads=8, rope=False), Case(heads=128, keys=(300, 0, 129))):
        compare(case)


COMPARED: dict[str, Callable[[], None]] = {"indexer": check_all, "attention": compare_attention}


def count_products(name: str, claim: str) -> None:
    """Compare with the reference; print how many products tile registers have computed."""
    COMPARED[name]()
    sys.stdout.write(f"{ctypes.CDLL(claim).products_so_far()}\n")


@pytest.mark.parametrize("name", COMPARED)
def test_results_are_those_of_the_reference(claim: Path, name: str) -> None:
    variables = {"LD_PRELOAD": str(claim), "OMP_NUM_THREADS": "1"}
    assert int(output(count_products, name, str(claim), **variables).split()[-1]) > 0

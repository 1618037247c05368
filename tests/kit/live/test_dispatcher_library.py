"""A library of C functions called by plans: parameters of all classes, workspace, status."""

from __future__ import annotations

import ctypes
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # noqa: F401  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu

from tests.kit.live.dispatching import operator, plan
from tests.twin import on_twin

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.build]

# The functions return their arguments through aclnnSeen. They need no header: an argument that they
# do not use is a void pointer.
LIBRARY = r"""
#include <stdint.h>
#include <stdio.h>

static char seen[512];
const char* aclnnSeen(void) { return seen; }

int aclnnMixedLiveGetWorkspaceSize(
    void* x, double a, int8_t b, float c, _Bool d, int64_t e, double f, double g, uint16_t h,
    float i, double j, int32_t k, double l, int64_t m, double n, double o, float p, _Bool q,
    int64_t r, const char* s, double t, void* out, uint64_t* size, void** executor) {
  snprintf(seen, sizeof seen,
           "%g %d %g %d %ld %g %g %d %g %g %d %g %ld %g %g %g %d %ld %s %g %d",
           a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, x != NULL && out != NULL);
  *size = 4096;
  *executor = seen;
  return e < 0 ? 561103 : 0;
}

int aclnnMixedLive(void* workspace, uint64_t size, void* executor, void* stream) {
  size_t used = 0;
  while (seen[used] != 0) ++used;
  snprintf(seen + used, sizeof seen - used, " | %d %d %d %d",
           workspace != NULL, (int)size, executor == seen, stream != NULL);
  return seen[0] == '9' ? 561104 : 0;
}
"""

CTYPES = (
    *("double", "int8_t", "float", "bool", "int64_t", "double", "double", "uint16_t", "float"),
    *("double", "int32_t", "double", "int64_t", "double", "double", "float", "bool", "int64_t"),
    *("char", "double"),
)
TYPES = {"double": "float", "float": "float", "bool": "bool", "char": "str"}  # of a schema
VALUES = (
    *(1.5, -2, 3.5, True, 5, 6.5, 7.5, 8, 9.5, 10.5, -11, 12.5, 13, 14.5, 15.5, 16.5, True, 18),
    *("text", 20.5),
)
TEXT = "1.5 -2 3.5 1 5 6.5 7.5 8 9.5 10.5 -11 12.5 13 14.5 15.5 16.5 1 18 text 20.5"


def call_library(library: str) -> None:
    """Pass each class of parameters; then each of the two phases fails."""
    seen = ctypes.CDLL(library).aclnnSeen
    seen.restype = ctypes.c_char_p
    parameters = (
        ("aclTensor", ("argument", 0)),
        *((ctype, ("argument", index + 1)) for index, ctype in enumerate(CTYPES)),
        ("aclTensor", ("output", 0)),
    )
    arguments = ", ".join(f"{TYPES.get(c, 'int')} a{i}" for i, c in enumerate(CTYPES))
    output = {"shape": (("span", 0, 0, None),), "dtype": ("like", 0)}
    x = torch.ones(3, device="npu")
    rule = plan("aclnnMixedLive", parameters, (output,))
    with operator(f"(Tensor x, {arguments}) -> Tensor", rule) as op:
        op(x, *VALUES)
        torch_npu.npu.synchronize()
        got = seen().decode()
        assert got == f"{TEXT} 1 | 1 4096 1 1", got
        with pytest.raises(RuntimeError) as caught:
            op(x, *VALUES[:4], -5, *VALUES[5:])
        first = str(caught.value).splitlines()[0]
        assert "aclnnMixedLiveGetWorkspaceSize failed with code 561103" in first, first
        with pytest.raises(RuntimeError, match=r"561104|aclnnMixedLive"):
            wait_for_the_error(op, x)


def wait_for_the_error(op: Any, x: torch.Tensor) -> None:  # noqa: ANN401 - of torch.ops
    """Call so that phase 2 fails.

    torch_npu's queue can look empty before it has its error, which then waits for the next call
    (ReadQueue in NPUQueue.cpp).
    """
    op(x, 9.0, *VALUES[1:])
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        torch_npu.npu.synchronize()
        time.sleep(0.001)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the library into a package of custom operators."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "mixed.c"
    source.write_text(LIBRARY, encoding="utf-8")
    library = folder / "op_api" / "lib" / "libcust_opapi.so"
    library.parent.mkdir(parents=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    return folder


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_library(package: Path, level: str) -> None:
    library = package / "op_api" / "lib" / "libcust_opapi.so"
    variables = {"TASK_QUEUE_ENABLE": level, "ASCEND_CUSTOM_OPP_PATH": str(package)}
    on_twin.output(call_library, str(library), **variables)

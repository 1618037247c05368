"""static_kernel_compile and super_kernel_optimize: no kernel is compiled or fused, said once.

Results are right.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import torch
import torchair

from tests.twin.on_twin import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# Of AOE.
UNINITIALIZED, INVALID_SESSION = 3, 5
FUSION = {"stream_fusion": 1, "dcci_disable_on_kernel": ["Add"]}


def options_of(way: str) -> dict[str, Any]:
    """Return the options of torch.compile that ask for static kernels."""
    if way == "npugraph_ex":
        fused = {"super_kernel_optimize": True, "super_kernel_optimize_options": FUSION}
        return {"backend": way, "options": {"static_kernel_compile": True, **fused}}
    config = torchair.CompilerConfig()
    config.mode = way
    config.experimental_config.aclgraph._aclnn_static_shape_kernel = True  # noqa: SLF001
    config.experimental_config.aclgraph._super_kernel_optimize = True  # noqa: SLF001
    return {"backend": torchair.get_npu_backend(compiler_config=config)}


def function_of(number: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: torch.relu(x - number) * 2


def compile_twice(way: str, folder: str) -> None:
    """Compile two functions, and compare their results with those of eager calls."""
    os.chdir(folder)  # torch_npu makes the build directory in the current one
    warnings.simplefilter("ignore")
    x = torch.arange(12.0).view(3, 4).to("npu")
    for number in (1, 2):
        torch.compiler.reset()
        function = function_of(number)
        compiled = torch.compile(function, dynamic=False, **options_of(way))
        assert torch.equal(compiled(x), function(x))


@pytest.mark.twin
@pytest.mark.compile
@pytest.mark.parametrize("way", ["npugraph_ex", "reduce-overhead"])
def test_no_kernel_is_compiled_or_fused_and_that_is_said_once(way: str, tmp_path: Path) -> None:
    found = run(compile_twice, way, str(tmp_path))
    assert found.returncode == 0, found.stderr
    said = [line for line in found.stderr.splitlines() if line.startswith("opwright:")]
    assert [line.partition(". ")[0] for line in said] == [
        "opwright: static_kernel_compile: no static kernel is compiled or installed",
        "opwright: super_kernel_optimize: no kernels are fused",
    ]
    assert "[ERROR]" not in found.stderr


class Options(ctypes.Structure):
    """aclskOptions."""

    _fields_: ClassVar = [("options", ctypes.c_void_p), ("count", ctypes.c_size_t)]


@pytest.mark.twin
def test_what_cannot_be_fused_is_refused() -> None:
    acl, fusing = ctypes.CDLL("libascendcl.so"), ctypes.CDLL("libascendsk.so")
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    unknown = (ctypes.c_uint64 * 3)(18)
    given = Options(ctypes.addressof(unknown), 1)
    refused = [
        (fusing.aclskOptimize, (None, None), b"captured graph 0 does not exist"),
        (fusing.aclskOptimize, (None, ctypes.byref(Options(None, 2))), b"2 options at a null"),
        (fusing.aclskOptimize, (None, ctypes.byref(given)), b"type 18; allowed: 0 to 17"),
        (fusing.aclskScopeBegin, (None, None), b"parameter 'scopeName' is null"),
    ]
    for function, arguments, text in refused:
        assert function(*arguments) != 0
        assert text in acl.aclGetRecentErrMsg()


@pytest.mark.twin
def test_tuning_without_a_session_is_refused() -> None:
    tuning = ctypes.CDLL("libaoe_tuning.so")
    session = ctypes.c_uint64()
    assert tuning.AoeFinalize() == 0
    assert tuning.AoeCreateSession(ctypes.byref(session)) == UNINITIALIZED
    assert tuning.AoeDestroySession(ctypes.c_uint64(9)) == INVALID_SESSION
    assert tuning.AoeTuningGraph(ctypes.c_uint64(9), None) == INVALID_SESSION

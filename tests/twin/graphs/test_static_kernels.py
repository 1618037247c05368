"""static_kernel_compile: nothing is compiled, which the twin says once, and results are right."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torchair

from tests.twin.on_twin import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def options_of(way: str) -> dict[str, Any]:
    """Return the options of torch.compile that ask for static kernels."""
    if way == "npugraph_ex":
        return {"backend": way, "options": {"static_kernel_compile": True}}
    config = torchair.CompilerConfig()
    config.mode = way
    config.experimental_config.aclgraph._aclnn_static_shape_kernel = True  # noqa: SLF001
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
def test_no_static_kernel_is_compiled_and_that_is_said_once(way: str, tmp_path: Path) -> None:
    found = run(compile_twice, way, str(tmp_path))
    assert found.returncode == 0, found.stderr
    said = [line for line in found.stderr.splitlines() if line.startswith("opwright:")]
    assert [line.partition(". ")[0] for line in said] == [
        "opwright: static_kernel_compile: no static kernel is compiled or installed"
    ]
    assert "[ERROR]" not in found.stderr

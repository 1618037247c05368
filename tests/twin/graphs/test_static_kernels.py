"""static_kernel_compile: nothing is compiled, which the twin says once, and results are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.twin.on_twin import run

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import os
import warnings

import torchair

os.chdir({folder!r})  # torch_npu makes the build directory in the current one
warnings.simplefilter("ignore")
config = torchair.CompilerConfig()
config.mode = "reduce-overhead"
config.experimental_config.aclgraph._aclnn_static_shape_kernel = True
x = torch.arange(12.0).view(3, 4).npu()
for number in (1, 2):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: torch.relu(x - number) * 2, dynamic=False, {arguments})
    print(torch.equal(compiled(x), torch.relu(x - number) * 2))
"""


WAYS = {
    "npugraph_ex": 'backend="npugraph_ex", options={"static_kernel_compile": True}',
    "reduce-overhead": "backend=torchair.get_npu_backend(compiler_config=config)",
}


@pytest.mark.twin
@pytest.mark.compile
@pytest.mark.parametrize("way", WAYS)
def test_no_static_kernel_is_compiled_and_that_is_said_once(way: str, tmp_path: Path) -> None:
    found = run(SCRIPT.format(folder=str(tmp_path), arguments=WAYS[way]))
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == ["True", "True"]
    said = [line for line in found.stderr.splitlines() if line.startswith("opwright:")]
    assert [line.partition(". ")[0] for line in said] == [
        "opwright: static_kernel_compile: no static kernel is compiled or installed"
    ]
    assert "[ERROR]" not in found.stderr

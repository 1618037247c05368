"""Each operator of reference section 8.5, compiled as a whole, beside TorchScript."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

import torch_aie
from tests.aie.operator_rows import CONVERTED, Row
from torch_aie import Input, PrecisionPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

# PyTorch calls TorchScript deprecated in each of its functions; this package is about it.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:at..frobenius_norm is deprecated:UserWarning"),
]


def scripted(row: Row) -> torch.jit.ScriptModule:
    """Return a module of one line, of a class of its own: modules of one class share methods."""
    module: torch.jit.ScriptModule = type("Operator", (torch.jit.ScriptModule,), {})()
    arguments = ", ".join("xyz"[: len(row.inputs)])
    source = f"def forward(self, {arguments}):\n    return {row.expression}\n"
    module.define(source.replace("F.", "torch.nn.functional."))
    return module.eval()


def operators_in(block: torch._C.Block | torch.Graph) -> Iterator[str]:
    for node in block.nodes():
        schema = node.schema()
        yield schema.split("(")[0]
        for inner in node.blocks():
            yield from operators_in(inner)


@pytest.mark.parametrize("row", CONVERTED, ids=str)
def test_equals_torchscript(row: Row) -> None:
    module = scripted(row)
    assert row.operator in set(operators_in(module.inlined_graph))
    tensors = row.tensors()
    expected = module(*tensors)
    compiled = torch_aie.compile(
        module,
        inputs=[Input(tuple(x.shape), dtype=x.dtype) for x in tensors],
        precision_policy=PrecisionPolicy.FP32,
        require_full_compilation=True,
    )
    torch.testing.assert_close(compiled(*tensors), expected, atol=1e-5, rtol=1e-5, equal_nan=True)

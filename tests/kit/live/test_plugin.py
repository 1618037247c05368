"""A plugin: a package of plain Python that loads its operators where it is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.twin

# The whole package: declarations, then the operators by name.
PACKAGE = '''
    """Operators that a model imports before it runs."""

    from __future__ import annotations

    import torch

    import opwright as ow

    ops = ow.OperatorSet("plugged", version="1.2")


    @ops.operator(
        "gated(Tensor x, *, Tensor gate) -> Tensor",
        aclnn="aclnnPluggedGated(x, gate, out)",
        shapes={"x": "*batch, D", "gate": "D"},
        backward="reference",
    )
    def gated(x, *, gate):
        """Multiply by a gate."""
        return x * torch.sigmoid(gate)


    ops.load()
'''
MODEL = """
    import sys
    import opwright.twin
    import torch
    import torch_npu
    import plugged

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = torch.nn.Parameter(torch.zeros(4))

        def forward(self, x):
            return torch.ops.plugged.gated(x, gate=self.gate) + plugged.gated(x, gate=self.gate)

    model = Model().npu()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    x = torch.ones(2, 4).npu()
    for each in (model, compiled):
        model.zero_grad()
        result = each(x)
        result.sum().backward()
        print(result.detach().cpu().sum().item(), model.gate.grad.cpu().tolist())
    assert "torch.utils.cpp_extension" not in sys.modules
    with torch.no_grad():
        exported = torch.export.export(Model(), (torch.ones(2, 4),))
    print([str(n.target) for n in exported.graph.nodes if "plugged" in str(n.target)])
"""


def test_a_package_of_plain_python_brings_its_operators(tmp_path: Path) -> None:
    package = tmp_path / "plugged"
    package.mkdir()
    (package / "__init__.py").write_text(dedent(PACKAGE), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(
        [sys.executable, "-c", dedent(MODEL)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    line = "8.0 [1.0, 1.0, 1.0, 1.0]"
    operators = ["plugged.gated.default"] * 2
    assert result.stdout.splitlines() == [line, line, str(operators)]

"""A plugin: a package of plain Python that loads its operators where it is imported."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import opwright.twin  # noqa: F401  # before torch, which loads torch_npu

# isort: split
import torch

pytestmark = pytest.mark.twin

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.isolated
def test_a_package_of_plain_python_brings_its_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    plugged = importlib.import_module("plugged")

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = torch.nn.Parameter(torch.zeros(4))

        def forward(self, x: torch.Tensor) -> Any:  # noqa: ANN401 - of torch.ops
            return torch.ops.plugged.gated(x, gate=self.gate) + plugged.gated(x, gate=self.gate)

    model = Model().to("npu")
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    x = torch.ones(2, 4).to("npu")
    for each in (model, compiled):
        model.zero_grad()
        result = each(x)
        result.sum().backward()
        assert result.detach().cpu().sum().item() == 8
        assert model.gate.grad is not None
        assert model.gate.grad.cpu().tolist() == [1, 1, 1, 1]
    assert "torch.utils.cpp_extension" not in sys.modules
    with torch.no_grad():
        exported = torch.export.export(Model(), (torch.ones(2, 4),))
    operators = [str(n.target) for n in exported.graph.nodes if "plugged" in str(n.target)]
    assert operators == ["plugged.gated.default"] * 2

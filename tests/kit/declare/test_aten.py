"""The names of torch's operators, which formulas may call, are those of torch."""

from __future__ import annotations

import opwright.twin  # noqa: F401  # before torch, which loads torch_npu

# isort: split
import pytest
import torch

from opwright.kit.declare.aten import read_aten_functions
from opwright.pairs import installed_minor
from tools.aten_functions import list_functions

pytestmark = pytest.mark.twin


def test_formulas_may_call_what_torch_has() -> None:
    names = read_aten_functions()
    assert {"cos", "where", "threshold_backward"} <= names
    assert not {"coss", "cos_", "len"} & names
    if installed_minor() == "2.13":
        assert sorted(names) == list_functions()
    missing = [name for name in ("cos", "sum") if not hasattr(torch.ops.aten, name)]
    assert missing == []

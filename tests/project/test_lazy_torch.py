"""torch is imported when it is used, and then as if it had been imported at once."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

from opwright.project.lazy_torch import lazy_torch
from tests.alone import alone
from tests.twin.on_twin import printed

# Text: the ways to import differ in their syntax.
START = """
import sys
from opwright.project.lazy_torch import lazy_torch
with lazy_torch():
    import torch
    import torch
    isinstance(torch, int), hasattr(torch, "__file__"), torch.__name__
    assert "torch._C" not in sys.modules
    {use}
    assert "torch._C" in sys.modules
print(type(torch).__name__, torch.ones(2).sum().item(), torch is sys.modules["torch"])
"""


@pytest.mark.torch
@pytest.mark.parametrize(
    "use",
    [
        "torch.float16",
        "import torch.nn.functional as F; assert F.relu",
        "from torch import nn; assert nn.Linear",
        "from torch.utils import data; assert data.Dataset",
        "import importlib; importlib.import_module('torch.library')",
    ],
)
def test_every_way_to_use_it(use: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", START.format(use=use)], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, "module 2.0 True\n"), result.stderr


def keep_torch() -> None:
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    torch = importlib.import_module("torch")
    with lazy_torch():
        assert sys.modules["torch"] is torch
    assert os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"


@pytest.mark.torch
def test_torch_that_is_there_stays() -> None:
    printed(alone(keep_torch))

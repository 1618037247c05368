"""References need torch alone, and nothing of the kit needs them to be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import opwright.reference

FOLDER = Path(opwright.reference.__path__[0])
MODULES = [f"opwright.reference.{file.stem}" for file in sorted(FOLDER.glob("[!_]*.py"))]


def in_fresh_process(code: str) -> None:
    environment = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PATH": ""}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.torch
def test_they_need_torch_alone() -> None:
    in_fresh_process(
        "import importlib, sys\n"
        "for name in ('torch_npu', 'torchair', 'opwright.twin'):\n"
        "    sys.modules[name] = None\n"
        f"for name in {MODULES!r}:\n"
        "    importlib.import_module(name)\n"
    )


def test_the_kit_does_not_import_them() -> None:
    in_fresh_process(
        "import sys, opwright, opwright.kit.declare, opwright.cli\n"
        "assert not [name for name in sys.modules if name.startswith('opwright.reference')]\n"
        "assert 'torch' not in sys.modules"
    )

"""The table of tags is torch's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from opwright.kit.validate.metadata import TAGS


@pytest.mark.torch
def test_tags_are_those_of_torch() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import torch; print(*torch.Tag.__members__)"],
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert set(run.stdout.split()) == TAGS

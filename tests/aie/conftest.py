"""What the tests of torch_aie share."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

# torch_npu is not part of these tests.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


@pytest.fixture(scope="session")
def guide() -> list[str]:
    """Return the code blocks of the custom converter guide, in their order."""
    folder = Path(os.environ.get("OPWRIGHT_SEEDS", SEEDS))
    for path in sorted(folder.glob("*.txt")) if folder.is_dir() else []:
        text = path.read_text(encoding="utf-8")
        if "RegisterNodeConverters" in text and "cumsum_model_infer" in text:
            return re.findall(r"^```[a-z+]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    pytest.skip(f"the guide is not in {folder}: set OPWRIGHT_SEEDS to the folder that has it")

"""Shared by the tests of torch_aie: the twin comes before torch, as in the tests beside them.

One process runs several files, and torch_npu comes with the first import of torch. With
TORCH_DEVICE_BACKEND_AUTOLOAD=0 in the environment these tests run without torch_npu.

The twin and torch are imported for the first file, and not here: pytest reads this at its start,
also in the process that does nothing but distribute all tests of the repository.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


def pytest_pycollect_makemodule() -> None:
    """Load the twin before a file imports torch, unless the environment says otherwise."""
    import_module("opwright.twin")


@pytest.fixture(scope="session")
def guide() -> list[str]:
    """Return the code blocks of the custom converter guide, in their order."""
    folder = Path(os.environ.get("OPWRIGHT_SEEDS", SEEDS))
    for path in sorted(folder.glob("*.txt")) if folder.is_dir() else []:
        text = path.read_text(encoding="utf-8")
        if "RegisterNodeConverters" in text and "cumsum_model_infer" in text:
            return re.findall(r"^```[a-z+]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    pytest.skip(f"the guide is not in {folder}: set OPWRIGHT_SEEDS to the folder that has it")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small models are slower with more, and other workers run beside this one."""
    torch = import_module("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

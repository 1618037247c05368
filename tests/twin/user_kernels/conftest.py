"""The twin comes before torch, whatever a test of kernels imports first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401

# isort: split
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Functions of this process are built into a cache that is empty at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        torch_npu.npu.set_device(0)
        yield
    torch_npu.npu.synchronize()

"""Fixtures of tests that share a process: none depends on those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def unchanged_stream() -> Iterator[None]:
    """Begin on device 0; a test ends on the stream on which it began, and outside of a capture."""
    torch_npu.npu.set_device(0)
    before = torch_npu.npu.current_stream()
    yield
    after = torch_npu.npu.current_stream()
    torch_npu.npu.set_stream(before)
    torch_npu.npu.synchronize()
    assert after == before
    assert not torch_npu.npu.is_current_stream_capturing()


@pytest.fixture(autouse=True)
def seeded() -> None:
    """A failure can be repeated, whichever tests ran before."""
    torch.manual_seed(0)

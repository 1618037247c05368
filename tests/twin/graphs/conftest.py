"""Tests of captured graphs: the twin comes before torch, and no test leaves a stream behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401

# isort: split
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("twin")
    # torch_npu says so once in a process: it asks for a format that it does not permit itself.
    item.add_marker(pytest.mark.filterwarnings("ignore:Cannot create tensor with internal format"))


@pytest.fixture(autouse=True)
def no_traces() -> Iterator[None]:
    torch_npu.npu.set_device(0)
    before = torch_npu.npu.current_stream()
    yield
    after = torch_npu.npu.current_stream()
    torch_npu.npu.set_stream(before)
    torch_npu.npu.synchronize()
    assert after == before
    assert not torch_npu.npu.is_current_stream_capturing()

"""torch_npu's own checker of streams, TORCH_NPU_SANITIZER: what it finds on the twin."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from torch.cuda._sanitizer import CUDASanitizerErrors
from torch_npu.npu._sanitizer import npu_sanitizer

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.twin, pytest.mark.isolated(TORCH_NPU_SANITIZER="1")]


def outcome_of(program: Callable[[torch.Tensor, torch_npu.npu.Stream], None]) -> tuple[bool, int]:
    """Return whether a race was raised, and how many tensors lacked record_stream."""
    x = torch.ones(100, device="npu")
    torch_npu.npu.synchronize()
    raced = True
    with contextlib.suppress(CUDASanitizerErrors):
        program(x, torch_npu.npu.Stream())
        raced = False
    handler = npu_sanitizer.event_handler
    assert handler is not None
    missing = len(handler.flush_record_stream_warnings())
    torch_npu.npu.synchronize()
    return raced, missing


def test_a_race_is_raised_at_the_later_operator() -> None:
    def program(x: torch.Tensor, stream: torch_npu.npu.Stream) -> None:
        x.add_(1)
        with torch_npu.npu.stream(stream):
            x.exp()

    assert outcome_of(program)[0]


def test_use_on_another_stream_without_record_stream_is_reported() -> None:
    def program(x: torch.Tensor, stream: torch_npu.npu.Stream) -> None:
        stream.wait_stream(torch_npu.npu.current_stream())
        with torch_npu.npu.stream(stream):
            x.exp()

    assert outcome_of(program) == (False, 1)


def test_ordered_streams_are_left_alone() -> None:
    def program(x: torch.Tensor, stream: torch_npu.npu.Stream) -> None:
        stream.wait_stream(torch_npu.npu.current_stream())
        with torch_npu.npu.stream(stream):
            x.exp()
        torch_npu.npu.current_stream().wait_stream(stream)

    assert outcome_of(program) == (False, 0)


def test_views_that_begin_elsewhere_are_not_compared() -> None:
    """It knows tensors by their first byte; `opwright run --order` finds this one."""

    def program(x: torch.Tensor, stream: torch_npu.npu.Stream) -> None:
        x.add_(1)
        with torch_npu.npu.stream(stream):
            x[10:].exp()
        torch_npu.npu.current_stream().wait_stream(stream)

    assert outcome_of(program) == (False, 0)

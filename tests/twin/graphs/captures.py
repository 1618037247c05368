"""Capture a function, and say what a refused capture leaves behind."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pytest
import torch
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def new_stream() -> torch_npu.npu.Stream:
    """Return a stream that torch_npu.npu.graph does not capture by default.

    torch_npu has 32 streams per device and gives them out in turn.
    """
    default = torch_npu.npu.graph(torch_npu.npu.NPUGraph()).capture_stream
    while (stream := torch_npu.npu.Stream()) == default:
        pass
    return stream


def capture(body: Callable[[], Result], **options: object) -> tuple[torch_npu.npu.NPUGraph, Result]:
    """Capture the calls of body; options are those of torch.npu.graph."""
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph, **options):
        result = body()
    return graph, result


def check_usable(*streams: torch_npu.npu.Stream) -> None:
    """Check that nothing is captured and that eager work and a fresh capture succeed."""
    assert not torch_npu.npu.is_current_stream_capturing()
    for stream in (torch_npu.npu.current_stream(), new_stream(), *streams):
        with torch_npu.npu.stream(stream):
            assert not torch_npu.npu.is_current_stream_capturing()
            assert (torch.arange(3.0).to("npu") * 2).cpu().tolist() == [0, 2, 4]
    for options in ({}, *({"stream": stream} for stream in streams)):
        x = torch.zeros(3, device="npu")
        graph, y = capture(partial(torch.add, x, 1), **options)
        x.fill_(4)
        graph.replay()
        assert y.cpu().tolist() == [5, 5, 5]


def refusal(body: Callable[[], object], **options: object) -> str:
    """Capture body, which must raise a RuntimeError; return its text.

    If the end of the capture raises, the current stream is put back, which torch_npu 2.13.0 does
    not do.
    """
    before = torch_npu.npu.current_stream()
    with pytest.raises(RuntimeError) as caught:
        capture(body, **options)
    message = str(caught.value)
    at_the_end = "aclmdlRICaptureEnd" in message
    assert (torch_npu.npu.current_stream() == before) == (not at_the_end)
    torch_npu.npu.set_stream(before)
    check_usable()
    return message

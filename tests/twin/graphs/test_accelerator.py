"""torch.accelerator.Graph, PyTorch's own interface to captures."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.graphs.captures import check_usable, new_stream


def test_capture_and_replay() -> None:
    graph = torch.accelerator.Graph()
    x = torch.zeros(8).to("npu")
    torch_npu.npu.synchronize()
    with torch_npu.npu.stream(new_stream()):
        graph.capture_begin()
        y = x * 2 + 1
        graph.capture_end()
    for value in range(4):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [2 * value + 1] * 8
    other = torch.accelerator.Graph(pool=graph.pool())
    with torch_npu.npu.stream(new_stream()):
        other.capture_begin()
        z = y + 1
        other.capture_end()
    other.replay()
    assert z.tolist() == [8] * 8
    graph.reset()
    other.reset()
    check_usable()


def test_accelerator_refuses_wrong_calls() -> None:
    graph = torch.accelerator.Graph(capture_error_mode="thread_local")
    x = torch.ones(8).to("npu")
    with torch_npu.npu.stream(new_stream()):
        graph.capture_begin()
        with pytest.raises(RuntimeError, match="aclrtSynchronizeStreamWithTimeout: cannot wait"):
            (x + 1)[0].item()
        graph.capture_end()
    with pytest.raises(RuntimeError, match="replay without a preceding successful capture"):
        torch.accelerator.Graph().replay()
    check_usable()

"""Host functions and torch_npu's own prints and files from inside of a captured graph."""

from __future__ import annotations

import pickle
import re
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from tests.twin.graphs.captures import capture, new_stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

npu = torch_npu.npu
TIME_LIMIT = 300  # seconds
# torch_npu 2.13.0 has no public names for these; its documentation calls them by the private ones.
subscribe, unsubscribe = npu._subscribe_report, npu._unsubscribe_report  # noqa: SLF001
launch_host_func = npu._launch_host_func  # noqa: SLF001


@pytest.fixture
def stream() -> Iterator[torch_npu.npu.Stream]:
    """Run host functions on torch_npu's thread for them."""
    made = new_stream()
    subscribe(made)
    yield made
    unsubscribe(made)


def test_a_host_function_runs_at_each_replay(stream: torch_npu.npu.Stream) -> None:
    calls: list[int] = []
    x = torch.zeros(4).to("npu")

    def step() -> torch.Tensor:
        y = x + 1
        launch_host_func(npu.current_stream(), calls.append, len(calls))
        return y * 2

    graph, y = capture(step, stream=stream)
    assert calls == []
    for count in range(1, 6):
        x.fill_(count)
        graph.replay()
        assert y.tolist() == [2 * (count + 1)] * 4
        assert calls == [0] * count


def test_a_host_function_keeps_its_place(stream: torch_npu.npu.Stream) -> None:
    pinned = torch.zeros(4).pin_memory()
    seen: list[list[float]] = []
    x = torch.zeros(4).to("npu")

    def step() -> None:
        for _ in range(3):
            x.add_(1)
            pinned.copy_(x, non_blocking=True)
            launch_host_func(npu.current_stream(), lambda t: seen.append(t.tolist()), pinned)

    graph, _ = capture(step, stream=stream)
    graph.replay()
    graph.replay()
    npu.synchronize()
    assert seen == [[value] * 4 for value in range(1, 7)]


def test_prints(capfd: pytest.CaptureFixture[str]) -> None:
    x = torch.arange(6.0).reshape(2, 3).to("npu")
    graph, _ = capture(lambda: torch.ops.npu.print_npugraph_tensor(x * 2, tensor_name="twice"))
    assert "twice" not in capfd.readouterr().out
    for value in (1.0, 4.0):
        x.fill_(value)
        graph.replay()
        npu.synchronize()
        printed = wait_for(capfd)
        assert "twice=tensor([[" in printed
        assert f"{2 * value:g}." in printed
        assert "shape=(2, 3), dtype=torch.float32" in printed


def wait_for(capfd: pytest.CaptureFixture[str]) -> str:
    """Read until a whole line is there: torch_npu prints on a thread of its own."""
    text = ""
    deadline = time.monotonic() + TIME_LIMIT
    while not re.search("dtype.*\n", text) and time.monotonic() < deadline:
        time.sleep(0.01)
        text += capfd.readouterr().out
    return text


def test_files(tmp_path: Path) -> None:
    x = torch.zeros(3).to("npu")
    path = tmp_path / "x.pt"
    save = partial(torch.ops.npu.save_npugraph_tensor, save_path=str(path), overwrite=True)
    graph, _ = capture(lambda: save(x + 1))
    written = tmp_path / "x_device_0.pt"
    for value in range(3):
        x.fill_(value)
        graph.replay()
        npu.synchronize()
        deadline = time.monotonic() + TIME_LIMIT
        while saved(written) != [value + 1] * 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert saved(written) == [value + 1] * 3


def saved(path: Path) -> list[float] | None:
    """Return what a file holds, None while torch_npu's thread has not written all of it."""
    try:
        values: list[float] = torch.load(path).tolist()
    except (EOFError, FileNotFoundError, RuntimeError, pickle.UnpicklingError):
        return None
    return values

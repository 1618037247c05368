"""Captured graphs under the settings of torch_npu and the twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.twin import on_twin

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("values", "files"),
    [
        ({"TASK_QUEUE_ENABLE": "0"}, ("misuse", "modes")),
        (
            {"TASK_QUEUE_ENABLE": "0", "OPWRIGHT_SYNC": "1"},
            ("replay", "misuse", "streams", "updates"),
        ),
    ],
    ids=["no consumer thread", "sync"],
)
def test_in_a_process_of_their_own(values: dict[str, str], files: tuple[str, ...]) -> None:
    """The same tests, also with calls on the caller's thread, and operators inside of calls."""
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header")
    done = on_twin.python(*command, *(HERE / f"test_{file}.py" for file in files), **values)
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout


TASK_QUEUE_2 = """
    x = torch.ones(3, device="npu")
    graph = torch.npu.NPUGraph()
    try:
        with torch.npu.graph(graph):
            x + 1
        raise SystemExit("captured")
    except RuntimeError as error:
        assert "TASK_QUEUE_ENABLE = 2" in str(error), error
    assert not torch.npu.is_current_stream_capturing()
    assert (x + 1).tolist() == [2, 2, 2]
    print("done")
"""


def test_the_second_form_of_the_task_queue_is_refused() -> None:
    assert "done" in on_twin.output(TASK_QUEUE_2, TASK_QUEUE_ENABLE="2")


TWO_DEVICES = """
    for index in (1, 0):
        torch.npu.set_device(index)
        kept = torch.ones(1 << 20, device=f"npu:{index}")
        kept + 1  # leaves a block in the cache of this device
    graph = torch.npu.NPUGraph()
    try:
        with torch.npu.graph(graph):
            y = kept + 1
            torch.npu.empty_cache()
        raise SystemExit("captured")
    except RuntimeError as error:
        assert "cannot wait for the device" in str(error), error
    assert not torch.npu.is_current_stream_capturing()
    torch.npu.set_device(0)
    assert (kept + 1)[:2].tolist() == [2, 2]
    print("done")
"""


def test_a_refused_wait_leaves_no_capture_open_where_two_devices_are_used() -> None:
    """torch_npu empties the caches of all devices, one after the other."""
    assert "done" in on_twin.output(TWO_DEVICES, OPWRIGHT_DEVICES="2")

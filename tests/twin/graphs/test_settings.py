"""Captured graphs under the settings of torch_npu and the twin."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch_npu

from tests.twin import on_twin
from tests.twin.graphs.captures import capture, refusal

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


@pytest.mark.isolated(TASK_QUEUE_ENABLE="2")
def test_the_second_form_of_the_task_queue_is_refused() -> None:
    x = torch.ones(3, device="npu")
    before = torch_npu.npu.current_stream()
    with pytest.raises(RuntimeError, match="TASK_QUEUE_ENABLE = 2"):
        capture(lambda: x + 1)
    torch_npu.npu.set_stream(before)  # torch_npu.npu.graph does not where the capture cannot begin
    assert not torch_npu.npu.is_current_stream_capturing()
    assert (x + 1).tolist() == [2, 2, 2]


def use(device: int) -> torch.Tensor:
    """Leave a block in the cache of the device, which is the current one from here on."""
    torch_npu.npu.set_device(device)
    kept = torch.ones(1 << 20, device=f"npu:{device}")
    torch.add(kept, 1)
    return kept


@pytest.mark.isolated(OPWRIGHT_DEVICES="2")
def test_a_refused_wait_leaves_no_capture_open_where_two_devices_are_used() -> None:
    """torch_npu empties the caches of all devices, one after the other."""
    use(1)
    kept = use(0)

    def wait() -> None:
        torch.add(kept, 1)
        torch_npu.npu.empty_cache()

    assert "cannot wait for the device" in refusal(wait)
    assert not torch_npu.npu.is_current_stream_capturing()
    torch_npu.npu.set_device(0)
    assert (kept + 1)[:2].tolist() == [2, 2]

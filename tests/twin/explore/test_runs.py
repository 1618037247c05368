"""`opwright run --order=explore` on programs: what it finds, and that it ends."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch_npu  # isort: skip

from tests.twin.on_twin import python

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.twin


def explore(
    folder: Path, program: str, *options: str, how: str = "explore"
) -> subprocess.CompletedProcess[str]:
    """Write a program to a file and run it in several orders."""
    file = folder / "program.py"
    head = "import torch\nimport torch_npu\n"
    file.write_text(head + textwrap.dedent(program), encoding="utf-8")
    run = ("-m", "opwright", "run", "--twin", f"--order={how}")
    return python(*run, *options, "--", "python", str(file))


RACE = """
    def produce(x):
        x.add_(1)

    def consume(x):
        return x * 2

    x = torch.ones(100, device="npu")
    first, second = torch.npu.Stream(), torch.npu.Stream()
    torch.npu.synchronize()
    with torch.npu.stream(first):
        produce(x)
    with torch.npu.stream(second):
        y = consume(x)
    torch.npu.synchronize()
    print(y.cpu()[0].item())
"""


def test_an_order_with_other_results_is_named_and_written(tmp_path: Path) -> None:
    repro = tmp_path / "order.txt"
    done = explore(tmp_path, RACE, "--repro", str(repro), how="explore:0,4")
    assert done.returncode == 1, done.stderr
    assert done.stdout == "4.0\n"
    assert (
        "opwright: order 1 differs from the order of the launches: a copy of 400 bytes to the host "
        "has other bytes\n"
    ) in done.stderr
    assert re.search(r"program\.py:18 in <module>", done.stderr)
    # Those of the seeds, and the one in which the later of the two comes first.
    assert "5 orders run beside that of the launches: 0 failed," in done.stderr
    assert "again: --order=explore:1,1" in done.stderr
    assert done.stderr.count("opwright: nothing orders aclnnInplaceAdds and aclnnMuls") == 1
    assert "server.py" not in done.stderr

    text = repro.read_text(encoding="utf-8")
    holds = [line for line in text.splitlines() if line.startswith("hold ")]
    assert len(holds) == 1, text
    assert re.search(r"# aclnnInplaceAdds on stream \d \(.*program\.py:5 in produce\)", text), text
    again = explore(tmp_path, RACE, how=f"replay:{repro}")
    assert again.returncode == 1, again.stderr
    assert "the order of the file differs from the order of the launches" in again.stderr


def is_alive(pid: int) -> bool:
    """Return whether a process runs, and is no zombie."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_a_run_ends_with_the_command_that_is_killed(tmp_path: Path) -> None:
    file, started = tmp_path / "program.py", tmp_path / "pid"
    file.write_text(
        "import os, pathlib, time\n"
        f"pathlib.Path({str(started)!r}).write_text(f'{{os.getpid()}}\\n')\n"
        "time.sleep(300)\n"
    )
    command = [*("-m", "opwright", "run", "--twin", "--order=explore"), "--", "python", str(file)]
    with subprocess.Popen([sys.executable, *command]) as process:
        wait_until(lambda: started.exists() and started.read_text().endswith("\n"))
        process.kill()
    wait_until(lambda: not is_alive(int(started.read_text())))


def test_a_program_that_orders_its_streams_has_the_same_results(tmp_path: Path) -> None:
    done = explore(
        tmp_path,
        """
        x = torch.ones(100, device="npu")
        side = torch.npu.Stream()
        for _ in range(3):
            side.wait_stream(torch.npu.current_stream())
            with torch.npu.stream(side):
                x.mul_(2)
                event = side.record_event()
            while not event.query():
                pass
            x.add_(1)
            pinned = torch.empty(100, pin_memory=True)
            pinned.copy_(x, non_blocking=True)
            torch.npu.current_stream().synchronize()
            print(pinned.sum().item())
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            side.wait_stream(torch.npu.current_stream())
            with torch.npu.stream(side):
                y = x * 2
            z = x + 1
            torch.npu.current_stream().wait_stream(side)
            z.add_(y)
        for _ in range(3):
            graph.replay()
        print(z.sum().item())
        w = torch.ones(4, 4, device="npu", requires_grad=True)
        (w @ w).sum().backward()
        print(w.grad.sum().item())
        """,
    )
    assert done.returncode == 0, done.stderr
    assert "10 orders run beside that of the launches: all have the same results" in done.stderr


def test_the_status_of_an_order_that_fails_is_passed_through(tmp_path: Path) -> None:
    check = RACE + "    if y[0].item() != 4:\n        raise SystemExit(7)\n"
    done = explore(tmp_path, check.replace("print(y.cpu()[0].item())", ""))
    assert done.returncode == 7, done.stderr
    assert "opwright: order 1: exit status 7\n" in done.stderr


def test_a_program_that_fails_in_any_order_is_run_once(tmp_path: Path) -> None:
    done = explore(tmp_path, "raise SystemExit(5)")
    assert done.returncode == 5, done.stderr
    assert "fails in the order of its launches; no other order was run" in done.stderr


def test_a_read_of_pinned_memory_before_the_copy_is_found(tmp_path: Path) -> None:
    done = explore(
        tmp_path,
        """
        x = torch.ones(100, device="npu")
        pinned = torch.zeros(100, pin_memory=True)
        pinned.copy_(x, non_blocking=True)
        print(pinned.sum().item())
        """,
    )
    assert done.returncode == 1, done.stderr
    assert "line 1 of its output is '0.0', not '100.0'" in done.stderr


def test_a_wait_that_cannot_end_ends_with_the_chain_of_waits(tmp_path: Path) -> None:
    done = explore(
        tmp_path,
        """
        def wait_for_nobody(stream):
            torch.npu.ExternalEvent().wait(stream)

        def finish(stream):
            stream.synchronize()

        stream = torch.npu.Stream()
        other = torch.npu.Stream()
        wait_for_nobody(other)
        stream.wait_stream(other)
        finish(stream)
        """,
    )
    assert done.returncode == 86, done.stderr
    lines = iter(done.stderr.splitlines())
    for expected in (
        r"opwright: deadlock: the host waits, and nothing that it waits for can happen",
        r"  the host waits for stream \d of device 0",
        r"      .*program\.py:8 in finish",
        r"  stream \d of device 0 is in aclrtStreamWaitEvent, which waits for the record",
        r"  stream \d of device 0 is in aclrtValueWait, which waits for the write of 1",
        r"      .*program\.py:5 in wait_for_nobody",
    ):
        assert any(re.match(expected, line) for line in lines), f"{expected}\n{done.stderr}"
    assert "circle" not in done.stderr


def test_a_seed_is_one_order(tmp_path: Path) -> None:
    """Two processes of one seed have the same log, but for addresses."""
    logs = []
    for number in range(2):
        log = tmp_path / f"log{number}"
        settings = {"OPWRIGHT_EXPLORE": "11", "OPWRIGHT_EXPLORE_LOG": str(log)}
        script = "import opwright.twin, torch, torch_npu\n" + textwrap.dedent(RACE)
        done = python("-c", script, **settings, TASK_QUEUE_ENABLE="0")
        assert done.returncode == 0, done.stderr
        (file,) = tmp_path.glob(f"log{number}.0.*")
        logs.append(file.read_text(encoding="utf-8"))
    assert logs[0] == logs[1]
    assert '"run"' in logs[0]


def test_a_wrong_seed_is_named() -> None:
    script = "import opwright.twin, torch, torch_npu\ntorch.ones(2, device='npu').add(1)"
    done = python("-c", script, OPWRIGHT_EXPLORE="late")
    assert done.returncode != 0
    assert "OPWRIGHT_EXPLORE='late'" in done.stderr


@pytest.mark.isolated(OPWRIGHT_EXPLORE="0")
def test_freed_memory_is_poisoned() -> None:
    acl = ctypes.CDLL("libascendcl.so")
    device = ctypes.c_void_p()
    host = (ctypes.c_ubyte * 64)()
    torch_npu.npu.synchronize()
    for _ in range(2):
        assert acl.aclrtMalloc(ctypes.byref(device), ctypes.c_size_t(64), 0) == 0
        copied = (host, ctypes.c_size_t(64), device, ctypes.c_size_t(64), 2)
        assert acl.aclrtMemcpy(*copied) == 0
        assert acl.aclrtFree(device) == 0
    assert set(host) == {0xFF}


def test_a_fault_that_needs_two_rare_places_at_once_is_found(tmp_path: Path) -> None:
    """Each stream does something wrong for one task, which shows only inside of the other's."""
    program = """
        x, y, z, *work = (torch.ones(64, device="npu") for _ in range(6))
        streams = [torch.npu.Stream() for _ in range(3)]
        torch.npu.synchronize()

        def use(number, wrong, right):
            with torch.npu.stream(streams[number]):
                for _ in range(4):
                    work[number].mul_(1.5)
                wrong()
                right()
                for _ in range(4):
                    work[number].mul_(1.5)

        use(0, lambda: x.mul_(0), lambda: x.add_(1))
        use(1, lambda: y.copy_(x), lambda: y.fill_(1))
        use(2, lambda: z.copy_(y), lambda: None)
        torch.npu.synchronize()
        print(z.sum().item())
    """
    done = explore(tmp_path, program, how="explore:0,4")
    assert done.returncode == 1, done.stderr
    assert done.stdout == "64.0\n"
    assert "aclnnInplaceCopy on stream 3 before aclnnInplaceAdds on stream 2 and " in done.stderr

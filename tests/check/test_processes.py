"""An operator's effect on its process is reported as such, and others are still checked."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from opwright.check.as_json import record_from_text, sample_as_json
from opwright.check.processes.channel import BrokenChannelError, Channel
from opwright.check.processes.ended import LOST_CHANNEL, describe_exit
from opwright.check.processes.limits import Family, descendants
from opwright.check.processes.lost import Cell, Traces, is_at, judge_lost, last_line, mark, where
from opwright.check.processes.note import Note
from opwright.check.processes.pool import MOST_HUNG, Slot, give_up
from opwright.check.processes.tail import Tail
from opwright.kit.declare.sample import sample, tensor
from tests.check.commands import HERE, LIMIT, check, check_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.outcome import Outcome

ENDING = HERE / "ending" / "operators.py"
KERNELS = HERE / "ending" / "kernels.cpp"


def constant(name: str) -> Any:  # noqa: ANN401 - any literal
    """Return a constant of the file with the operators, which only the twin can run."""
    for node in ast.parse(ENDING.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise KeyError(name)


HANGING = sorted(name for name, (status, *_) in constant("ENDS").items() if status == "hung")
OTHERS = sorted({*constant("ENDS"), *constant("SPOILS"), "sound"} - {*HANGING})


Ended: TypeAlias = tuple[dict[str, "Outcome"], int, str]


@pytest.fixture(scope="module")
def outcomes() -> Ended:
    """Return the outcomes of all operators that end their process, by name, and how it ended.

    Those that hang are given up soon; the others have the time that a busy machine takes, and less
    than the command has. A fixture: where the command fails, each test has its error at once.
    """
    found: dict[str, Outcome] = {}
    codes = []
    texts = []
    with TemporaryDirectory() as folder:
        for names, limit, workers in (
            (HANGING, "20", len(HANGING)),  # waiting takes no longer for all of them
            (OTHERS, str(LIMIT // 3), 2),
        ):
            file = Path(folder) / f"{limit}.json"
            done = check(
                *(str(ENDING), "--kernels", str(KERNELS), "--row", "numerics/eager"),
                *(part for name in names for part in ("--op", name)),
                *("--timeout", limit, "--memory-limit", "512M"),
                *("-n", str(workers), "--json", str(file)),
            )
            assert file.exists(), done.stdout + done.stderr
            run = record_from_text(file.read_text(encoding="utf-8"), where=str(file))
            found |= {each.operator.partition("::")[2]: each for each in run.outcomes}
            codes.append(done.returncode)
            texts.append(done.stdout + done.stderr)
    return found, max(codes), "".join(texts)


@pytest.mark.twin
@pytest.mark.parametrize("name", constant("ENDS"))
def test_what_ends_a_process_is_reported(name: str, outcomes: Ended) -> None:
    found, code, _ = outcomes
    status, *texts = constant("ENDS")[name]
    outcome = found[name]
    reported = f"{outcome.reason}\n{outcome.details.get('output')}"
    assert outcome.status == status, reported
    assert not [text for text in texts if text not in reported], reported
    assert outcome.findings[0].sample is not None
    assert "ending/operators.py" in outcome.findings[0].place
    assert code == 1


@pytest.mark.twin
@pytest.mark.parametrize("name", [*constant("SPOILS"), "sound"])
def test_what_comes_after_finds_a_clean_process(name: str, outcomes: Ended) -> None:
    outcome = outcomes[0][name]
    assert outcome.status == "passed", outcome


@pytest.mark.twin
def test_all_operators_are_reported_and_prints_are_not_among_it(outcomes: Ended) -> None:
    found, _, text = outcomes
    assert {*HANGING, *OTHERS} == set(found)
    assert "****" not in text
    assert "about to abort" in found["aborts"].details["output"]
    assert "in loops_kernel" in found["loops"].details["stacks"]


@pytest.mark.twin
def test_ctrl_c_ends_all_and_prints_what_was_found(tmp_path: Path) -> None:
    # Of a background job, the command would inherit that SIGINT is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command = check_process(
            *(str(ENDING), "--kernels", str(KERNELS), "--op", "exits", "--op", "loops"),
            *("--row", "numerics/eager", "-n", "1", "--timeout", "3600"),
            TMPDIR=str(tmp_path),
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        assert command.stderr is not None
        lines = []
        for line in command.stderr:  # until the first operator is done; the second never is
            lines.append(line)
            if "ending::exits" in line:
                break
        started = list(descendants(command.pid))
        command.send_signal(signal.SIGINT)
        out, error = command.communicate(timeout=LIMIT)
    finally:
        command.kill()
    assert command.returncode == 130, [*lines, error]
    assert "ending::exits" in out
    assert "interrupted: 1 of 2 cells were run" in error
    assert until(lambda: not any(map(is_alive, started)))
    assert list(tmp_path.glob("opwright-check-*")) == []


@pytest.mark.twin
def test_workers_do_not_outlive_a_killed_command(tmp_path: Path) -> None:
    command = check_process(
        *(str(ENDING), "--kernels", str(KERNELS), "--op", "loops", "--row", "numerics/eager"),
        *("--timeout", "3600"),
        TMPDIR=str(tmp_path),
    )
    try:
        assert until(lambda: len(list(descendants(command.pid))) > 1)
        started = list(descendants(command.pid))
        command.kill()
        assert until(lambda: not any(map(is_alive, started)))
        assert until(lambda: not list(tmp_path.glob("opwright-check-*")))
    finally:
        command.kill()
        command.communicate()


@pytest.mark.twin
def test_a_target_that_ends_the_process_is_reported(tmp_path: Path) -> None:
    target = tmp_path / "target.py"
    target.write_text("import os\nos.abort()\n", encoding="utf-8")
    done = check(str(target), "--row", "schema")
    assert done.returncode == 2
    assert "OPW-C005" in done.stderr
    assert "SIGABRT" in done.stderr
    assert f"{target}:2" in done.stderr


def is_alive(process: int) -> bool:
    """Return whether a process is there, and no zombie."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def until(holds: Callable[[], bool], seconds: float = LIMIT) -> bool:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def channels() -> Iterator[tuple[Channel, Channel]]:
    here, there = map(Channel, socket.socketpair())
    yield here, there
    here.close()
    there.close()


def test_messages_arrive_whole_and_in_order(channels: tuple[Channel, Channel]) -> None:
    here, there = channels
    sent = [{"number": n, "text": "x" * n * 1000} for n in range(5)]
    for each in sent:
        here.send(each)
    assert there.receive() == sent[0]
    assert there.arrived() == sent[1:]
    assert there.arrived() == []
    here.close()
    assert there.receive() is None


@pytest.mark.parametrize("data", [b"no message\n", b"[1]\n", b"\x80\x04\x95\n"])
def test_what_is_no_message_is_refused(data: bytes, channels: tuple[Channel, Channel]) -> None:
    here, there = channels
    here.end.sendall(data)
    with pytest.raises(BrokenChannelError):
        there.receive()


def test_a_note_outlives_who_wrote_it() -> None:
    descriptor = Note.make()
    note = Note(descriptor)
    pid = os.fork()
    if pid == 0:
        Note(descriptor).write("sample(x=tensor(2, 3)) é")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(descriptor)
    assert note.read() == "sample(x=tensor(2, 3)) é"
    note.write("x" * 100_000)
    assert set(note.read()) == {"x"}


def test_a_tail_keeps_both_ends_of_an_endless_text() -> None:
    tail = Tail(100)
    for number in range(10_000):
        tail.add(f"{number}\n".encode())
    text = tail.take()
    assert text.startswith("0\n1\n")
    assert text.endswith("9998\n9999\n")
    assert "bytes left out" in text
    assert len(text) < 200
    assert tail.text() == ""


def test_memory_of_a_process_and_its_children_counts() -> None:
    # Text: a bare interpreter, whose memory is measured.
    code = (
        "import os, sys, time\n"
        "shared = b'x' * (80 << 20)\n"
        "print(flush=True)\n"
        "sys.stdin.readline()\n"
        "child = not os.fork()\n"
        "if not child: sys.stdin.readline()\n"
        "kept = b'x' * (50 << 20)\n"
        "print(flush=True)\n"
        "time.sleep(1000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None

    def go_on() -> None:
        stdin.write("\n")
        stdin.flush()
        stdout.readline()

    try:
        stdout.readline()
        family = Family(process.pid)
        go_on()  # the child has grown before it is seen
        assert 45 << 20 < family.grown() < 75 << 20
        assert family.size == 2
        go_on()
        assert 95 << 20 < family.grown() < 125 << 20
    finally:
        for each in [*descendants(process.pid), process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        process.communicate()
    assert family.grown() == 0


def test_how_a_process_ended_in_words() -> None:
    assert describe_exit(signal.SIGSEGV) == (
        "the process was ended by SIGSEGV (Segmentation fault)"
    )
    assert "memory is short" in describe_exit(signal.SIGKILL)
    assert describe_exit(7 << 8) == "the process exited with code 7"
    assert "file descriptors" in describe_exit(LOST_CHANNEL << 8)
    assert "signal 40" in describe_exit(40)


CELL = Cell(operator="my::twice", row="numerics", column="eager", place="my.py:3")
STACKS = """Thread 0x00007f0000000001 (most recent call first):
  File "/home/me/other.py", line 1 in wait

Current thread 0x00007f0000000002 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/home/me/lib/python3.11/site-packages/my_ops/kernels.py", line 12 in twice_kernel
  File "/home/me/lib/python3.11/site-packages/torch/_ops.py", line 5 in __call__
"""


def test_the_line_of_user_code_is_found_in_stacks() -> None:
    path = "/home/me/lib/python3.11/site-packages/my_ops/kernels.py"
    assert where(STACKS) == f"at {path}:12, in twice_kernel"
    assert where("") == ""


def test_the_last_words_of_a_program_in_cpp_are_its_exception() -> None:
    printed = (
        "terminate called after throwing an instance of 'c10::Error'\n  what():  no memory\n#0 f"
    )
    assert last_line(printed) == "uncaught exception: no memory"


def test_a_lost_cell_tells_sample_place_and_last_words() -> None:
    given = json.dumps(sample_as_json(sample(x=tensor(2))))
    note = mark("my::twice", "numerics", "eager", given)
    assert is_at(note, CELL)
    assert not is_at(mark("my::twice", "numerics", "other"), CELL)
    traces = Traces(note=note, printed="hello\n\n", stacks=STACKS)
    outcome = judge_lost(CELL, "crashed", "the process exited with code 3", traces, seconds=1.0)
    assert outcome.reason.splitlines() == [
        "the process exited with code 3, in sample(x=tensor(2))",
        where(STACKS),
        "it printed last: hello",
    ]
    assert outcome.samples == ("sample(x=tensor(2))",)
    assert [each.kind.name for each in outcome.findings] == ["crashed"]
    assert outcome.details == {"stacks": STACKS, "output": "hello\n\n"}


@pytest.mark.parametrize("note", ["", mark("my::twice", "numerics", "eager", '[["x", {"ten')])
def test_a_cell_that_is_lost_before_its_first_sample_has_none(note: str) -> None:
    traces = Traces(note=note, printed="", stacks="")
    outcome = judge_lost(CELL, "hung", "it was not done within 5 s", traces, seconds=5.0)
    assert (outcome.samples, outcome.findings) == ((), ())
    assert outcome.reason == "it was not done within 5 s"


def test_an_operator_that_hangs_again_and_again_is_given_up() -> None:
    slot = Slot(hung=MOST_HUNG, lost=MOST_HUNG)
    slot.cells.extend([CELL, CELL])
    given = [each.outcome for each in give_up(slot)]
    assert [each.status for each in given] == ["blocked", "blocked"]
    assert given[0].reason == "not run: of the cells before it, 2 hung"
    assert not slot.cells

"""Errors that a program does not ask for, and the variables of CANN's log.

Nothing here imports torch: the programs call the runtime by themselves.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.twin import on_twin
from tests.twin.log_lines import LINE, begin, library, logged, malloc

pytestmark = pytest.mark.twin

OF_NO_BYTES = "aclrtMalloc: cannot allocate 0 bytes"


def fail() -> None:
    assert malloc(begin(), 0) == 107000


def test_an_error_that_nobody_asked_for_is_written_at_the_end() -> None:
    stdout, stderr = logged(fail)
    assert stdout == []
    (line,) = stderr
    assert (line["level"], line["module"], line["place"]) == ("ERROR", "RUNTIME", "opwright:107000")
    assert line["message"] == OF_NO_BYTES
    assert line["thread"] == line["pid"]


def fail_and_ask(question: str, *arguments: int) -> None:
    acl = begin()
    malloc(acl, 0)
    acl[question](*arguments)


@pytest.mark.parametrize(
    "question", [("aclGetRecentErrMsg",), ("aclrtGetLastError", 0)], ids=lambda each: each[0]
)
def test_an_error_that_was_asked_for_is_not_written(question: tuple[object, ...]) -> None:
    assert logged(fail_and_ask, *question) == ([], [])


def fail_twice_and_ask() -> None:
    acl = begin()
    malloc(acl, 0)
    acl.aclrtFree(None)
    acl.aclGetRecentErrMsg()


def test_an_error_is_lost_when_the_next_one_comes() -> None:
    _, stderr = logged(fail_twice_and_ask)
    assert [line["message"] for line in stderr] == [OF_NO_BYTES]


def repeat_one_error() -> None:
    acl = begin()
    for _ in range(100):
        malloc(acl, 0)


def make_many_errors() -> None:
    acl = begin()
    for address in range(100):
        acl.aclrtFree(ctypes.c_void_p(address))


def test_a_loop_does_not_bury_the_rest() -> None:
    _, stderr = logged(repeat_one_error)
    assert len(stderr) == 1
    _, stderr = logged(make_many_errors)
    assert len(stderr) == 21
    assert "more errors" in stderr[-1]["message"]


def fail_in_threads() -> None:
    acl = begin()
    for address in (16, 32):
        thread = threading.Thread(target=acl.aclrtFree, args=(ctypes.c_void_p(address),))
        thread.start()
        thread.join()
        while Path(f"/proc/self/task/{thread.native_id}").exists():
            time.sleep(0.001)  # join returns before the thread's destructors ran
    malloc(acl, 0)
    os._exit(0)  # nothing is written any more


def test_a_thread_s_error_is_written_when_it_ends() -> None:
    """Not at the end of the process, by when another thread may have its number."""
    _, stderr = logged(fail_in_threads)
    assert [line["message"].split(":")[1] for line in stderr] == [
        " cannot free 0x10",
        " cannot free 0x20",
    ]


def fail_and_fork_and_fail() -> None:
    acl = begin()
    malloc(acl, 0)
    if os.fork() == 0:
        malloc(acl, 0)
        os._exit(0)
    os.wait()


def fail_and_fork() -> None:
    malloc(begin(), 0)
    if os.fork() == 0:
        sys.exit()
    os.wait()


def test_a_forked_child_leaves_its_parent_s_errors_to_it() -> None:
    _, stderr = logged(fail_and_fork)
    assert len(stderr) == 1


def test_every_error_goes_to_standard_output_if_wanted() -> None:
    stdout, stderr = logged(fail_and_ask, "aclGetRecentErrMsg", ASCEND_SLOG_PRINT_TO_STDOUT="1")
    assert stderr == []
    assert [line["message"] for line in stdout] == [OF_NO_BYTES]


def write_a_line() -> None:
    begin().aclAppLog(3, b"f", b"a.cpp", 7, b"text")


def fail_and_write_a_line() -> None:
    acl = begin()
    malloc(acl, 0)
    acl.aclAppLog(3, b"f", b"a.cpp", 7, b"text")


@pytest.mark.parametrize("to_stdout", ["0", "1"])
def test_level_4_is_silent(to_stdout: str) -> None:
    variables = {"ASCEND_GLOBAL_LOG_LEVEL": "4", "ASCEND_SLOG_PRINT_TO_STDOUT": to_stdout}
    assert logged(fail_and_write_a_line, **variables) == ([], [])


def write_a_line_of_each_level() -> None:
    acl = begin()
    for level in range(4):
        acl.aclAppLog(level, b"step", b"main.cpp", 7, b"%d of %s", level, b"4")


@pytest.mark.parametrize(("level", "kept"), [("0", 4), ("1", 3), ("2", 2), ("3", 1)])
def test_a_program_s_own_lines(level: str, kept: int) -> None:
    variables = {"ASCEND_GLOBAL_LOG_LEVEL": level}
    _, stderr = logged(write_a_line_of_each_level, **variables)
    names = ["DEBUG", "INFO", "WARNING", "ERROR"]
    assert [line["level"] for line in stderr] == names[-kept:]
    assert (stderr[-1]["module"], stderr[-1]["place"]) == ("APP", "main.cpp:7")
    assert stderr[-1]["message"] == "step: 3 of 4"
    variables |= {"ASCEND_SLOG_PRINT_TO_STDOUT": "1"}
    stdout, _ = logged(write_a_line_of_each_level, **variables)
    assert len(stdout) == kept


def test_a_program_s_own_lines_need_a_variable() -> None:
    assert logged(write_a_line) == ([], [])


@pytest.mark.parametrize("question", ["aclGetRecentErrMsg", None])
def test_every_error_goes_to_a_file_of_the_process_if_a_folder_is_named(
    question: str | None, tmp_path: Path
) -> None:
    program = (fail_and_ask, question) if question else (fail_and_write_a_line,)
    folder = str(tmp_path / "new" / "log")
    assert logged(*program, ASCEND_PROCESS_LOG_PATH=folder) == ([], [])
    (file,) = Path(folder, "debug", "plog").iterdir()
    assert re.fullmatch(r"plog-\d+_\d{17}\.log", file.name)
    lines = [LINE.fullmatch(line) for line in file.read_text(encoding="utf-8").splitlines()]
    messages = [line["message"] for line in lines if line is not None]
    assert messages == ([OF_NO_BYTES] if question else [OF_NO_BYTES, "f: text"])
    # Standard output goes first.
    stdout, _ = logged(*program, ASCEND_PROCESS_LOG_PATH=folder, ASCEND_SLOG_PRINT_TO_STDOUT="1")
    assert [line["message"] for line in stdout] == messages


def test_a_child_has_a_file_of_its_own(tmp_path: Path) -> None:
    logged(fail_and_fork_and_fail, ASCEND_PROCESS_LOG_PATH=str(tmp_path))
    assert len(list((tmp_path / "debug" / "plog").iterdir())) == 2


def fork_while_a_thread_writes() -> None:
    """Fork often while another thread takes and gives back the log's locks; each child fails."""
    acl = begin()
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            acl.aclAppLog(3, b"f", b"a.cpp", 7, b"text")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(30):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # ends a child that waits for a lock
                malloc(acl, 0)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        thread.join()


def test_a_child_does_not_wait_for_a_lock_of_its_parent_s_threads(tmp_path: Path) -> None:
    logged(fork_while_a_thread_writes, ASCEND_PROCESS_LOG_PATH=str(tmp_path))
    files = list((tmp_path / "debug" / "plog").iterdir())
    assert len(files) == 31
    assert sum("aclrtMalloc: " in file.read_text(encoding="utf-8") for file in files) == 30


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = on_twin.python(
        "-c", on_twin.call_of(fail, ()), ASCEND_PROCESS_LOG_PATH=str(tmp_path / "file")
    )
    first, second = done.stderr.splitlines()
    assert re.match(r"opwright: ASCEND_PROCESS_LOG_PATH: cannot write .*/plog-", first)
    assert second.endswith(OF_NO_BYTES)


def print_the_refusal() -> None:
    """Print the status of the initialisation, and its message."""
    acl = library()
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    sys.stdout.write(f"{acl.aclInit(None)} {acl.aclGetRecentErrMsg().decode()}\n")


def test_wrong_values_are_refused() -> None:
    done = on_twin.python(
        "-c", on_twin.call_of(print_the_refusal, ()), ASCEND_SLOG_PRINT_TO_STDOUT="true"
    )
    assert "100000 aclInit: environment variable ASCEND_SLOG_PRINT_TO_STDOUT='true'" in done.stdout

"""Errors that a program does not ask for, and the variables of CANN's log."""

from __future__ import annotations

import re
import textwrap

import pytest

from opwright.twin.toolkit import installed_toolkit
from tests.twin import on_twin

pytestmark = pytest.mark.twin

# [ERROR] RUNTIME(pid,process):2026-11-27-03:20:00.123.456 [place]thread function: message
LINE = re.compile(
    r"\[(?P<level>\w+)\] (?P<module>\w+)\((?P<pid>\d+),python[\d.]*\):"
    r"\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3} "
    r"\[(?P<place>[^\]]+)\](?P<thread>\d+) (?P<message>.*)"
)

CALLS = f"""
    import ctypes
    acl = ctypes.CDLL({str(installed_toolkit().libraries / "libascendcl.so")!r})
    pointer = ctypes.c_void_p()
    def malloc(size):
        return acl.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(size), 0)
    assert acl.aclInit(None) == 0
    assert acl.aclrtSetDevice(0) == 0
"""


def logged(script: str, **variables: str) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """Run calls of libascendcl; return the lines of the log in stdout and in stderr."""
    done = on_twin.python("-c", textwrap.dedent(CALLS) + textwrap.dedent(script), **variables)
    assert done.returncode == 0, done.stderr
    matches = [
        [LINE.fullmatch(line) for line in out.splitlines()] for out in (done.stdout, done.stderr)
    ]
    assert all(match is not None for lines in matches for match in lines), done
    stdout, stderr = ([match for match in lines if match is not None] for lines in matches)
    return stdout, stderr


def test_an_error_that_nobody_asked_for_is_written_at_the_end() -> None:
    stdout, stderr = logged("assert malloc(0) == 107000")
    assert stdout == []
    (line,) = stderr
    assert (line["level"], line["module"], line["place"]) == ("ERROR", "RUNTIME", "opwright:107000")
    assert line["message"] == "aclrtMalloc: cannot allocate 0 bytes"
    assert line["thread"] == line["pid"]


@pytest.mark.parametrize("question", ["aclGetRecentErrMsg()", "aclrtGetLastError(0)"])
def test_an_error_that_was_asked_for_is_not_written(question: str) -> None:
    assert logged(f"malloc(0)\nacl.{question}") == ([], [])


def test_an_error_is_lost_when_the_next_one_comes() -> None:
    _, stderr = logged(
        """
        malloc(0)
        acl.aclrtFree(None)
        acl.aclGetRecentErrMsg()
        """
    )
    assert [line["message"] for line in stderr] == ["aclrtMalloc: cannot allocate 0 bytes"]


def test_a_loop_does_not_bury_the_rest() -> None:
    _, stderr = logged("for _ in range(100): malloc(0)")
    assert len(stderr) == 1
    _, stderr = logged("for address in range(100): acl.aclrtFree(ctypes.c_void_p(address))")
    assert len(stderr) == 21
    assert "more errors" in stderr[-1]["message"]


def test_a_thread_s_error_is_written_when_it_ends() -> None:
    """Not at the end of the process, by when another thread may have its number."""
    _, stderr = logged(
        """
        import os, sys, threading, time
        def fail(address):
            acl.aclrtFree(ctypes.c_void_p(address))
        for address in (16, 32):
            thread = threading.Thread(target=fail, args=(address,))
            thread.start()
            thread.join()
            while os.path.exists(f"/proc/self/task/{thread.native_id}"):
                time.sleep(0.001)  # join returns before the thread's destructors ran
        malloc(0)
        os._exit(0)  # nothing is written any more
        """
    )
    assert [line["message"].split(":")[1] for line in stderr] == [
        " cannot free 0x10",
        " cannot free 0x20",
    ]


def test_a_forked_child_leaves_its_parent_s_errors_to_it() -> None:
    _, stderr = logged(
        """
        import os, sys
        malloc(0)
        if os.fork() == 0:
            sys.exit()
        os.wait()
        """
    )
    assert len(stderr) == 1


def test_every_error_goes_to_standard_output_if_wanted() -> None:
    stdout, stderr = logged("malloc(0)\nacl.aclGetRecentErrMsg()", ASCEND_SLOG_PRINT_TO_STDOUT="1")
    assert stderr == []
    assert [line["message"] for line in stdout] == ["aclrtMalloc: cannot allocate 0 bytes"]


@pytest.mark.parametrize("to_stdout", ["0", "1"])
def test_level_4_is_silent(to_stdout: str) -> None:
    variables = {"ASCEND_GLOBAL_LOG_LEVEL": "4", "ASCEND_SLOG_PRINT_TO_STDOUT": to_stdout}
    assert logged("malloc(0)\nacl.aclAppLog(3, b'f', b'a.cpp', 7, b'text')", **variables) == (
        [],
        [],
    )


@pytest.mark.parametrize(("level", "kept"), [("0", 4), ("1", 3), ("2", 2), ("3", 1)])
def test_a_program_s_own_lines(level: str, kept: int) -> None:
    script = """
        for level in range(4):
            acl.aclAppLog(level, b"step", b"main.cpp", 7, b"%d of %s", level, b"4")
        """
    _, stderr = logged(script, ASCEND_GLOBAL_LOG_LEVEL=level)
    names = ["DEBUG", "INFO", "WARNING", "ERROR"]
    assert [line["level"] for line in stderr] == names[-kept:]
    assert (stderr[-1]["module"], stderr[-1]["place"]) == ("APP", "main.cpp:7")
    assert stderr[-1]["message"] == "step: 3 of 4"
    stdout, _ = logged(script, ASCEND_GLOBAL_LOG_LEVEL=level, ASCEND_SLOG_PRINT_TO_STDOUT="1")
    assert len(stdout) == kept


def test_a_program_s_own_lines_need_a_variable() -> None:
    assert logged("acl.aclAppLog(3, b'f', b'a.cpp', 7, b'text')") == ([], [])


def test_wrong_values_are_refused() -> None:
    done = on_twin.python(
        "-c",
        textwrap.dedent(CALLS).split("assert")[0]
        + "acl.aclGetRecentErrMsg.restype = ctypes.c_char_p\n"
        + "print(acl.aclInit(None), acl.aclGetRecentErrMsg().decode())",
        ASCEND_SLOG_PRINT_TO_STDOUT="true",
    )
    assert "100000 aclInit: environment variable ASCEND_SLOG_PRINT_TO_STDOUT='true'" in done.stdout


FAILS = """
    x = torch.arange(10.0).npu()
    bad = torch.tensor([10]).npu()
    torch.npu.synchronize()
    torch.index_select(x, 0, bad)
"""


def test_a_failed_task_that_nobody_waited_for_is_written_at_the_end() -> None:
    # A query does not report the failure, unlike a wait.
    done = on_twin.run_fresh(
        FAILS
        + """
    import time
    while not torch.npu.current_stream().query():
        time.sleep(0.01)
    """
    )
    assert "aclnnIndexSelect: index out of range" in done.stderr
    assert done.stderr.count("aclnnIndexSelect") == 1


def test_dumps_that_cannot_be_written_do_not_bury_the_rest() -> None:
    _, stderr = logged(
        """
        from opwright.graph_engine.dumping import DumpedNode
        node = DumpedNode(b"/dev/null/dumps", b"graph", 0, 0, b"Add", b"sum", 0, 0, 0, 0, None)
        for _ in range(30):
            acl.opwright_dump_node(ctypes.byref(node))
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",  # the engine's module imports torch
    )
    assert len(stderr) == 21
    assert "data dump: " in stderr[0]["message"]
    assert "/dev/null/dumps" in stderr[0]["message"]


def test_a_failed_task_that_was_reported_is_not_written_again() -> None:
    done = on_twin.run_fresh(
        FAILS
        + """
    try:
        torch.npu.synchronize()
    except RuntimeError as error:
        assert "aclnnIndexSelect: index out of range" in str(error)
    """
    )
    assert done.returncode == 0, done.stderr
    assert "[ERROR]" not in done.stderr


def test_what_torch_npu_handles_is_not_written() -> None:
    """It asks before it has a device, and frees its cache when there is no memory."""
    done = on_twin.run_fresh(
        """
        x = torch.ones(10).npu()
        for device in range(2):
            kept = []
            try:
                while True:
                    kept.append(torch.empty(16 << 20, device=f"npu:{device}"))
            except torch.OutOfMemoryError:
                pass
            try:
                x + torch.ones(3).npu()
            except RuntimeError:
                pass
        del kept
        torch.npu.empty_cache()
        (x * 2).cpu()
        """,
        OPWRIGHT_MEMORY="256M",
        OPWRIGHT_DEVICES="2",
    )
    assert done.returncode == 0, done.stderr
    assert "[ERROR]" not in done.stderr

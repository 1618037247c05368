"""The compiler's output -> the message to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.kit.packaging.message import CompilerFailure, describe, first_error, operator_of

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
// operators.cpp
at::Tensor scale_npu(const at::Tensor& x) {
  return empty(y);
}

at::Tensor scale_add_npu(const at::Tensor& x) {
  return OWN_MACRO(x);
}
"""
DECLARED = {
    "scale": "my_ops::scale, declared at operators.py:12",
    "scale_add": "my_ops::scale_add, declared at operators.py:30",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sources = tmp_path / "generated" / "csrc"
    sources.mkdir(parents=True)
    (sources / "operators.cpp").write_text(SOURCE)
    return sources


def message_of(folder: Path, output: str, code: int = 1) -> str:
    failure = CompilerFailure(folder / "operators.cpp", ["-c", "operators.cpp"], code, output)
    root = folder.parent.parent
    log = root / "build" / "compile.log"
    return str(
        describe(failure, (folder,), DECLARED, log, lambda path: str(path.relative_to(root)))
    )


def test_an_error_in_a_source(folder: Path) -> None:
    output = (
        f"{folder}/operators.cpp: In function 'at::Tensor scale_npu(const at::Tensor&)':\n"
        f"{folder}/operators.cpp:3:16: error: 'y' was not declared in this scope\n"
        f"{folder}/operators.cpp:7:10: error: another\n"
    )
    assert message_of(folder, output) == (
        "OPW-B012 a generated source cannot be compiled\n"
        "  where:   generated/csrc/operators.cpp:3, operator my_ops::scale, "
        "declared at operators.py:12\n"
        "  got:     'y' was not declared in this scope\n"
        "    1 | // operators.cpp\n"
        "    2 | at::Tensor scale_npu(const at::Tensor& x) {\n"
        "  > 3 |   return empty(y);\n"
        "    4 | }\n"
        "    5 | \n"
        "    6 | at::Tensor scale_add_npu(const at::Tensor& x) {\n"
        "  all messages: build/compile.log\n"
        "  fix:     correct what the error points at in the declaration or in csrc/"
    )


def test_an_error_in_a_header_that_a_source_led_to(folder: Path) -> None:
    output = (
        "In file included from /torch/include/ATen/a.h:7,\n"
        f"                 from {folder}/operators.cpp:1:\n"
        "/torch/include/ATen/b.h: In instantiation of 'f':\n"
        f"{folder}/operators.cpp:7:10:   required from here\n"
        "/torch/include/ATen/b.h:99:1: error: static assertion failed: no such type\n"
    )
    text = message_of(folder, output)
    assert "generated/csrc/operators.cpp:7, operator my_ops::scale_add" in text
    assert "static assertion failed: no such type\n  (found in /torch/include/ATen/b.h:99)" in text


def test_a_missing_header(folder: Path) -> None:
    output = f"{folder}/operators.cpp:1:10: fatal error: nothing.h: No such file or directory\n"
    found = first_error(output, (folder,), folder)
    assert found is not None
    assert (found.line, found.text) == (1, "nothing.h: No such file or directory")


@pytest.mark.parametrize(
    ("output", "got", "fix"),
    [
        (
            "g++: fatal error: Killed signal terminated program cc1plus\n",
            "Killed signal",
            "free memory, or run fewer compilers at a time: -j 1",
        ),
        (
            "operators.s: fatal error: error writing to a.s: No space left on device\n",
            "No space left on device",
            "free space on the disk, or set XDG_CACHE_HOME and TMPDIR",
        ),
        ("strange\nwords\n", "strange", "read build/compile.log, which begins with the command"),
        ("", "no message", "read build/compile.log, which begins with the command"),
    ],
)
def test_failures_that_no_line_caused(folder: Path, output: str, got: str, fix: str) -> None:
    assert message_of(folder, output) == (
        "OPW-B012 a generated source cannot be compiled\n"
        "  where:   generated/csrc/operators.cpp\n"
        f"  got:     {got} (exit code 1; all messages: build/compile.log)\n"
        f"  fix:     {fix}"
    )


@pytest.mark.parametrize(
    ("line", "operator"),
    [(1, None), (2, "scale"), (4, "scale"), (6, "scale_add"), (8, "scale_add")],
)
def test_operator_of(line: int, operator: str | None) -> None:
    assert operator_of(SOURCE.splitlines(), line, DECLARED) == operator

"""Compile Ascend C that libacl_rtc holds in memory to a device binary for this CPU.

The library (native/ascendc/rtc) writes a folder, calls the driver with its name, and reads the
result; a binary is a shared library with a table of its kernels
(native/runtime/device_binary/interface.h). Messages go to stderr, which is the log of the program.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from opwright.ascendc.errors import CompilerOptionError
from opwright.ascendc.kernel_functions import PREPROCESSING, find_kernels, kernel_named
from opwright.ascendc.local_arrays import rewrite_local_arrays
from opwright.ascendc.options import Output, Request, parse_options
from opwright.ascendc.toolchain import (
    COMPILING,
    DEFAULT_ARCHITECTURE,
    find_compiler,
    list_include_options,
    list_link_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from opwright.ascendc.kernel_functions import KernelFunction
    from opwright.twin.toolkit import Toolkit

__all__ = ["RUNTIME_COMPILATION", "compile_program"]

# The word with which libacl_rtc calls the driver; the folder is behind it.
RUNTIME_COMPILATION = "--opwright-runtime-compilation"
NAME_EXPRESSIONS = "name expressions"  # the file that messages about them name
# A kernel is one of a binary's, whatever another one has under its name.
BINARY = ("-fPIC", "-fno-gnu-unique")
OPTIONS = "the options of aclrtcCompileProg"
UNKNOWN_OPTION = "unrecognized command-line option"


class Outcome(IntEnum):
    """The exit code; native/ascendc/rtc/program.cpp has the code of CANN for each."""

    DONE = 0
    COMPILATION = 2
    LINKING = 3
    INVALID_OPTION = 4
    INVALID_NAME = 5


@dataclass(frozen=True, slots=True)
class Program:
    """The program in a folder: `source`, `name`, `include/`, and `options` and `expressions`."""

    folder: Path

    def read(self, part: str) -> str:
        """Return one part."""
        return (self.folder / part).read_text(encoding="utf-8", errors="surrogateescape")

    def words(self, part: str) -> list[str]:
        """Return the texts of a part, each of which a zero ends."""
        return self.read(part).split("\0")[:-1]


def compile_program(folder: Path, toolkit: Toolkit) -> int:
    """Compile the program of a folder to `binary` in it.

    Returns
    -------
    int
        An Outcome.
    """
    program = Program(folder)
    try:
        request = parse_program_options(program.words("options"))
    except CompilerOptionError as error:
        sys.stderr.write(f"{error}\n")
        return Outcome.INVALID_OPTION
    compiler = [
        *find_compiler(os.environ),
        *COMPILING,
        *BINARY,
        *list_include_options(toolkit, request.architecture or DEFAULT_ARCHITECTURE),
        *("-include", "device_binary.h"),
        *("-iquote", str(folder / "include"), "-I", str(folder / "include")),
        *request.compiling,
    ]
    source = folder / "program.cpp"
    text = f"# 1 {quote(program.read('name'))}\n" + rewrite_local_arrays(program.read("source"))
    write(source, text)
    listing = run([*compiler, PREPROCESSING, "-E", "-x", "c++", str(source)])
    if listing.returncode:
        return report(listing.stderr)
    kernels, kinds = find_kernels(listing.stdout)
    named = [kernel_named(expression, kinds) for expression in program.words("expressions")]
    write(source, text + table_of([*named, *kernels]))
    compiled = run([*compiler, "-c", "-x", "c++", str(source), "-o", str(folder / "program.o")])
    if compiled.returncode:
        return report(compiled.stderr)
    sys.stderr.write(compiled.stderr)
    linked = run(
        [
            *find_compiler(os.environ),
            *("-shared", "-Wl,-Bsymbolic", "-o", str(folder / "binary"), str(folder / "program.o")),
            *request.linking,
            *list_link_options(toolkit),
        ]
    )
    sys.stderr.write(linked.stderr)
    return Outcome.LINKING if linked.returncode else Outcome.DONE


def parse_program_options(options: Sequence[str]) -> Request:
    """Read the options of aclrtcCompileProg.

    Raises
    ------
    CompilerOptionError
        OPW-A002: an option that the compiler does not have here, or one that names files.
    """
    request = parse_options([*options])
    inputs = [str(source.path) for source in request.sources]
    inputs += [word for word in request.linking if not word.startswith("-")]
    if request.name is not None:
        raise CompilerOptionError(where=OPTIONS, got=f"-o {request.name}")
    if request.output is not Output.PROGRAM:
        raise CompilerOptionError(where=OPTIONS, got=request.output.value)
    if inputs:
        raise CompilerOptionError(
            where=OPTIONS,
            got=f"the file {inputs[0]}",
            fix="give headers to aclrtcCreateProg",
        )
    return request


def report(messages: str) -> Outcome:
    """Write the messages of a failed compilation; return what they are about."""
    sys.stderr.write(messages)
    if UNKNOWN_OPTION in messages:
        return Outcome.INVALID_OPTION
    first = next((line for line in messages.splitlines() if ": error:" in line), "")
    return Outcome.INVALID_NAME if first.startswith(NAME_EXPRESSIONS) else Outcome.COMPILATION


def table_of(kernels: Sequence[KernelFunction]) -> str:
    """Return the definition of the table, in C++."""
    unique = {kernel.expression: kernel for kernel in kernels}
    lines = [
        "",
        f'# 1 "{NAME_EXPRESSIONS}"',
        *(
            f"static const opwright_device_function_t opwright_kernel_{index} = "
            f"::AscendC::machine::DeviceFunction<({kernel.expression})>::describe("
            f"{quote(kernel.expression)}, {quote(kernel.name)}, "
            f"::AscendC::machine::KernelKind::{kernel.kind});"
            for index, kernel in enumerate(unique.values())
        ),
        *TABLE.format(
            count=len(unique),
            functions=", ".join(f"opwright_kernel_{index}" for index in range(len(unique))) or "{}",
        ).splitlines(),
        "",
    ]
    return "\n".join(lines)


TABLE = """\
# 1 "device binary"
static const opwright_device_function_t opwright_device_functions[] = {{{functions}}};
extern "C" __attribute__((visibility("default")))
const opwright_device_binary_t opwright_device_binary = {{
    sizeof(opwright_device_binary_t), {count}, opwright_device_functions,
    ::AscendC::machine::launch_device_function,
    [] {{ ::AscendC::machine::forget_library(&opwright_device_binary); }}}};
"""


def quote(text: str) -> str:
    """Return a text as C++ has it between quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def write(path: Path, text: str) -> None:
    """Write a source."""
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program and keep what it writes."""
    return subprocess.run(
        command,
        check=False,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        env={**os.environ, "LC_ALL": "C"},  # messages are read
    )

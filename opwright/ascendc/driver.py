"""The Ascend C compiler: `bisheng` of the toolkit. Kernels and host code become code for this CPU.

An .asc file is C++ with launches. They are rewritten, g++ compiles the rest against the headers in
native/ascendc/kernel, and the result is linked with the runtime that runs kernels on streams.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.ascendc.errors import CompilerOptionError
from opwright.ascendc.launches import has_launches, rewrite_launches
from opwright.ascendc.local_arrays import rewrite_local_arrays
from opwright.ascendc.options import Language, Output, Request, Source, parse_options
from opwright.ascendc.runtime_compilation import RUNTIME_COMPILATION, compile_program
from opwright.ascendc.toolchain import (
    COMPILING,
    DEFAULT_ARCHITECTURE,
    cores,
    find_compiler,
    list_include_options,
    list_link_options,
)
from opwright.errors import OpwrightError
from opwright.twin.toolkit import installed_toolkit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.twin.toolkit import Toolkit

__all__ = ["compile_and_link", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the compiler as a command; return its exit code: 1 for a refused source or option."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if not words or {"--help", "-help"} & {*words}:
            sys.stdout.write(HELP)
            return 0
        if "--version" in words:
            sys.stdout.write("bisheng of opwright: Ascend C for this CPU\n")
            return 0
        if words[0] == RUNTIME_COMPILATION:
            return compile_program(Path(words[1]), installed_toolkit())
        return compile_and_link(parse_options(words), installed_toolkit())
    except (OpwrightError, OSError) as error:
        sys.stderr.write(f"bisheng: error: {error}\n")
        return 1


HELP = """\
usage: bisheng FILE... -o OUTPUT --npu-arch=dav-2201 [-c | -dc | -shared | -lib] [-x asc]
               [options of g++]

Compiles Ascend C (.asc) for this CPU, to run on opwright's twin. The file is the vendor's; the
options that have no meaning on a CPU are taken and do nothing. See docs/ascend_c.md.
"""


def compile_and_link(request: Request, toolkit: Toolkit) -> int:
    """Do what a command line asks for; the compiler's messages go to stderr.

    Raises
    ------
    LaunchSyntaxError, CompilerOptionError
        OPW-A001, OPW-A002.
    """
    missing = [str(source.path) for source in request.sources if not source.path.is_file()]
    if missing:
        raise CompilerOptionError(
            where="the command line",
            got=f"{', '.join(missing)}: no such file",
            fix="name sources that exist",
        )
    with tempfile.TemporaryDirectory(prefix="opwright-asc-") as folder:
        work = Work(request, toolkit, Path(folder))
        if request.output in {Output.OBJECT, Output.PREPROCESSED}:
            return max(work.compile_apart(), default=0)
        objects = [work.folder / f"{index}.o" for index in range(len(request.sources))]
        with ThreadPoolExecutor(cores()) as pool:
            codes = [*pool.map(work.compile, request.sources, objects)]
        return max(codes, default=0) or work.link(objects)


class Work:
    """One run of the compiler."""

    def __init__(self, request: Request, toolkit: Toolkit, folder: Path) -> None:
        self.request, self.toolkit, self.folder = request, toolkit, folder
        self.compiler = find_compiler(os.environ)

    def compile_apart(self) -> list[int]:
        """Compile each source to a file of its own, as -c does."""
        request = self.request
        if request.output is Output.PREPROCESSED:
            return [self.compile(source, request.name) for source in request.sources]
        return [
            self.compile(source, request.name or Path(source.path.stem + ".o"))
            for source in request.sources
        ]

    def compile(self, source: Source, target: Path | None) -> int:
        """Compile one source."""
        step = "-E" if self.request.output is Output.PREPROCESSED else "-c"
        place = [] if target is None else ["-o", str(target)]
        position = ["-fPIC"] if self.request.output in {Output.SHARED, Output.STATIC} else []
        if source.language is Language.CPP:
            return run([*self.compiler, *self.request.compiling, *position, step, *place,
                        "-x", "c++", str(source.path)])  # fmt: skip
        architecture = self.request.architecture or DEFAULT_ARCHITECTURE
        path = self.rewritten(source.path)
        code = run(
            [
                *self.compiler,
                *COMPILING,
                *position,
                *list_include_options(self.toolkit, architecture),
                *("-iquote", str(source.path.resolve().parent)),
                *self.request.compiling,
                *(step, *place, "-x", "c++", str(path)),
            ]
        )
        rule = dependency_rule(self.request.compiling, target)
        if code != 0:
            sys.stderr.write("bisheng: note: docs/ascend_c_api.md lists the API of Ascend C here\n")
        if code == 0 and path != source.path and rule is not None and rule.is_file():
            text = rule.read_text(encoding="utf-8", errors="surrogateescape")
            text = text.replace(in_rule(path), in_rule(source.path))
            rule.write_text(text, encoding="utf-8", errors="surrogateescape")
        return code

    def rewritten(self, path: Path) -> Path:
        """Return a file in plain C++, whose messages name the user's file."""
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        plain = rewrite_local_arrays(text)
        if has_launches(plain):
            plain = rewrite_launches(plain, where=str(path))
        if plain == text:
            return path
        target = Path(tempfile.mkdtemp(dir=self.folder)) / path.name
        name = str(path).replace("\\", "\\\\").replace('"', '\\"')
        target.write_text(f'# 1 "{name}"\n{plain}', encoding="utf-8", errors="surrogateescape")
        return target

    def link(self, objects: list[Path]) -> int:
        """Link what was compiled with the runtime of kernels."""
        request = self.request
        if request.output is Output.STATIC:
            archive = request.name or Path("liba.a")
            archive.unlink(missing_ok=True)
            return run(["ar", "rcs", str(archive), *map(str, objects)])
        shared = ["-shared"] if request.output is Output.SHARED else []
        name = ["-o", str(request.name)] if request.name else []
        flags = [flag for flag in request.compiling if flag.startswith(("-f", "-g", "-O", "-m"))]
        return run(
            [*self.compiler, *shared, *flags, *name, *map(str, objects), *request.linking,
             *list_link_options(self.toolkit)]
        )  # fmt: skip


def dependency_rule(options: Sequence[str], target: Path | None) -> Path | None:
    """Return the file in which g++ says what an object depends on, if it is asked to."""
    if "-MF" in options:
        return Path(options[options.index("-MF") + 1])
    return target.with_suffix(".d") if target is not None and {"-MD", "-MMD"} & {*options} else None


def in_rule(path: Path) -> str:
    """Return a path as rules for make have it."""
    return str(path).replace(" ", "\\ ")


def run(command: list[str]) -> int:
    """Run a program; its messages are the user's."""
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

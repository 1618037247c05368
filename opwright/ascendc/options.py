"""The command line of the Ascend C compiler -> what g++ is asked for.

The names are those of the vendor's driver: `bisheng add.asc -o add --npu-arch=dav-2201`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.ascendc.errors import CompilerOptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ARCHITECTURES", "Language", "Output", "Request", "Source", "parse_options"]

# The name of an architecture -> the number that kernels see as __NPU_ARCH__.
ARCHITECTURES = {"dav-2201": 2201, "dav-c220": 2201}
SOCS = {"ascend910b": "dav-2201", "ascend910_93": "dav-2201"}


class Language(Enum):
    """The language that a source is compiled as; the value is the word behind -x."""

    ASCEND_C = "asc"
    CPP = "c++"
    OBJECT = "none"


class Output(Enum):
    """The output of a compilation."""

    PREPROCESSED = "-E"
    OBJECT = "-c"
    SHARED = "-shared"
    STATIC = "-lib"
    PROGRAM = ""


@dataclass(frozen=True, slots=True)
class Source:
    """An input file."""

    path: Path
    language: Language


@dataclass(slots=True, kw_only=True)
class Request:
    """A command line, understood.

    Parameters
    ----------
    compiling, linking
        Options for the compiler proper and for the link, in their order; libraries and objects
        stay among each other, since their order matters to the linker.
    """

    sources: list[Source] = field(default_factory=list)
    output: Output = Output.PROGRAM
    name: Path | None = None
    architecture: int | None = None
    compiling: list[str] = field(default_factory=list)
    linking: list[str] = field(default_factory=list)


# The next word belongs to these.
OF_COMPILER = {"-I", "-D", "-U", "-include", "-isystem", "-iquote", "-MF", "-MT", "-MQ", "-imacros"}
OF_LINKER = {"-L", "-l", "-Xlinker", "-T", "-z", "-u"}
FOR_LINKER = ("-L", "-l", "-Wl,", "-static", "-nostdlib")  # and what follows
FOR_LINKER_ALONE = {"-rdynamic", "-pie", "-no-pie", "-s"}  # -std= begins with one of them
SUFFIXES = {
    ".asc": Language.ASCEND_C,
    ".cpp": Language.CPP,
    ".cc": Language.CPP,
    ".cxx": Language.CPP,
    ".c": Language.CPP,
}
OUTPUTS = {
    "-E": Output.PREPROCESSED,
    "-c": Output.OBJECT,
    "-dc": Output.OBJECT,  # device code is linked as other code is
    "-shared": Output.SHARED,
    "--shared": Output.SHARED,
    "-lib": Output.STATIC,
    "--cce-build-static-lib": Output.STATIC,
}
# Options that change how code for an NPU is made and have no meaning on a CPU. The next word
# belongs to those of the second set.
WITHOUT_MEANING = (
    "--cce-auto-sync",
    "--cce-res-usage",
    "--cce-simd-vf-fusion",
    "--cce-mask-opt",
    "--cce-disable-asc-reserved-ubuf",
    "--cce-disable-vf-stack-reserved-ubuf",
    "--cce-disable-kernel-global-attr-check",
    "--cce-ignore-always-inline",
    "--cce-no-dcache-flush",
    "--cce-aicore-record-overflow",
    "--gcc-toolchain",
    "--sanitizer",  # kernel checks are a switch of the program that runs
    "-lineinfo",
)
PAIRS_WITHOUT_MEANING = {"-mllvm", "-Xclang"}
REFUSED = {
    "--enable-simt": "SIMT kernels are not supported",
    "--run-mode": "programs run on the twin instead of the simulator",
    "--cce-aicpu": "AI CPU kernels are not supported",
    "--cce-host-only": "host and kernel are compiled together",
    "--cce-aicore-only": "host and kernel are compiled together",
}


def parse_options(arguments: Sequence[str]) -> Request:
    """Read a command line.

    Raises
    ------
    CompilerOptionError
        OPW-A002: an option or architecture that cannot be had on a CPU.
    """
    request = Request()
    language: Language | None = None
    words = iter(arguments)
    for word in words:
        if word in OUTPUTS:
            request.output = OUTPUTS[word]
        elif word == "-o":
            request.name = Path(take_following(word, words))
        elif word.startswith("-x"):
            language = language_of(word[2:] or take_following(word, words))
        elif word.startswith("--npu-arch"):
            request.architecture = architecture_of(value_of(word, words))
        elif word.startswith("--npu-soc"):
            request.architecture = request.architecture or soc_of(value_of(word, words))
        elif word in PAIRS_WITHOUT_MEANING:
            take_following(word, words)
        elif word.startswith("-") and word != "-":
            add_option(request, word, words)
        else:
            add_input(request, Path(word), language)
    check_sources(request)
    return request


def check_sources(request: Request) -> None:
    """Raise unless there is a source for each file that is to be made without a link."""
    if request.output not in {Output.OBJECT, Output.PREPROCESSED}:
        return
    if not request.sources:
        raise CompilerOptionError(
            where="the command line",
            got=f"{request.output.value} without a source",
            allowed=SUFFIXES,
            fix="name the sources",
        )
    if request.name is not None and len(request.sources) > 1:
        raise CompilerOptionError(
            where="the command line",
            got=f"-o {request.name} and {request.output.value} with {len(request.sources)} sources",
            fix="compile them one by one, or leave -o out",
        )


def add_option(request: Request, word: str, words: Iterator[str]) -> None:
    """Sort in an option that g++ gets, or that has no meaning."""
    name = word.partition("=")[0]
    for refused, why in REFUSED.items():
        if name == refused or (refused == "--cce-aicpu" and name.startswith(refused)):
            raise CompilerOptionError(where="the command line", got=f"{word}: {why}")
    if name.startswith(WITHOUT_MEANING):
        return
    if name.startswith(("--cce-", "--npu-")):
        raise CompilerOptionError(where="the command line", got=word)
    if word in OF_COMPILER:
        request.compiling += [word, take_following(word, words)]
    elif word in OF_LINKER:
        request.linking += [word, take_following(word, words)]
    elif word in FOR_LINKER_ALONE or word.startswith(FOR_LINKER):
        request.linking.append(word)
    else:
        request.compiling.append(word)


def add_input(request: Request, path: Path, language: Language | None) -> None:
    """Sort in a file: what is not compiled goes to the linker."""
    chosen = language or SUFFIXES.get(path.suffix, Language.OBJECT)
    if path.suffix == ".aicpu":
        raise CompilerOptionError(where=str(path), got=REFUSED["--cce-aicpu"])
    if chosen is Language.OBJECT:
        request.linking.append(str(path))
    else:
        request.sources.append(Source(path, chosen))


def take_following(word: str, words: Iterator[str]) -> str:
    """Return the word behind an option."""
    value = next(words, None)
    if value is None:
        raise CompilerOptionError(
            where="the command line", got=f"{word} without a value", fix=f"write {word} VALUE"
        )
    return value


def value_of(word: str, words: Iterator[str]) -> str:
    """Return the value of --option=value or --option value."""
    _, equals, value = word.partition("=")
    return value if equals else take_following(word, words)


def language_of(word: str) -> Language | None:
    """Return the language behind -x."""
    languages = {"asc": Language.ASCEND_C, "c++": Language.CPP, "c": Language.CPP, "none": None}
    if word not in languages:
        raise CompilerOptionError(where="-x", got=word, allowed=languages)
    return languages[word]


def architecture_of(name: str) -> int:
    """Return the number of an architecture."""
    if name not in ARCHITECTURES:
        raise CompilerOptionError(where="--npu-arch", got=name, allowed=ARCHITECTURES)
    return ARCHITECTURES[name]


def soc_of(name: str) -> int:
    """Return the architecture of a chip, for example Ascend910B4."""
    for start, architecture in SOCS.items():
        if name.lower().startswith(start):
            return ARCHITECTURES[architecture]
    raise CompilerOptionError(
        where="--npu-soc", got=name, allowed=("Ascend910B1 … B4", "Ascend910_93…")
    )

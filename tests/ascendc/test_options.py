"""The command line of the Ascend C compiler: opwright/ascendc/options.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.ascendc.errors import CompilerOptionError
from opwright.ascendc.options import Language, Output, Source, parse_options


def test_a_usual_command_line_is_sorted() -> None:
    request = parse_options(
        [
            "-x",
            "asc",
            "--npu-arch=dav-2201",
            "-DN=1",
            "-I",
            "/inc",
            "a.asc",
            "-x",
            "none",
            "b.o",
            "-O3",
            "-shared",
            "-o",
            "libk.so",
            "-lfoo",
            "--cce-auto-sync",
            "--gcc-toolchain=/usr",
            "-L",
            "/lib",
            "-mllvm",
            "-x-y",
            "-fPIC",
            "-Wl,-z,now",
        ]
    )
    assert request.sources == [Source(Path("a.asc"), Language.ASCEND_C)]
    assert request.output is Output.SHARED
    assert request.name == Path("libk.so")
    assert request.architecture == 2201
    assert request.compiling == ["-DN=1", "-I", "/inc", "-O3", "-fPIC"]
    assert request.linking == ["b.o", "-lfoo", "-L", "/lib", "-Wl,-z,now"]


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ("a.asc", Output.PROGRAM),
        ("-c a.asc", Output.OBJECT),
        ("-dc a.asc", Output.OBJECT),
        ("--shared a.asc", Output.SHARED),
        ("-lib a.asc", Output.STATIC),
        ("--cce-build-static-lib a.asc", Output.STATIC),
    ],
)
def test_what_is_made(words: str, output: Output) -> None:
    assert parse_options(words.split()).output is output


@pytest.mark.parametrize(
    ("word", "for_linker"),
    [
        ("-s", True),
        ("-static-libgcc", True),
        ("-std=c++20", False),
        ("-save-temps", False),
        ("-pipe", False),
    ],
)
def test_compiler_and_linker_get_their_options(word: str, *, for_linker: bool) -> None:
    request = parse_options([word, "a.asc"])
    assert (request.compiling, request.linking) == (([], [word]) if for_linker else ([word], []))


def test_suffixes_choose_the_language() -> None:
    request = parse_options(["k.asc", "main.cpp", "old.c", "other.o", "lib.a"])
    assert [source.language for source in request.sources] == [
        Language.ASCEND_C,
        Language.CPP,
        Language.CPP,
    ]
    assert request.linking == ["other.o", "lib.a"]


@pytest.mark.parametrize(
    ("words", "got"),
    [
        ("--npu-arch=dav-3510 a.asc", "dav-3510"),
        ("--npu-soc=Ascend950PR a.asc", "Ascend950PR"),
        ("--enable-simt a.asc", "--enable-simt: SIMT kernels are not supported"),
        ("--run-mode=sim a.asc", "--run-mode=sim"),
        ("--cce-unheard-of a.asc", "--cce-unheard-of"),
        ("k.aicpu", "AI CPU kernels are not supported"),
        ("-x cuda a.asc", "cuda"),
        ("a.asc -o", "-o without a value"),
        ("-c a.o", "-c without a source"),
        ("-E", "-E without a source"),
        ("-c a.asc b.asc -o c.o", "-o c.o and -c with 2 sources"),
    ],
)
def test_what_cannot_be_had_is_refused_by_name(words: str, got: str) -> None:
    with pytest.raises(CompilerOptionError) as raised:
        parse_options(words.split())
    assert got in str(raised.value)


def test_a_chip_stands_for_its_architecture() -> None:
    assert parse_options(["--npu-soc=Ascend910B4", "a.asc"]).architecture == 2201

"""Compiling: what the cache gives and what not, and what a killed or full machine leaves."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
import resource
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from opwright.internals.headers import cxx_standard
from opwright.kit.packaging.cache import LIFETIME, prune
from opwright.kit.packaging.compile import (
    COMPILE_FLAGS,
    LIBRARIES,
    LINK_FLAGS,
    STABLE_LIBRARIES,
    Builder,
    Compiled,
    Library,
    compile_units,
    link,
    read_rules,
)
from opwright.kit.packaging.errors import (
    BuildCacheError,
    CommandLineError,
    LinkError,
    NotCachedError,
    SymbolsError,
    ToolError,
    VersionPairError,
)
from opwright.kit.packaging.message import CompilerFailure
from opwright.kit.packaging.symbols import check_stable, read_needed_symbols
from opwright.kit.packaging.toolchain import Toolchain, find_toolchain
from opwright.pairs import installed_minor
from tests.alone import alone, alone_command
from tests.twin.on_twin import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

pytestmark = pytest.mark.build

# Small on purpose: they include nothing of torch, so each compiles in a blink.
SOURCES = {
    "one.cpp": '#include "shared.h"\nint one() { return SHARED; }\n',
    "two.cpp": "#include <cmath>\ndouble two(double x) { return std::cos(x); }\n",
    "shared.h": "#define SHARED 1\n",
}


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain(os.environ, installed_minor())


@pytest.fixture
def builder(tmp_path: Path, toolchain: Toolchain) -> Builder:
    folder = tmp_path / "space & öther" / "csrc"
    folder.mkdir(parents=True)
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    return Builder(
        toolchain=toolchain, sources=(folder,), cache=tmp_path / "cache", stable_abi=True
    )


def run(builder: Builder, names: Sequence[str] = ("one.cpp", "two.cpp")) -> tuple[Compiled, ...]:
    units = [builder.sources[0] / name for name in names]
    return compile_units(builder, units, 2, lambda _: None)


def cached(builder: Builder) -> Mapping[str, bool]:
    return {unit.source.name: unit.from_cache for unit in run(builder)}


def test_what_did_not_change_is_not_compiled_again(builder: Builder) -> None:
    folder = builder.sources[0]
    assert cached(builder) == {"one.cpp": False, "two.cpp": False}
    assert cached(builder) == {"one.cpp": True, "two.cpp": True}
    (folder / "one.cpp").touch()
    assert cached(builder) == {"one.cpp": True, "two.cpp": True}
    (folder / "shared.h").write_text("#define SHARED 2\n")
    assert cached(builder) == {"one.cpp": False, "two.cpp": True}
    (folder / "shared.h").write_text("#define SHARED 1\n")
    assert cached(builder) == {"one.cpp": True, "two.cpp": True}
    (folder / "two.cpp").write_text("int two() { return 2; }\n")
    assert cached(builder) == {"one.cpp": True, "two.cpp": False}


def test_a_moved_project_and_its_objects(builder: Builder, tmp_path: Path) -> None:
    first = run(builder)
    moved = tmp_path / "elsewhere"
    shutil.copytree(builder.sources[0], moved)
    other = Builder(
        toolchain=builder.toolchain, sources=(moved,), cache=builder.cache, stable_abi=True
    )
    second = run(other)
    assert [unit.from_cache for unit in second] == [True, True]
    assert [unit.object for unit in second] == [unit.object for unit in first]
    assert all(str(tmp_path).encode() not in unit.object.read_bytes() for unit in first)


def test_flags_and_compiler_are_part_of_the_key(builder: Builder) -> None:
    run(builder)
    tool = builder.toolchain
    fields = {name: getattr(tool, name) for name in Toolchain.__dataclass_fields__}
    for change in ({"flags": ("-DMORE",)}, {"compiler_version": "g++ 99"}):
        other = Builder(
            toolchain=Toolchain(**{**fields, **change}),
            sources=builder.sources,
            cache=builder.cache,
            stable_abi=True,
        )
        assert cached(other) == {"one.cpp": False, "two.cpp": False}


def linked(builder: Builder) -> Library:
    return link(builder, [unit.object for unit in run(builder)], "libboth.so")


def test_two_builds_give_the_same_bytes(builder: Builder) -> None:
    first = linked(builder).file.read_bytes()
    assert linked(builder).from_cache
    shutil.rmtree(builder.cache)
    again = linked(builder)
    assert not again.from_cache
    assert again.file.read_bytes() == first


def test_forbidden_to_compile(builder: Builder) -> None:
    forbidding = Builder(
        toolchain=builder.toolchain,
        sources=builder.sources,
        cache=builder.cache,
        stable_abi=True,
        may_compile=False,
    )
    with pytest.raises(NotCachedError) as caught:
        run(forbidding)
    assert str(caught.value) == (
        "OPW-B015 not in the cache, and compiling is forbidden\n"
        f"  where:   {builder.sources[0] / 'one.cpp'}\n"
        "  got:     no object for its present content\n"
        "  fix:     build without --no-compile"
    )
    linked(builder)
    assert linked(forbidding).from_cache


def test_the_first_failing_unit_is_reported(builder: Builder) -> None:
    for name in ("one.cpp", "two.cpp"):
        (builder.sources[0] / name).write_text("int f() { return nothing; }\n")
    with pytest.raises(CompilerFailure) as caught:
        run(builder)
    assert caught.value.source.name == "one.cpp"
    assert "'nothing' was not declared" in caught.value.output
    assert not list(builder.cache.glob("*.o"))
    assert not list(builder.cache.glob("*.new"))


def test_a_library_that_cannot_be_linked(builder: Builder) -> None:
    (builder.sources[0] / "two.cpp").write_text("int one() { return 2; }\n")
    with pytest.raises(LinkError, match="OPW-B013") as caught:
        linked(builder)
    assert "multiple definition" in caught.value.got


def test_a_cache_that_cannot_be_written(builder: Builder) -> None:
    builder.cache.write_text("a file")
    with pytest.raises(BuildCacheError, match="OPW-B014") as caught:
        run(builder)
    assert caught.value.where == str(builder.cache)


def test_damaged_entries_are_made_again(builder: Builder) -> None:
    """An empty object and a record that is no JSON are what a crash of the machine may leave."""
    first = run(builder)
    for unit in first:
        unit.object.write_bytes(b"")
    for record in builder.cache.glob("*.headers"):
        record.write_text("[")
    assert cached(builder) == {"one.cpp": False, "two.cpp": False}
    assert cached(builder) == {"one.cpp": True, "two.cpp": True}


def test_a_changed_object_is_made_again_and_reported(builder: Builder) -> None:
    """Its length and time stay: only its content shows it."""
    first = {unit.source.name: unit.object for unit in run(builder)}
    contents = {name: file.read_bytes() for name, file in first.items()}
    stamp = first["one.cpp"].stat()
    first["one.cpp"].write_bytes(contents["one.cpp"][:-1] + b"\1")
    os.utime(first["one.cpp"], ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    states = {unit.source.name: (unit.from_cache, unit.was_damaged) for unit in run(builder)}
    assert states == {"one.cpp": (False, True), "two.cpp": (True, False)}
    assert {name: file.read_bytes() for name, file in first.items()} == contents
    assert not any(unit.was_damaged for unit in run(builder))


def test_a_changed_library_is_made_again_and_reported(builder: Builder) -> None:
    first = linked(builder)
    content = first.file.read_bytes()
    first.file.write_bytes(content[:-1])
    again = linked(builder)
    assert (again.from_cache, again.was_damaged) == (False, True)
    assert again.file.read_bytes() == content


def test_an_object_without_its_digest_is_made_again(builder: Builder) -> None:
    """Leftovers of a process that was killed between the two, and a cache of an older opwright."""
    for unit in run(builder):
        unit.object.with_name(f"{unit.object.name}.sha256").unlink()
    assert [(unit.from_cache, unit.was_damaged) for unit in run(builder)] == [(False, False)] * 2
    assert cached(builder) == {"one.cpp": True, "two.cpp": True}


@pytest.mark.parametrize("text", ["5", "[1]", "{}", "\xff"])
def test_a_record_of_another_form_is_made_again(builder: Builder, text: str) -> None:
    run(builder)
    for record in builder.cache.glob("*.headers"):
        record.write_text(text, encoding="latin-1")
    assert cached(builder) == {"one.cpp": False, "two.cpp": False}


def test_a_cache_of_others_is_used_and_not_written(
    builder: Builder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The answer of os.access stands for the permissions, which root does not have to respect."""
    first = linked(builder)
    link_to_it = tmp_path / "linked"
    link_to_it.symlink_to(builder.cache)
    old = time.time() - LIFETIME - 1
    for file in builder.cache.iterdir():
        os.utime(file, (old, old))
    before = {file: file.stat().st_mtime_ns for file in builder.cache.iterdir()}
    monkeypatch.setattr(os, "access", lambda *_: False)
    other = dataclasses.replace(builder, cache=link_to_it, may_compile=False)
    assert linked(other).from_cache
    prune(link_to_it)
    assert {file: file.stat().st_mtime_ns for file in builder.cache.iterdir()} == before
    assert first.file.exists()


def with_compiler(builder: Builder, script: Path, text: str) -> Builder:
    script.write_text(text)
    script.chmod(0o755)
    toolchain = dataclasses.replace(builder.toolchain, compiler=(str(script),))
    return dataclasses.replace(builder, toolchain=toolchain)


def test_a_compiler_that_makes_nothing(builder: Builder, tmp_path: Path) -> None:
    idle = with_compiler(builder, tmp_path / "idle", "#!/bin/sh\nexit 0\n")
    with pytest.raises(ToolError) as caught:
        run(idle)
    assert str(caught.value) == (
        "OPW-B010 a tool of the build is missing\n"
        f"  where:   {tmp_path / 'idle'}\n"
        "  got:     the compiler made no output: exit code 0, no message\n"
        "  fix:     name a C++ compiler in CXX, or unset CXX"
    )
    objects = [unit.object for unit in run(builder)]
    with pytest.raises(ToolError, match="made no output"):
        link(idle, objects, "libboth.so")
    assert not list(builder.cache.glob("*.so*"))


def compile_all(sources: str, cache: str) -> None:
    """Compile, and print whether the cache had each object."""
    folder = Path(sources)
    builder = Builder(
        toolchain=find_toolchain(os.environ, installed_minor()),
        sources=(folder,),
        cache=Path(cache),
        stable_abi=True,
    )
    for unit in compile_units(builder, sorted(folder.glob("*.cpp")), 2, lambda _: None):
        print(unit.source.name, unit.from_cache)  # noqa: T201 - the answer


def compile_on_a_full_disk(sources: str, cache: str) -> None:
    """Compile where RLIMIT_FSIZE stands for the disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    compile_all(sources, cache)


def start(builder: Builder, compiler: str = "g++") -> subprocess.Popen[str]:
    return subprocess.Popen(
        alone_command(compile_all, str(builder.sources[0]), str(builder.cache)),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "CXX": compiler},
        start_new_session=True,
    )


def test_two_processes_compile_a_unit_once(builder: Builder) -> None:
    processes = [start(builder) for _ in range(3)]
    outputs = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    for name in ("one.cpp", "two.cpp"):
        states = [output[output.index(name) + 1] for output in outputs]
        assert sorted(states) == ["False", "True", "True"]


def test_killed_while_compiling(builder: Builder, tmp_path: Path) -> None:
    """The lock ends with the process, and what it left is not taken for an object."""
    slow = tmp_path / "slow-g++"
    started = tmp_path / "started"
    slow.write_text(
        '#!/bin/sh\ncase "$*" in *-c*)'
        f' echo half > "{builder.cache}/half.new"; : > "{started}"; sleep 60;;'
        ' esac\nexec g++ "$@"\n'
    )
    slow.chmod(0o755)
    process = start(builder, str(slow))
    deadline = time.monotonic() + 300
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)  # waits for another process's file
    os.killpg(process.pid, 9)
    process.communicate()
    assert cached(builder) == {"one.cpp": False, "two.cpp": False}
    old = time.time() - LIFETIME - 1
    os.utime(builder.cache / "half.new", (old, old))
    prune(builder.cache)
    assert not (builder.cache / "half.new").exists()
    assert cached(builder) == {"one.cpp": True, "two.cpp": True}


def test_a_full_disk(builder: Builder) -> None:
    # No bytecode, which would be cut off as well, nor statistics of ccache, which the toolchain
    # takes where it is installed.
    variables = {"PYTHONDONTWRITEBYTECODE": "1", "CCACHE_DISABLE": "1"}
    arguments = (str(builder.sources[0]), str(builder.cache))
    result = alone(compile_on_a_full_disk, *arguments, **variables)
    assert result.returncode == 1
    assert "CompilerFailure" in result.stderr
    assert not list(builder.cache.glob("*.o"))
    assert cached(builder) == {"one.cpp": False, "two.cpp": False}


# The toolchain


def test_no_compiler() -> None:
    with pytest.raises(ToolError) as caught:
        find_toolchain(
            {"CXX": "no-such-compiler -x", "PATH": os.environ["PATH"]}, installed_minor()
        )
    assert str(caught.value) == (
        "OPW-B010 a tool of the build is missing\n"
        "  where:   CXX\n"
        "  got:     no program 'no-such-compiler -x'\n"
        "  fix:     this needs a C++ compiler: install g++ 11 or newer, or name one in CXX"
    )


def test_no_compiler_that_anybody_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        find_toolchain({"PATH": str(tmp_path)}, installed_minor())
    assert (caught.value.where, caught.value.got) == ("PATH", "no program 'g++'")


@pytest.mark.parametrize("variable", ["CXX", "CXXFLAGS"])
def test_an_open_quotation_mark(variable: str) -> None:
    with pytest.raises(CommandLineError) as caught:
        find_toolchain({"PATH": os.environ["PATH"], variable: 'g++ "-DX'}, installed_minor())
    assert str(caught.value) == (
        "OPW-B024 not a command line\n"
        f"  where:   {variable}\n"
        "  got:     'g++ \"-DX': No closing quotation\n"
        "  fix:     close the quotation mark, put a backslash before it, or unset the variable"
    )


def test_an_empty_compiler_is_the_usual_one() -> None:
    found = find_toolchain(
        {"PATH": os.environ["PATH"], "CXX": " ", "CXXFLAGS": "-DX='a b'"}, installed_minor()
    )
    assert found.compiler[-1] == "g++"
    assert found.flags == ("-DX=a b",)


def test_another_torch() -> None:
    with pytest.raises(VersionPairError, match="OPW-B011") as caught:
        find_toolchain(os.environ, "2.6")
    assert caught.value.got.startswith(f"torch {installed_minor()}.")
    assert caught.value.allowed == ("torch 2.6.*",)


def test_ccache_is_used_where_it_is(tmp_path: Path) -> None:
    ccache = tmp_path / "ccache"
    ccache.write_text('#!/bin/sh\nexec "$@"\n')
    ccache.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    before = os.environ["PATH"]
    os.environ["PATH"] = path
    try:
        assert find_toolchain({"PATH": path}, installed_minor()).compiler == ("ccache", "g++")
        named = find_toolchain({"PATH": path, "CXX": "ccache g++ -pipe"}, installed_minor())
    finally:
        os.environ["PATH"] = before
    assert named.compiler == ("ccache", "g++", "-pipe")


def test_rules_of_make() -> None:
    text = "object: /s/a\\ b.cpp \\\n  ../x/h.h \\\n /d/$$e\\#.h\n"
    assert read_rules(text, Path("/s")) == [Path("/s/a b.cpp"), Path("/x/h.h"), Path("/d/$e#.h")]


def test_an_emitted_package_is_built_with_the_same_flags() -> None:
    script = Path(__file__).parents[3] / "opwright/kit/shipped/setup_script.py"
    theirs = {
        node.targets[0].id: eval(compile(ast.Expression(node.value), str(script), "eval"))  # noqa: S307 - our own file
        for node in ast.parse(script.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Tuple)
    }
    # Colours are what a log of ours cannot have; a person reads that of pip.
    ours = tuple(flag for flag in COMPILE_FLAGS if flag != "-fdiagnostics-color=never")
    assert theirs == {
        "COMPILE": ours,
        "LINK": LINK_FLAGS,
        "CLASSIC": LIBRARIES,
        "STABLE": STABLE_LIBRARIES,
    }


@pytest.mark.parametrize(
    ("line", "standard"),
    [
        ("#if !defined(_MSC_VER) && __cplusplus < 201703L", "c++17"),
        ("#if !defined(_MSC_VER) && __cplusplus < 202002L", "c++20"),
        ("#if __cplusplus < 202302L", "c++23"),
        ("#if __cplusplus < 209902L", "c++23"),
        ("#pragma once", "c++17"),
    ],
)
def test_the_standard_is_the_one_that_torchs_headers_ask_for(
    tmp_path: Path, line: str, standard: str
) -> None:
    header = tmp_path / "include/ATen/ATen.h"
    header.parent.mkdir(parents=True)
    header.write_text(f"{line}\n#error no\n#endif\n")
    assert cxx_standard(tmp_path) == standard
    script = Path(__file__).parents[3] / "opwright/kit/shipped/setup_script.py"
    (function,) = [
        node
        for node in ast.parse(script.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "cxx_standard"
    ]
    scope: dict[str, object] = {"re": re, "Path": Path}
    exec(compile(ast.Module([function], []), str(script), "exec"), scope)  # noqa: S102 - our own file
    assert cast("Callable[[Path], str]", scope["cxx_standard"])(tmp_path) == standard


# Symbols


def test_symbols_of_the_stable_abi(builder: Builder) -> None:
    (builder.sources[0] / "one.cpp").write_text(
        '#include <string>\nextern "C" int aoti_torch_get_dim(void*, long*);\n'
        'extern "C" int torch_get_current_cuda_stream();\n'
        "int one(std::string s) { return aoti_torch_get_dim(&s, nullptr)"
        " + torch_get_current_cuda_stream(); }\n"
    )
    library = linked(builder).file
    names = {each.name for each in read_needed_symbols(library)}
    assert {"aoti_torch_get_dim", "torch_get_current_cuda_stream", "cos"} <= names
    check_stable(library, "libboth.so")


def test_other_symbols_are_named(builder: Builder) -> None:
    (builder.sources[0] / "one.cpp").write_text(
        "namespace c10 { void hidden(int); }\nnamespace c10_npu { void* stream(); }\n"
        'extern "C" void aclnnOther();\n'
        "void one() { c10::hidden(1); c10_npu::stream(); aclnnOther(); }\n"
    )
    with pytest.raises(SymbolsError) as caught:
        check_stable(linked(builder).file, "libboth.so")
    assert str(caught.value) == (
        "OPW-B016 the library uses more than libtorch's stable ABI\n"
        "  where:   libboth.so\n"
        "  got:     3 that are not of it:\n"
        "    c10::hidden(int)\n"
        "    c10_npu::stream()\n"
        "    aclnnOther\n"
        "  fix:     use only torch/csrc/stable and torch/headeronly in csrc/, or build without "
        "--stable-abi"
    )

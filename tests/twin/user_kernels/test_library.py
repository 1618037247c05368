"""Sources of kernel libraries, and their cache; a script before g++ counts and delays it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opwright.aclnn.signature import CType, parse_signature
from opwright.twin.toolkit import default_toolkit, find_missing_parts, installed_toolkit
from opwright.twin.user_kernels.emit import emit_kernel, emit_library
from opwright.twin.user_kernels.library import (
    CacheError,
    CompileError,
    find_cached_package,
    library_of,
    signatures_of,
)

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden" / "kernels.cpp"
SIGNATURES = (
    (
        "aclnnScaleCustom(const aclTensor *x, const aclTensorList *tailsOptional, double factor, "
        "const aclIntArray *axes, char *modeOptional, aclTensor *out)"
    ),
    "aclnnAddCustom(const aclTensor *x, const aclTensor *y, aclTensor *out)",
)
FUNCTIONS = tuple(parse_signature(text, where="test") for text in SIGNATURES)

builds = [
    pytest.mark.build,
    pytest.mark.skipif(bool(find_missing_parts(default_toolkit())), reason="needs make native"),
]


def test_the_emitted_source_is_the_golden_one() -> None:
    text = emit_library(FUNCTIONS)
    if os.environ.get("OPWRIGHT_ACCEPT"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
    assert text == emit_library(reversed(FUNCTIONS * 2))


def test_the_start_of_a_kernel_in_cpp() -> None:
    assert emit_kernel(FUNCTIONS[:1]).splitlines()[4:] == [
        "OPWRIGHT_KERNEL(aclnnScaleCustom,",
        (
            "                (In, x)(OptTensorList, tailsOptional)(Double, factor)(Ints, axes)"
            "(OptText, modeOptional)(Out, out),"
        ),
        '                TORCH_CHECK(false, "not written yet"))',
    ]


class Cache:
    """An empty cache folder and a compiler that can be watched."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "cache" / "opwright" / "kernels"
        self.log = folder / "log"
        self.script = folder / "cxx"
        self.slow(0)
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        monkeypatch.setenv("CXX", str(self.script))

    def slow(self, seconds: float) -> None:
        self.script.write_text(
            f'#!/bin/sh\necho begin >> {self.log}\nsleep {seconds}\nexec g++ "$@"\n'
        )
        self.script.chmod(0o755)

    def compilations(self) -> int:
        return self.log.read_text().count("begin") if self.log.exists() else 0

    def build(self) -> Path:
        return find_cached_package(FUNCTIONS, installed_toolkit())

    def start_other(self) -> subprocess.Popen[str]:
        program = (
            "from opwright.twin.user_kernels.library import find_cached_package\n"
            "from opwright.aclnn.signature import parse_signature\n"
            "from opwright.twin.toolkit import installed_toolkit\n"
            f"functions = [parse_signature(text, where='') for text in {SIGNATURES!r}]\n"
            "print(find_cached_package(functions, installed_toolkit()))\n"
        )
        return subprocess.Popen(
            [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )

    def wait_for_compiler(self) -> None:
        until = time.monotonic() + 300
        while not self.compilations():
            assert time.monotonic() < until, "the compiler was not started"
            time.sleep(0.01)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    return Cache(tmp_path, monkeypatch)


class TestCache:
    pytestmark = builds

    def test_a_package_is_built_once(self, cache: Cache) -> None:
        package = cache.build()
        assert signatures_of(package) == tuple(sorted(FUNCTIONS, key=str))
        symbols = subprocess.run(
            ["nm", "-D", "--defined-only", library_of(package)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert {line.split()[2] for line in symbols.splitlines()} == {
            f"{function.name}{part}" for function in FUNCTIONS for part in ("", "GetWorkspaceSize")
        }
        assert cache.build() == package
        assert cache.compilations() == 1

    def test_other_functions_are_another_package(self, cache: Cache) -> None:
        assert find_cached_package(FUNCTIONS[:1], installed_toolkit()) != cache.build()

    def test_processes_that_build_at_once_compile_once(self, cache: Cache) -> None:
        cache.slow(0.5)
        others = [cache.start_other() for _ in range(3)]
        places = {other.communicate()[0].strip() for other in others}
        assert [other.returncode for other in others] == [0, 0, 0]
        assert places == {str(cache.build())}
        assert cache.compilations() == 1

    def test_a_killed_build_leaves_a_usable_cache(self, cache: Cache) -> None:
        cache.slow(60)
        victim = cache.start_other()
        cache.wait_for_compiler()
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        cache.slow(0)
        assert library_of(cache.build()).exists()
        assert cache.compilations() == 2

    def test_the_start_of_a_kernel_compiles_with_every_kind(
        self, cache: Cache, tmp_path: Path
    ) -> None:
        parameters = []
        for index, ctype in enumerate(CType):
            star = "*" if ctype.is_pointer else ""
            parameters.append(f"const {ctype.value} {star}in{index}")
            if ctype.is_pointer:
                parameters.append(f"const {ctype.value} *in{index}Optional")
            if ctype.is_tensor:
                parameters.append(f"{ctype.value} *out{index}")
                parameters.append(f"{ctype.value} *out{index}Optional")
        text = emit_kernel([parse_signature(f"aclnnAll({', '.join(parameters)})", where="test")])
        source = tmp_path / "all.cpp"
        source.write_text(text.replace("ATen/Functions.h", "ATen/core/Tensor.h"))
        package = find_cached_package((), installed_toolkit(), [source])
        assert find_cached_package((), installed_toolkit(), [source]) == package
        assert cache.compilations() == 2  # the compilation and the list of includes

    def test_what_the_compiler_says_is_in_the_error(self, cache: Cache, tmp_path: Path) -> None:
        source = tmp_path / "bad.cpp"
        source.write_text("int OPWRIGHT_KERNEL = missing_name;\n")
        with pytest.raises(CompileError, match="missing_name") as caught:
            find_cached_package((), installed_toolkit(), [source])
        assert str(caught.value).startswith("OPW-K010 the kernel library cannot be compiled")
        assert list(cache.folder.glob("*/op_api/lib/*.so")) == []

    def test_a_changed_include_is_a_new_package(self, cache: Cache, tmp_path: Path) -> None:
        source, header = tmp_path / "kernel.cpp", tmp_path / "value.h"
        source.write_text('#include "value.h"\nextern "C" int value() { return VALUE; }\n')
        header.write_text("#define VALUE 1\n")
        toolkit = installed_toolkit()
        first = find_cached_package((), toolkit, [source])
        assert find_cached_package((), toolkit, [source]) == first
        header.write_text("#define VALUE 2\n")
        second = find_cached_package((), toolkit, [source])
        header.write_text("#define VALUE 1\n")
        assert second != first
        assert find_cached_package((), toolkit, [source]) == first
        assert cache.compilations() == 4  # each compilation is followed by a list of includes

    def test_a_missing_compiler(self, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CXX", "no-such-compiler")
        with pytest.raises(CompileError) as caught:
            cache.build()
        assert str(caught.value) == (
            "OPW-K010 the kernel library cannot be compiled\n"
            "  where:   no-such-compiler\n"
            "  got:     no such program\n"
            "  fix:     this needs a C++ compiler: install g++ 11 or newer, or name one in CXX"
        )

    def test_a_cache_that_cannot_be_written(
        self, cache: Cache, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache.script))
        with pytest.raises(CacheError, match="OPW-K011"):
            cache.build()

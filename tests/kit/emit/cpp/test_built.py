"""Emitted C++ is compiled as `opwright build` does, loaded on the twin, and compared with torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from opwright.kit.packaging.cache import cache_folder
from opwright.kit.packaging.compile import Builder, compile_units, link
from opwright.kit.packaging.symbols import check_stable
from opwright.kit.packaging.toolchain import cores, find_toolchain
from opwright.pairs import installed_minor
from tests.kit.emit.cpp.emitting import NAMES, files_of, write_files

pytestmark = [pytest.mark.build, pytest.mark.twin]
BEHAVIOUR = Path(__file__).parent / "behaviour"
# Functions of CANN, and those that some releases of torch_npu do not export.
NOT_EVERYWHERE = (
    "aclGetRecentErrMsg",
    "aclrtCtxSetSysParamOpt",
    "_ZN7c10_npu21GetDeterministicLevelEv",
    "_ZN6at_npu6native23ApplyDeterministicLevelElbb",
)


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def library(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(name)
    write_files(files_of(name), folder)
    builder = Builder(
        toolchain=find_toolchain({**os.environ, "CXXFLAGS": "-Werror"}, installed_minor()),
        sources=(folder / "csrc",),
        cache=cache_folder(os.environ),
        stable_abi=name == "stable",
        link_flags=("-Wl,--no-undefined",),  # as `opwright op-plugin build` links first
    )
    units = sorted((folder / "csrc").glob("*.cpp"))
    compiled = compile_units(builder, units, cores(), lambda _: None)
    return link(builder, [each.object for each in compiled], f"lib{name}.so").file


@pytest.mark.parametrize("queue", ["0", "1", "2"])
def test_operators_do_what_they_declare(name: str, library: Path, queue: str) -> None:
    files = [str(BEHAVIOUR / f"{each}_checks.py") for each in ("both", name)]
    options = ["-q", "-p", "no:cacheprovider", "-W", "default", "--import-mode=importlib"]
    kernels = ["--kernels", str(BEHAVIOUR / "kernels.py")]
    environ = {
        **os.environ,
        "OPWRIGHT_TEST_LIBRARY": str(library),
        "TASK_QUEUE_ENABLE": queue,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(Path(__file__).parents[4]),
    }
    opwright = str(Path(sys.executable).with_name("opwright"))
    command = [opwright, "run", *kernels, "--", sys.executable, "-m", "pytest", *options, *files]
    result = subprocess.run(
        command, env=environ, capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert " passed" in result.stdout


def test_the_stable_library_uses_only_the_stable_abi(name: str, library: Path) -> None:
    if name == "stable":
        check_stable(library, library.name)
    else:
        assert library.stat().st_size < 2**20


def test_a_library_loads_without_what_some_releases_do_not_export(name: str, library: Path) -> None:
    with library.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        bindings = {each.name: each["st_info"]["bind"] for each in table.iter_symbols()}
    found = {each: bindings[each] for each in NOT_EVERYWHERE if each in bindings}
    assert found == ({} if name == "stable" else dict.fromkeys(NOT_EVERYWHERE, "STB_WEAK"))

"""Coverage: reading shared libraries, and judging needs against them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from opwright.cli import app
from opwright.coverage.needed import Need, find_function_names, home, make_looked_up_needs, needs
from opwright.coverage.report import to_json, to_text
from opwright.coverage.status import Function, StatusError, check_status, judge, measure
from opwright.twin.symbols import SharedLibrary, read_library
from opwright.twin.toolkit import default_toolkit, find_missing_parts

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
#include <cstdio>
extern "C" {
int aclrtLinked();
int aclrtDone() { return std::puts("done") + aclrtLinked(); }
int aclrtNo() { return 1; }
const char* lookedUp(int which) { return which ? "aclnnAddGetWorkspaceSize" : "not a name"; }
__attribute__((section(".opwright_refused"), used)) static const char refused[] = "aclrtNo";
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> SharedLibrary:
    folder: Path = tmp_path_factory.mktemp("library")
    source, result = folder / "sample.cpp", folder / "libsample.so"
    source.write_text(SOURCE, encoding="utf-8")
    subprocess.run(["g++", "-shared", "-fPIC", "-O1", source, "-o", result], check=True)
    return read_library(result)


def made(name: str, exported: set[str], refused: set[str]) -> SharedLibrary:
    return SharedLibrary(
        name=name,
        exported=frozenset(exported),
        imported=frozenset(),
        words=frozenset(),
        refused=frozenset(refused),
    )


@pytest.mark.build
def test_facts_of_a_library(library: SharedLibrary) -> None:
    assert {"aclrtDone", "aclrtNo", "lookedUp"} <= library.exported
    assert "aclrtLinked" in library.imported
    assert library.refused == {"aclrtNo"}
    assert "aclnnAddGetWorkspaceSize" in library.words
    assert find_function_names(library) == {"aclnnAddGetWorkspaceSize"}


@pytest.mark.build
def test_versioned_symbols_are_not_cann(library: SharedLibrary) -> None:
    assert "puts" not in library.imported


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("aclnnAdd", "libopapi"),
        ("aclrtMalloc", "libascendcl"),
        ("aclCreateTensor", "libnnopbase"),
        ("aclCreateTensorDesc", "libascendcl"),
        ("aclopCompileAndExecuteV2", "libacl_op_compiler"),
        ("HcclAllReduce", "libhccl"),
        ("HcclGroupStart", "libhcomm"),
        ("_ZN2ge5GraphC1Ev", "libgraph, libge_runner"),
        ("acl_format", None),
        ("malloc", None),
    ],
)
def test_families(name: str, library: str | None) -> None:
    assert home(name) == library


def test_two_phases_are_one_need() -> None:
    words = ["aclnnAdd", "aclnnAddGetWorkspaceSize", "asdFftGetWorkspaceSize", "aclrtStreamQuery"]
    found = {need.name: need.symbols for need in make_looked_up_needs(words)}
    assert found == {
        "aclnnAdd": ("aclnnAdd", "aclnnAddGetWorkspaceSize"),
        "asdFftGetWorkspaceSize": ("asdFftGetWorkspaceSize",),
        "aclrtStreamQuery": ("aclrtStreamQuery",),
    }


def need(*symbols: str) -> Need:
    return Need(name=symbols[0], symbols=symbols, library="libopapi", how="looked up")


def test_status() -> None:
    twin = [made("libopapi.so", {"aclnnA", "aclnnAGetWorkspaceSize", "aclnnB", "r"}, {"r"})]
    needed = [need("aclnnA", "aclnnAGetWorkspaceSize"), need("aclnnB", "aclnnBGetWorkspaceSize")]
    functions = judge([*needed, need("r"), need("x")], twin)
    assert [function.status for function in functions] == [
        "implemented",
        "absent",
        "refused",
        "absent",
    ]


def test_reports() -> None:
    functions = (
        Function(name="a", library="libx", how="linked", status="implemented"),
        Function(name="b", library="libx", how="looked up", status="absent"),
    )
    assert '"counts": {\n    "implemented": 1,\n    "refused": 0,\n    "absent": 1' in to_json(
        functions, "absent"
    )
    assert '"name": "a"' not in to_json(functions, "absent")
    table = to_text(functions).splitlines()
    row = next(line for line in table if "libx" in line)
    assert row.replace("│", " ").split() == ["libx", "1", "0", "1"]


@pytest.mark.skipif(
    bool(find_missing_parts(default_toolkit())), reason="needs the native libraries: make native"
)
def test_every_linked_function_is_there() -> None:
    """torch_npu's libraries bind at load: one absent symbol and the import fails."""
    absent = [function for function in measure() if function.status == "absent"]
    assert {function.name for function in absent if function.how == "linked"} == set()


def test_unknown_status() -> None:
    with pytest.raises(StatusError, match="'missing'"):
        check_status("missing")


def test_needs_of_the_installed_torch_npu() -> None:
    """Compare with what is known about torch_npu 2.13.0 from other evidence."""
    found = {need.name: need for need in needs()}
    two_phase = [name for name, need in found.items() if len(need.symbols) == 2]
    assert sum(name.startswith("aclnn") for name in two_phase) == 904
    assert found["aclrtSetDevice"].how == "linked"
    assert found["aclrtStreamQuery"].how == "looked up"
    assert "aclStressDetect" not in found  # a label in a log message
    assert not [need for need in found.values() if need.library == "other"]


def test_graphs_have_no_status() -> None:
    refused = CliRunner().invoke(app, ["twin", "coverage", "--graphs", "--list", "absent"])
    assert refused.exit_code == 2
    assert "--list" in refused.output

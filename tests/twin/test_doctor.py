"""Doctor's judgement on made-up facts, and its gathering on made-up folders."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from opwright.other_cann import folders_before
from opwright.pairs import minor_of, read_pairs
from opwright.twin.doctor.diagnosis import diagnose
from opwright.twin.doctor.evidence import (
    Facts,
    Trial,
    compiler_version,
)
from opwright.twin.doctor.report import to_json, to_text
from opwright.twin.hardware import Hardware, find_hardware
from opwright.twin.toolkit import default_toolkit
from opwright.twin.user_kernels.packages import OperatorPackage, operator_packages

TWIN = Path("/twin")
GOOD = Facts(
    python="3.11.7",
    torch="2.13.0+cpu",
    torch_cuda=None,
    torch_npu="2.13.0",
    built_for="2.13",
    compiler="g++ 12",
    toolkit=TWIN,
    missing=(),
    hardware=Hardware(npus=(), cann=None),
    user=1000,
    variables={},
    dead_paths=(),
    shadowing=(),
    packages=(),
    by_itself="disabled",
    trial=Trial(passed=True, output="2 x Ascend910B4"),
)
LIBRARY = Path("/p/op_api/lib/libcust_opapi.so")


def package(owner: int | None) -> OperatorPackage:
    return OperatorPackage(source="ASCEND_CUSTOM_OPP_PATH", library=LIBRARY, owner=owner)


@pytest.mark.parametrize("built_for", ["2.10", None])
def test_without_torch_the_cure_is_the_pair_that_this_wheel_is_for(built_for: str | None) -> None:
    facts = dataclasses.replace(GOOD, torch=None, torch_npu=None, built_for=built_for, trial=None)
    wanted = built_for or minor_of(read_pairs()[-1].torch)
    assert [finding.cure for finding in diagnose(facts)] == [
        f"pip install torch=={wanted}.*",
        f"pip install torch_npu=={wanted}.*",
    ]


def test_nothing_to_find() -> None:
    assert diagnose(GOOD) == ()
    assert "no problem found" in to_text(GOOD, ())


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"python": "3.9.1"}, "has no wheel for Python 3.9"),
        ({"torch": None, "trial": None}, "torch is not installed"),
        ({"torch_npu": None}, "torch_npu is not installed"),
        ({"torch_npu": "2.12.0"}, "do not belong together"),
        ({"built_for": "2.12"}, "this opwright is built for torch 2.12; torch 2.13.0"),
        ({"missing": ("lib64/libopapi.so",)}, "lacks lib64/libopapi.so"),
        (
            {"variables": {"ASCEND_OPP_PATH": "/gone"}, "dead_paths": ("ASCEND_OPP_PATH",)},
            "ASCEND_OPP_PATH=/gone is not a folder",
        ),
        (
            {"variables": {"ASCEND_HOME_PATH": "/a", "ASCEND_TOOLKIT_HOME": "/b"}},
            "ASCEND_TOOLKIT_HOME=/b differ",
        ),
        ({"variables": {"ASCEND_HOME_PATH": "/twin"}}, "LD_LIBRARY_PATH lacks"),
        (
            {
                "variables": {"ASCEND_HOME_PATH": "/twin", "LD_LIBRARY_PATH": "/r:/twin/lib64"},
                "shadowing": ("/r",),
            },
            "another CANN before the twin: /r",
        ),
        ({"variables": {"OPWRIGHT_SOC": "Ascend1"}}, "OPWRIGHT_SOC=Ascend1: unknown SoC name"),
        ({"variables": {"OPWRIGHT_DEVICES": "many"}}, "OPWRIGHT_DEVICES=many"),
        ({"variables": {"OPWRIGHT_MEMORY": "1X"}}, "OPWRIGHT_MEMORY=1X"),
        ({"packages": (package(owner=None),)}, f"a package without {LIBRARY}"),
        ({"packages": (package(owner=1001),)}, "belongs to user 1001"),
        ({"trial": Trial(passed=False, output="boom")}, "boom"),
    ],
)
def test_problems(change: dict[str, object], what: str) -> None:
    (finding,) = diagnose(dataclasses.replace(GOOD, **change))  # type: ignore[arg-type]  # a table of fields
    assert finding.is_problem
    assert what in finding.what
    assert finding.cure


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"compiler": None}, "no C++ compiler"),
        ({"hardware": Hardware(npus=("/dev/davinci0",), cann="/cann")}, "uses the real NPU"),
        ({"hardware": Hardware(npus=("/dev/davinci0",), cann=None)}, "names no CANN"),
        ({"hardware": Hardware(npus=(), cann="/cann")}, "there is no NPU"),
        ({"variables": {"OPWRIGHT_TWIN": "0"}}, "OPWRIGHT_TWIN=0"),
        ({"variables": {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}}, "does not load torch_npu"),
        ({"variables": {"LD_PRELOAD": "/x.so"}}, "LD_PRELOAD=/x.so"),
        ({"packages": (package(owner=0),)}, None),
        ({"packages": (package(owner=1000),)}, None),
    ],
)
def test_notes(change: dict[str, object], what: str | None) -> None:
    findings = diagnose(dataclasses.replace(GOOD, **change))  # type: ignore[arg-type]  # a table of fields
    assert not any(finding.is_problem for finding in findings)
    assert [what in finding.what for finding in findings if what] == ([True] if what else [])


def test_problems_come_first() -> None:
    findings = diagnose(dataclasses.replace(GOOD, compiler=None, torch_npu=None))
    assert [finding.level for finding in findings] == ["problem", "note"]


def test_json_has_facts_and_findings() -> None:
    facts = dataclasses.replace(GOOD, torch_npu=None)
    result = json.loads(to_json(facts, diagnose(facts)))
    assert result["facts"]["torch"] == "2.13.0+cpu"
    assert [finding["level"] for finding in result["findings"]] == ["problem"]


def test_operator_packages_in_the_order_of_torch_npu(tmp_path: Path) -> None:
    for folder in ("mine", "opp/vendors/acme"):
        library = tmp_path / folder / "op_api/lib/libcust_opapi.so"
        library.parent.mkdir(parents=True)
        library.touch()
    config = tmp_path / "opp/vendors/config.ini"
    config.write_text("load_priority=acme,gone\n", encoding="utf-8")
    environ = {
        "ASCEND_CUSTOM_OPP_PATH": f"{tmp_path}/none:{tmp_path}/mine",
        "ASCEND_OPP_PATH": f"{tmp_path}/opp",
    }
    found = [
        (str(found.library.relative_to(tmp_path).parents[2]), found.owner)
        for found in operator_packages(environ)
    ]
    user = os.getuid()
    assert found == [
        ("none", None),
        ("mine", user),
        ("opp/vendors/acme", user),
        ("opp/vendors/gone", None),
    ]


def test_shadowing_ends_at_the_twin(tmp_path: Path) -> None:
    for folder in ("real", "twin/lib64", "later"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "libascendcl.so").touch()
    path = f"{tmp_path}/empty:{tmp_path}/real:{tmp_path}/twin/lib64:{tmp_path}/later"
    assert list(folders_before(path, tmp_path / "twin")) == [f"{tmp_path}/real"]


def test_hardware_needs_npu_and_foreign_cann(tmp_path: Path) -> None:
    devices, cann = tmp_path / "dev", tmp_path / "cann"
    (cann / "lib64").mkdir(parents=True)
    (cann / "lib64/libascendcl.so").touch()
    devices.mkdir()
    assert not find_hardware({"ASCEND_HOME_PATH": str(cann)}, devices).usable
    for name in ("davinci0", "davinci1", "davinci_manager"):
        (devices / name).touch()
    found = find_hardware({"ASCEND_HOME_PATH": str(cann)}, devices)
    assert (len(found.npus), found.cann, found.usable) == (2, str(cann), True)
    assert not find_hardware({}, devices).usable
    twin = {"ASCEND_HOME_PATH": str(default_toolkit().root)}
    assert not find_hardware(twin, devices).usable


@pytest.mark.parametrize(
    ("command", "found"),
    [("", True), ("env g++", True), ("no-such-compiler", False)],
)
def test_the_compiler_is_what_cxx_names(command: str, found: bool) -> None:  # noqa: FBT001 - a table row
    version = compiler_version({"CXX": command, "PATH": os.environ["PATH"]})
    assert (version is not None) == found

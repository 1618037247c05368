"""Settings and the environment that follows from them; no process, no torch."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from opwright.twin.environment import find_changed, twin_environment
from opwright.twin.settings import (
    MOST_DEVICES,
    OPEN_FAMILY,
    SOC_NAMES,
    DeviceCountError,
    MemorySizeError,
    SocNameError,
    TraceFileError,
    TwinSettings,
    check_devices,
    check_soc,
    check_trace,
    parse_memory,
)
from opwright.twin.toolkit import (
    BESIDE_TORCH_NPU,
    LINKER_SCRIPTS,
    LOAD_ORDER,
    Toolkit,
    default_toolkit,
    find_missing_parts,
)
from opwright.twin.user_kernels.packages import absent_packages

TOOLKIT = Toolkit(root=Path("/twin"))
BUILT = default_toolkit()


@pytest.mark.skipif(
    bool(find_missing_parts(BUILT)), reason="needs the native libraries: make native"
)
def test_load_order_has_each_library_after_those_it_links_to() -> None:
    names = {path.name for path in BUILT.libraries.glob("*.so")}
    assert names == {*LOAD_ORDER, *BESIDE_TORCH_NPU, *LINKER_SCRIPTS}
    for position, name in enumerate(LOAD_ORDER):
        with (BUILT.libraries / name).open("rb") as stream:
            dynamic = ELFFile(stream).get_section_by_name(".dynamic")
            assert isinstance(dynamic, DynamicSection)
            tags = dynamic.iter_tags("DT_NEEDED")
            linked = {tag.needed for tag in tags}  # type: ignore[attr-defined]  # set per tag
        assert linked & set(LOAD_ORDER) <= set(LOAD_ORDER[:position]), name


def test_environment_names_the_toolkit() -> None:
    assert twin_environment({"PATH": "/bin"}, TOOLKIT, TwinSettings()) == {
        "ASCEND_HOME_PATH": "/twin",
        "PATH": "/twin/bin:/twin/tools/profiler/bin:/bin",
        "CMAKE_PREFIX_PATH": "/twin",
        "OPWRIGHT_PYTHON": sys.executable,
        "ASCEND_TOOLKIT_HOME": "/twin",
        "ASCEND_OPP_PATH": "/twin/opp",
        "LD_LIBRARY_PATH": "/twin/lib64",
    }


def test_entries_without_a_package_are_reported(tmp_path: Path) -> None:
    """torch_npu passes over them, and another function of the name runs."""
    package = tmp_path / "vendors" / "me"
    (package / "op_api" / "lib").mkdir(parents=True)
    (package / "op_api" / "lib" / "libcust_opapi.so").touch()
    assert absent_packages([str(package)]) == []
    absent, wrong = absent_packages(["/nowhere", str(tmp_path)])
    assert absent == "ASCEND_CUSTOM_OPP_PATH: /nowhere does not exist"
    library = "op_api/lib/libcust_opapi.so"
    assert wrong == f"ASCEND_CUSTOM_OPP_PATH: {tmp_path} is no operator package: no {library}"


def test_environment_carries_every_setting() -> None:
    settings = TwinSettings(
        soc="Ascend910B2", devices=4, memory=1 << 30, sync=False, trace=Path("/t.json")
    )
    result = twin_environment({}, TOOLKIT, settings)
    assert {name: value for name, value in result.items() if name.startswith("OPWRIGHT_")} == {
        "OPWRIGHT_PYTHON": sys.executable,
        "OPWRIGHT_SOC": "Ascend910B2",
        "OPWRIGHT_DEVICES": "4",
        "OPWRIGHT_MEMORY": str(1 << 30),
        "OPWRIGHT_SYNC": "0",
        "OPWRIGHT_TRACE": "/t.json",
    }


def test_sync_turns_the_queue_of_torch_npu_off() -> None:
    assert twin_environment({}, TOOLKIT, TwinSettings(sync=True))["TASK_QUEUE_ENABLE"] == "0"
    assert "TASK_QUEUE_ENABLE" not in twin_environment({}, TOOLKIT, TwinSettings(sync=False))


def test_guarded_memory_fills_what_malloc_gives() -> None:
    guarded = twin_environment({}, TOOLKIT, TwinSettings(guard=True))
    assert (guarded["OPWRIGHT_GUARD"], guarded["GLIBC_TUNABLES"]) == (
        "1",
        "glibc.malloc.tcache_count=0",
    )
    assert (
        not {"OPWRIGHT_GUARD", "GLIBC_TUNABLES"}
        & twin_environment({}, TOOLKIT, TwinSettings(guard=False)).keys()
    )


def test_streams_are_checked_without_the_queue_of_torch_npu() -> None:
    checked = twin_environment({}, TOOLKIT, TwinSettings(order=True))
    assert (checked["OPWRIGHT_ORDER"], checked["TASK_QUEUE_ENABLE"]) == ("1", "0")
    assert "OPWRIGHT_ORDER" not in twin_environment({}, TOOLKIT, TwinSettings(order=False))


def test_unset_settings_leave_the_environment_alone() -> None:
    base = {"OPWRIGHT_SOC": "Ascend310P3", "HOME": "/me"}
    result = twin_environment(base, TOOLKIT, TwinSettings())
    assert (result["OPWRIGHT_SOC"], result["HOME"]) == ("Ascend310P3", "/me")


def test_trace_file_must_be_in_a_folder(tmp_path: Path) -> None:
    assert check_trace(tmp_path / "t.json", where="--trace") == tmp_path / "t.json"
    for file, reason in ((tmp_path / "none" / "t.json", "no folder"), (tmp_path, "is a folder")):
        with pytest.raises(TraceFileError, match=reason):
            check_trace(file, where="--trace")


def test_trace_file_is_absolute() -> None:
    result = twin_environment({}, TOOLKIT, TwinSettings(trace=Path("calls.json")))
    assert Path(result["OPWRIGHT_TRACE"]) == Path.cwd() / "calls.json"


def test_environment_twice_equals_once() -> None:
    base = {"LD_LIBRARY_PATH": "/real/lib64::/other", "ASCEND_CUSTOM_OPP_PATH": "/mine"}
    packages = (Path("/built"),)
    once = twin_environment(base, TOOLKIT, TwinSettings(devices=3), packages)
    assert once["LD_LIBRARY_PATH"] == "/twin/lib64:/real/lib64:/other"
    assert once["ASCEND_CUSTOM_OPP_PATH"] == "/built:/mine"
    assert twin_environment(once, TOOLKIT, TwinSettings(devices=3), packages) == once


def test_kernels_of_a_parent_process_are_left_out() -> None:
    base = {"ASCEND_CUSTOM_OPP_PATH": "/parents/opwright-kernels-0-12-ab:/mine"}
    result = twin_environment(base, TOOLKIT, TwinSettings(), (Path("/own"),))
    assert result["ASCEND_CUSTOM_OPP_PATH"] == "/own:/mine"
    only = {"ASCEND_CUSTOM_OPP_PATH": "/parents/opwright-kernels-0-12-ab"}
    assert not twin_environment(only, TOOLKIT, TwinSettings())["ASCEND_CUSTOM_OPP_PATH"]


def test_environment_switches_the_twin_on_again() -> None:
    assert "OPWRIGHT_TWIN" not in twin_environment({"OPWRIGHT_TWIN": "0"}, TOOLKIT, TwinSettings())


def test_changed_keeps_what_differs() -> None:
    assert find_changed({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}) == {
        "b": "3",
        "c": "4",
    }


@pytest.mark.parametrize("name", ["Ascend910B4", "Ascend910B4-1", "Ascend950", "Ascend950PR_9599"])
def test_known_soc(name: str) -> None:
    assert check_soc(name, where="--soc") == name


def test_the_native_table_has_the_same_socs_and_limits() -> None:
    native = Path(__file__).parents[2] / "native" / "runtime"
    table = (native / "soc.cpp").read_text(encoding="utf-8")
    assert tuple(re.findall(r'^    \{"(Ascend\w+(?:-\d)?)", "', table, re.MULTILINE)) == SOC_NAMES
    assert f'kOpenFamily = "{OPEN_FAMILY}"' in table
    limits = (native / "settings.cpp").read_text(encoding="utf-8")
    assert f"kMostDevices = {MOST_DEVICES};" in limits


def test_unknown_soc_lists_the_nearest_name_first() -> None:
    with pytest.raises(SocNameError) as caught:
        check_soc("ascend910b4", where="--soc")
    assert caught.value.allowed[0] == "Ascend910B4"
    assert str(caught.value).startswith(
        "OPW-T001 unknown SoC name\n  where:   --soc\n  got:     'ascend910b4'\n"
        "  allowed: Ascend910B4, "
    )


@pytest.mark.parametrize("number", [0, -1, 17])
def test_device_count_out_of_range(number: int) -> None:
    with pytest.raises(DeviceCountError, match="1 to 16"):
        check_devices(number, where="--devices")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2097152", 2 << 20),
        ("2M", 2 << 20),
        ("8g", 8 << 30),
        ("8GiB", 8 << 30),
        ("8GB", 8 << 30),
        ("1.5G", 3 << 29),
        ("1T", 1 << 40),
    ],
)
def test_memory_sizes(text: str, size: int) -> None:
    assert parse_memory(text, where="--memory") == size


@pytest.mark.parametrize("text", ["", "G", "-1G", "1M", "2T", "8X", "8 giga", "nan"])
def test_not_a_memory_size(text: str) -> None:
    with pytest.raises(MemorySizeError, match="OPW-T003"):
        parse_memory(text, where="--memory")

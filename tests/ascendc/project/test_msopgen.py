"""`msopgen`: the projects that public scripts make with it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from opwright.ascendc.msopgen import chip_of, main
from opwright.ascendc.project_errors import NewOperatorError
from opwright.twin.toolkit import installed_toolkit
from tests.ascendc.commands import on_twin

if TYPE_CHECKING:
    from pathlib import Path

PORT = {"param_type": "required", "format": ["ND", "ND"], "type": ["fp16", "fp32"]}
ADD = {
    "op": "AddCustom",
    "input_desc": [{"name": "x", **PORT}, {"name": "y", **PORT}],
    "output_desc": [{"name": "z", **PORT}],
}
# As public scripts do it: make a project, put one's own files there, build, install.
SCRIPT = """\
set -e
source "$1/set_env.sh"
command -v msopgen
msopgen gen -i add_custom.json -f pytorch -c ai_core-Ascend910B1 -lan cpp -out CustomOp
sed -i 's/AddCustom/MyOwn/g' CustomOp/op_host/add_custom.cpp CustomOp/op_kernel/*
sed -i 's/add_custom(GM_ADDR/my_own(GM_ADDR/' CustomOp/op_kernel/add_custom.cpp
mv CustomOp/op_kernel/add_custom.cpp CustomOp/op_kernel/my_own.cpp
mv CustomOp/op_host/add_custom.cpp CustomOp/op_host/my_own.cpp
(cd CustomOp && ./build.sh)
./CustomOp/build_out/custom_opp_*.run --install-path="$PWD/there"
"$1/python/site-packages/bin/msopgen" gen --help
"""


def written(folder: Path, *definitions: object) -> Path:
    """Write a definition file as the scripts call it."""
    path = folder / "add_custom.json"
    path.write_text(json.dumps(list(definitions)))
    return path


def run(folder: Path, *words: str) -> int:
    """Run the command with the options that all calls have."""
    source = folder / "add_custom.json"
    return main(["gen", "-i", str(source), "-lan", "cpp", "-out", str(folder / "made"), *words])


@pytest.mark.build
def test_a_script_makes_builds_and_installs_a_project(tmp_path: Path) -> None:
    written(tmp_path, ADD)
    root = installed_toolkit().root
    result = on_twin(tmp_path, "bash", "-c", SCRIPT, "bash", str(root), limit=500)
    assert result.returncode == 0, result.stdout + result.stderr
    assert str(root / "bin" / "msopgen") in result.stdout
    signatures = (tmp_path / "there" / "vendors" / "customize" / "signatures.txt").read_text()
    assert signatures == ("aclnnMyOwn(const aclTensor *x, const aclTensor *y, aclTensor *out)\n")


def test_the_project_has_what_scripts_look_for(tmp_path: Path) -> None:
    written(tmp_path, ADD)
    assert run(tmp_path, "-c", "ai_core-ascend910_9391", "-m", "0") == 0
    made = tmp_path / "made"
    assert sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()) == [
        "CMakeLists.txt",
        "CMakePresets.json",
        "README.md",
        "build.sh",
        "op_host/add_custom.cpp",
        "op_kernel/add_custom.cpp",
        "op_kernel/add_custom_tiling.h",
    ]
    presets = json.loads((made / "CMakePresets.json").read_text())
    unit = presets["configurePresets"][0]["cacheVariables"]["ASCEND_COMPUTE_UNIT"]["value"]
    assert unit == "ascend910_93"
    assert 'AddConfig("ascend910_93")' in (made / "op_host" / "add_custom.cpp").read_text()
    assert subprocess.run(["bash", "-n", made / "build.sh"], check=True).returncode == 0


def test_a_project_gets_one_more_operator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, ADD, {**ADD, "op": "SubCustom"})
    unit = ("-c", "ai_core-ascend910b")
    assert run(tmp_path, *unit, "-op", "AddCustom", "-m", "1") == 1
    assert "-m 1, but no project is there" in capsys.readouterr().err
    assert run(tmp_path, *unit) == 1
    assert "choose one with -op" in capsys.readouterr().err
    assert run(tmp_path, *unit, "-op", "AddCustom") == 0
    lists = (tmp_path / "made" / "CMakeLists.txt").read_bytes()
    assert run(tmp_path, *unit, "-op", "SubCustom") == 1
    assert "CMakeLists.txt exists already" in capsys.readouterr().err
    assert run(tmp_path, *unit, "-op", "SubCustom", "-m", "1") == 0
    assert (tmp_path / "made" / "op_host" / "sub_custom.cpp").is_file()
    assert (tmp_path / "made" / "CMakeLists.txt").read_bytes() == lists
    assert run(tmp_path, *unit, "-op", "SubCustom", "-m", "1") == 1


def test_plug_ins_of_frameworks_are_left_out_with_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, ADD)
    assert run(tmp_path, "-c", "ai_core-ascend910b", "-f", "tf") == 0
    assert "-f tf: the project has no plug-in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("unit", "chip"),
    [
        ("ai_core-Ascend910B", "ascend910b"),
        ("ai_core-ascend910b4", "ascend910b"),
        ("ai_core-Ascend910_9391", "ascend910_93"),
        ("ai_core-ascend910_93", "ascend910_93"),
        ("ai_core-Ascend310P3", "ascend310p"),
        ("ai_core-ascend310B1", "ascend310b"),
        ("ai_core-ascend910", "ascend910"),
    ],
)
def test_a_model_stands_for_its_family(unit: str, chip: str) -> None:
    assert chip_of(unit) == chip


@pytest.mark.parametrize("unit", ["aicpu", "vector_core-ascend310p", "ai_core", "ascend910b"])
def test_other_units_are_refused_by_name(unit: str) -> None:
    with pytest.raises(NewOperatorError, match=repr(unit)):
        chip_of(unit)


def test_other_languages_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["gen", "-i", str(tmp_path), "-c", "ai_core-ascend910b", "-lan", "py"])
    assert "invalid choice: 'py'" in capsys.readouterr().err

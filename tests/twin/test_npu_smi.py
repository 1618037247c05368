"""npu-smi: what public setup scripts ask, cut apart as they do it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from opwright.twin.npu_smi import Machine, NpuQueryError, answer
from opwright.twin.toolkit import installed_toolkit

TWO = Machine(soc="Ascend910B4", devices=2, memory=32 << 30, driver="25.5.0")
A3 = Machine(soc="Ascend910_9391", devices=1, memory=64 << 30, driver="25.5.0")


def ask(words: str, machine: Machine = TWO) -> str:
    return answer(words.split(), lambda: machine)


def fields(text: str) -> dict[str, str]:
    """Read lines of the form `name : value`."""
    pairs = (
        line.split(" : ", 1) if " : " in line else line.split(": ", 1)
        for line in text.splitlines()
        if ":" in line
    )
    return {name.strip(): value.strip() for name, value in pairs}


def soc_version(machine: Machine) -> str:
    """Put the chip's name together as setup scripts do."""
    board = fields(ask("info -t board -i 0 -c 0", machine))
    if "NPU Name" in board:
        return f"{board['Chip Name']}_{board['NPU Name']}"
    return board["Chip Type"] + board["Chip Name"]


def test_list_of_npus() -> None:
    text = ask("info -l")
    assert [line.split(":")[1].strip() for line in text.splitlines() if "NPU ID" in line] == [
        "0",
        "1",
    ]
    assert re.search(r"Total Count\s*:\s*2\n", text)


@pytest.mark.parametrize("machine", [TWO, A3])
def test_board_gives_the_name_of_the_chip(machine: Machine) -> None:
    assert soc_version(machine) == machine.soc
    assert fields(ask("info -t board -i 0", machine))["Software Version"] == "25.5.0"


@pytest.mark.parametrize(("machine", "name"), [(TWO, "Ascend 910B4"), (A3, "Ascend910")])
def test_map_of_chips(machine: Machine, name: str) -> None:
    header, *rows = ask("info -m", machine).splitlines()
    assert re.split(r"\s{2,}", header.strip()) == [
        "NPU ID",
        "Chip ID",
        "Chip Logic ID",
        "Chip Name",
    ]
    assert [row.strip().split(None, 3) for row in rows] == [
        [str(npu), "0", str(npu), name] for npu in range(machine.devices)
    ]


def test_table() -> None:
    lines = ask("info").splitlines()
    assert {len(line) for line in lines} == {98}
    text = "\n".join(lines)
    assert re.findall(r"\|\s*(\d+)\s+910", text) == ["0", "1"]
    assert re.findall(r"(\d+)\s*/\s*(\d+)\s*\|?\s*$", lines[7]) == [("0", "32768")]
    assert text.count("No running processes found in NPU") == 2
    assert ask("info -i 1").count("910B4") == 1


def test_memory() -> None:
    usages = fields(ask("info -t usages -i 1"))
    assert usages["HBM Capacity(MB)"] == "32768"
    assert usages["HBM Usage Rate(%)"] == "0"
    assert fields(ask("info -t memory -i 1 -c 0"))["HBM Capacity(MB)"] == "32768"


def test_version() -> None:
    assert ask("-v").split(":")[-1].strip() == "25.5.0"


@pytest.mark.parametrize(
    "words",
    [
        "set -t reset",
        "info -t topo",
        "info -t topo -i 0",
        "info -t board",
        "info -x",
        "info -l -m",
        "info -l -t board",
        "info -l -i 0",
        "info -m -i 9",
        "info -c 0",
        "info -i 0 -c 0",
        "info -t",
    ],
)
def test_other_queries_are_refused_by_name(words: str) -> None:
    with pytest.raises(NpuQueryError) as caught:
        ask(words)
    assert words in str(caught.value)
    assert "info -t board -i ID" in caught.value.allowed


@pytest.mark.parametrize(
    ("words", "option"), [("info -t board -i 2", "-i"), ("info -t board -i 0 -c 1", "-c")]
)
def test_npus_that_are_not_there(words: str, option: str) -> None:
    with pytest.raises(NpuQueryError, match=f"option {option}"):
        ask(words)


@pytest.mark.twin
def test_the_command_of_the_toolkit() -> None:
    command = installed_toolkit().root / "bin" / "npu-smi"
    variables = {
        "OPWRIGHT_PYTHON": sys.executable,
        "OPWRIGHT_SOC": "Ascend910B2",
        "OPWRIGHT_DEVICES": "3",
        "OPWRIGHT_MEMORY": "1G",
        "PATH": "/usr/bin:/bin",
    }

    def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *words], env=variables | more, capture_output=True, text=True, check=False
        )

    assert fields(run("info", "-t", "board", "-i", "2", "-c", "0").stdout)["Chip Name"] == "910B2"
    assert "0    / 1024 " in run("info").stdout
    refused = run("info", "-t", "topo")
    assert refused.returncode == 1
    assert "OPW-T060" in refused.stderr
    wrong = run("info", OPWRIGHT_DEVICES="many")
    assert wrong.returncode == 1
    assert "OPWRIGHT_DEVICES='many'" in wrong.stderr

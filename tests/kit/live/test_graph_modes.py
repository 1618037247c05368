"""Operators that write, in eager and in every compiled form: the numbers, and no copy too many.

All modes run in one other process (tests/kit/live/graphs/run.py); the launches of the eager calls,
captured by hand, are what a compiled graph has to hold.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import pytest

from tests.kit.live.graphs.models import MODELS

pytestmark = [pytest.mark.twin, pytest.mark.compile]

RUN = Path(__file__).parent / "graphs" / "run.py"
MODES = ("reduce-overhead", "max-autotune", "npugraph_ex", "aot_eager")
# Of tests/kit/live/graphs/kinds.py: what they pass and return.
KINDS = (
    *("every_one", "several_results", "promoted", "written", "functional_twin", "outs"),
    "observed",
)
CASES = [(name, dynamic) for name in MODELS for dynamic in (False, True)]
Line = dict[str, Any]


def lines(mode: str) -> dict[tuple[str, bool], Line]:
    """Return the lines about each model in a mode."""
    found = [line for line in all_lines() if line["mode"] == mode]
    return {(line["model"], line["dynamic"]): line for line in found}


@cache
def all_lines() -> list[Line]:
    """Run all modes once; return their lines."""
    modes = ",".join(("by hand", *MODES))
    command = [sys.executable, "-m", "opwright", "run", "--", sys.executable, str(RUN), modes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def without_places(launches: list[str]) -> list[str]:
    """Return launches of PyTorch's own functions alike, whether a pass made them work in place."""
    return [n if n == "InplaceCopy" else n.removeprefix("Inplace") for n in launches]


@pytest.mark.parametrize(("name", "dynamic"), CASES)
@pytest.mark.parametrize("mode", MODES)
def test_results_and_written_inputs_are_those_of_eager(
    mode: str, name: str, *, dynamic: bool
) -> None:
    assert lines(mode)[name, dynamic]["wrong"] == []


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_argument_is_converted(name: str, *, dynamic: bool) -> None:
    assert lines("max-autotune")[name, dynamic]["wrong"] == []


@pytest.mark.parametrize("name", MODELS)
def test_the_models_write_what_their_tables_say(name: str) -> None:
    (launches,) = lines("by hand")[name, False]["captured"]
    own = [each.removeprefix("Graphs") for each in launches if each.startswith("Graphs")]
    assert own == list(MODELS[name].launched)
    assert launches.count("InplaceCopy") == MODELS[name].copies


@pytest.mark.parametrize(("name", "dynamic"), CASES)
def test_npugraph_ex_launches_what_is_launched_by_hand(name: str, *, dynamic: bool) -> None:
    (by_hand,) = lines("by hand")[name, False]["captured"]
    captures = lines("npugraph_ex")[name, dynamic]["captured"]
    assert len(captures) >= 1 + dynamic
    for launches in captures:
        assert without_places(launches) == without_places(by_hand)


@pytest.mark.parametrize(("name", "dynamic"), CASES)
def test_reduce_overhead_copies_written_inputs_onto_themselves_at_most(
    name: str, *, dynamic: bool
) -> None:
    """TorchAir of torch_npu 2.13.0 leaves these at the end of a graph; npugraph_ex removes them."""
    (by_hand,) = lines("by hand")[name, False]["captured"]
    captures = lines("reduce-overhead")[name, dynamic]["captured"]
    assert len(captures) >= 1 + dynamic
    for launches in captures:
        moving = [each for each in launches if each != "CopyOntoItself"]
        assert without_places(moving) == without_places(by_hand)

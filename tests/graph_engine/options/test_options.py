"""The table of options: what it accepts, and what it says of the rest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.graph_engine.errors import OptionError, UnknownOptionError
from opwright.graph_engine.options.options import (
    OPTIONS,
    Effect,
    Option,
    check_options,
    indices,
    pairs,
    parse,
)

PAGE = Path(__file__).parents[3] / "docs" / "graph_engine.md"
# Options that TorchAir passed in runs on the twin.
PASSED = {
    "ge.exec.deviceId": "0",
    "ge.session_device_id": "0",
    "ge.exec.allow_hf32": "10",
    "ge.opSelectImplmode": "high_precision",
    "ge.exec.memoryOptimizationPolicy": "MemoryPriority",
    "ge.exec.staticMemoryPolicy": "2",
    "ge.inputHintShape": "0:[2, 3];1:[s0, 4]",
    "ge.exec.outputReuseMemIndexes": "0,1",
    "ge.exec.outputReuseInputMemIndexes": "3,0|4,1",
    "ge.exec.frozenInputIndexes": "0,20651966464,48;2,20651966976,16",
    "ge.exec.hostInputIndexes": "0;3",
    "frozenInput": "0,1,0",
    "ge.inputShape": "arg0_1:4,3;arg1_1:-1,3",
    "ge.dynamicDims": "2;8;4",
    "ge.aicoreNum": "12|24",
    "ge.optimizationSwitch": "A:on;B:off",
    "op_debug_option": "",
}


@pytest.mark.parametrize("name", PASSED)
def test_what_torchair_passes_is_accepted(name: str) -> None:
    check_options("a graph", {name: PASSED[name]})


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_values_that_an_option_names_are_those_that_it_accepts(option: Option) -> None:
    for value in option.allowed.split(", "):
        if re.fullmatch(r"-?\d+|true|false|O\d|[A-Z]\w+Priority|high_\w+", value):
            check_options("a graph", {option.name: value})
    if option.pattern != r"(?s).*":
        with pytest.raises(OptionError, match=re.escape(f"option '{option.name}'")):
            check_options("a graph", {option.name: "?\t?"})


def test_a_range_of_runs_that_ends_before_it_begins_is_refused() -> None:
    check_options("a graph", {"ge.exec.dumpStep": "0|2-5|7-7|"})
    with pytest.raises(OptionError, match="dumpStep") as caught:
        check_options("a graph", {"ge.exec.dumpStep": "0|5-2"})
    assert caught.value.got == "'0|5-2'"
    assert caught.value.allowed == ("run|first-last|… with first <= last",)


def test_an_unknown_option_is_refused_with_those_that_resemble_it() -> None:
    with pytest.raises(UnknownOptionError) as caught:
        check_options("a graph", {"ge.topoSortMode": "1"})
    assert caught.value.where == "a graph"
    assert caught.value.allowed[0] == "ge.topoSortingMode"


def test_what_the_twin_cannot_do_is_refused_with_the_reason() -> None:
    with pytest.raises(OptionError, match="no flags that tell the overflows"):
        check_options("the engine", {"ge.exec.dumpDebugMode": "atomic_overflow"})


@given(
    st.dictionaries(
        st.from_regex(r"[\w.]+", fullmatch=True),
        st.from_regex(r"[^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]*", fullmatch=True),
    )
)
def test_lines_are_read_back(options: dict[str, str]) -> None:
    assert parse("".join(f"{name}={value}\n" for name, value in options.items())) == options


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1))
def test_lists_of_indices_are_read_back(entries: list[tuple[int, int]]) -> None:
    assert pairs("|".join(f"{a},{b}" for a, b in entries)) == entries
    assert indices(";".join(f"{a},{b},64" for a, b in entries)) == [a for a, _ in entries]


def rows() -> list[str]:
    """Return the rows of the documentation's table."""
    cells = [
        [f"`{option.name}`", option.allowed, option.effect.value, option.meaning]
        for option in OPTIONS.values()
        if option.effect is not Effect.TORCHAIR
    ]
    return ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in cells]


@pytest.mark.parametrize("row", rows())
def test_the_documentation_has_every_option(row: str) -> None:
    assert row in PAGE.read_text(encoding="utf-8").splitlines()

"""TorchAir's converters of ATen and prims operators: their graphs compute what eager computes.

Each converter declares sample inputs. A sixteenth of them, chosen by hash, runs in every test run;
all of them (five minutes) with

    CONFORMANCE=1 pytest tests/graph_engine/test_converters.py

converters.toml holds the samples that are expected to fail, with reasons; one that passes is a
failure as well.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tomli

from tests.graph_engine import conversion
from tests.twin.on_twin import output

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
PARTS = 16
WHOLE = bool(os.environ.get("CONFORMANCE"))
REASONS: dict[str, str] = {
    name: group["reason"]
    for group in tomli.loads((HERE / "converters.toml").read_text(encoding="utf-8"))["expected"]
    for name in group["samples"]
}


def reported(function: Callable[..., None], *arguments: object) -> list[dict[str, str]]:
    """Return what a function of conversion.py reports, in a process of its own."""
    printed = output(function, *arguments)
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("part", range(PARTS if WHOLE else 1))
def test_graphs_of_one_operator_equal_eager(part: int) -> None:
    results = {result["name"]: result for result in reported(conversion.main, part, PARTS)}
    failed = {name for name, result in results.items() if result["status"] != "equal"}
    unexpected = [
        f"{name}: {results[name]['status']}: {results[name]['text']}"
        for name in sorted(failed - REASONS.keys())
    ]
    passed = [
        f"{name} passes, but converters.toml says: {REASONS[name]}"
        for name in sorted((results.keys() - failed) & REASONS.keys())
    ]
    assert results
    assert not unexpected + passed, "\n".join(unexpected + passed)


def test_the_ledger_names_samples_that_exist() -> None:
    names = {result["name"] for result in reported(conversion.print_names)}
    assert len(names) > 700
    assert sorted(REASONS.keys() - names) == []

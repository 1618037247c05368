"""The decode step with sparse attention, used as its README says, and with a mistake in it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests.acceptance.sample import copied, run

if TYPE_CHECKING:
    from pathlib import Path

MODES = ["eager", "reduce-overhead", "max-autotune"]

pytestmark = [pytest.mark.twin, pytest.mark.compile, pytest.mark.slow]


def tables(output: str) -> list[list[list[str]]]:
    """Return the cells of each table that is printed."""
    blocks = re.findall(r"(?:^\|.*\n)+", output, re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        for block in blocks
    ]


def test_all_modes_agree_and_tables_and_plot_are_made(tmp_path: Path) -> None:
    sample = copied("sparse_decode", tmp_path)
    done = run("bash", sample / "run.sh", "test")
    assert done.returncode == 0, done.stdout + done.stderr
    agreement, speed, attention = tables(done.stdout)

    assert [row[0] for row in agreement[2:]] == MODES
    for row in agreement[2:]:
        counts = re.fullmatch(r"(\d+) of 12(?:, ties: (\d+))?", row[1])
        assert counts is not None
        assert int(counts[1]) + int(counts[2] or 0) == 12
    assert {row[3] for row in agreement[2:4]} == {"bit for bit"}, "a replay runs the same kernels"
    assert speed[0] == ["context", *MODES]
    assert [row[0] for row in speed[2:]] == ["4 K", "8 K"]
    assert all(float(cell) > 0 for row in speed[2:] for cell in row[1:])
    assert [row[0] for row in attention[2:]] == ["4 K", "8 K"]

    results = json.loads((sample / "build" / "results.json").read_text(encoding="utf-8"))
    for row, found in zip(attention[2:], results["attention"], strict=True):
        sparse = found["indexer"] + found["sparse"]
        dense = min(found["dense_kernel"], found["dense_matmul"])
        assert row[-1] == f"{dense / sparse:.1f}"

    plot = ET.parse(sample / "build" / "plot.svg")  # noqa: S314 - the sample wrote it
    texts = {element.text for element in plot.iter("{http://www.w3.org/2000/svg}text")}
    assert {"4 K", "8 K", "dense: all tokens", f"{attention[2][-1]} x"} <= texts


def test_a_model_that_selects_other_tokens_does_not_pass(tmp_path: Path) -> None:
    sample = copied("sparse_decode", tmp_path)
    model = sample / "model.py"
    text = model.read_text(encoding="utf-8")
    wrong = text.replace("sparse_count=c.selected", "sparse_count=c.selected // 2")
    assert wrong != text
    model.write_text(wrong, encoding="utf-8")
    done = run("bash", sample / "run.sh", "test")
    assert done.returncode == 1
    assert "eager does not agree" in done.stderr
    assert not (sample / "build" / "plot.svg").exists()

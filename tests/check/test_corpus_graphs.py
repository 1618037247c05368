"""Operators broken on purpose are caught by their row, sound ones pass: in graphs.

A sound operator meets its own row and one in six of the quick ones, always the same; with
OPWRIGHT_CORPUS=all in the environment it meets the whole matrix, which takes many minutes.

In processes of their own: TorchAir cannot be used where npugraph_ex was, as it may have been by
other tests.
"""

from __future__ import annotations

import json
import os

import pytest

from tests.check.corpus_cells import GRAPHS
from tests.twin.on_twin import output

SCRIPT = """
import json, os
import torchair
os.environ["OPWRIGHT_CORPUS"] = {share!r}
from tests.check import corpus_cells
print(json.dumps(corpus_cells.{function}({name!r})))
"""


def found(function: str, name: str) -> object:
    """Run a function of corpus_cells on a file of the corpus."""
    share = os.environ.get("OPWRIGHT_CORPUS", "")
    text = output(SCRIPT.format(share=share, function=function, name=name))
    return json.loads(text.splitlines()[-1])


@pytest.mark.parametrize("name", GRAPHS)
def test_each_fault_is_caught_by_its_row(name: str) -> None:
    assert found("missed", name) == {}


@pytest.mark.parametrize("name", GRAPHS)
def test_sound_operators_pass(name: str) -> None:
    assert found("alarms", name) == {}

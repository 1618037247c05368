"""Operators broken on purpose are caught by their row, sound ones pass: their process.

A sound operator meets its own row and one in six of the quick ones, always the same; with
OPWRIGHT_CORPUS=all in the environment it meets the whole matrix, which takes many minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.check.corpus_cells import MARKS, PROCESS, alarms, missed, module_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = MARKS


@pytest.fixture(scope="module", autouse=True)
def clean_process() -> Iterator[None]:
    """Give back what the leaks took, after the last test."""
    yield
    module_of("leaks").give_back()
    module_of("state").give_back()


@pytest.mark.parametrize("name", PROCESS)
def test_each_fault_is_caught_by_its_row(name: str) -> None:
    assert missed(name) == {}


@pytest.mark.parametrize("name", PROCESS)
def test_sound_operators_pass(name: str) -> None:
    assert alarms(name) == {}

"""Operators whose streams have no order are caught by their row, sound ones pass.

The process compares what its streams do, so that it is another one.
"""

from __future__ import annotations

import pytest

from opwright.check.examine import examine_operator
from opwright.check.rows import row
from tests.check.corpus_cells import MARKS, ORDER, alarms, missed, subjects

checked = pytest.mark.isolated(OPWRIGHT_ORDER="1", TASK_QUEUE_ENABLE="0")
pytestmark = MARKS


@checked
@pytest.mark.parametrize("name", ORDER)
def test_each_fault_is_caught_by_its_row(name: str) -> None:
    assert missed(name) == {}


@checked
@pytest.mark.parametrize("name", ORDER)
def test_sound_operators_pass(name: str) -> None:
    assert alarms(name) == {}


def test_a_process_that_compares_nothing_says_so() -> None:
    found, _ = subjects("order")
    (outcome,) = examine_operator(found["both_wait"], [row("order")])
    assert outcome.status == "not applicable"
    assert "opwright run --order" in outcome.reason

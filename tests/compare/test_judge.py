"""Verdicts about records: which difference of a mode is the first, and of what kind it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from opwright.compare.judge import Run, find_other_arguments, judge
from opwright.compare.record import OperatorCall, Record, StepCall, read_record, write_record
from opwright.compare.tensors import TensorFolder

if TYPE_CHECKING:
    from pathlib import Path

    from opwright.compare.record import Value

pytestmark = pytest.mark.torch


class Writer:
    """Makes runs whose tensors are single numbers."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.tensors = TensorFolder(folder)

    def value(self, name: str, number: float) -> Value:
        return self.tensors.write(name, torch.tensor(float(number)))

    def operator(
        self, name: str, given: float, got: float, *, text: str = "", expected: float | None = None
    ) -> OperatorCall:
        return OperatorCall(
            operator=name,
            source="step.py:1 in step: …",
            text=text,
            inputs=(self.value("self", given),),
            outputs=(self.value("output", got),),
            expected=() if expected is None else (self.value("output", expected),),
        )

    def run(self, argument: float, result: float, *operators: OperatorCall) -> Run:
        call = StepCall(
            arguments=(self.value("argument", argument),),
            results=(self.value("result", result),),
            operators=operators,
        )
        return Run(record=Record(step="step.py:1 step", calls=(call,)), folder=self.folder)


@pytest.fixture
def one(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "one")


@pytest.fixture
def eager(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "eager")


def test_equal_runs_agree_and_their_operators_are_counted(one: Writer, eager: Writer) -> None:
    runs = [each.run(1, 2, each.operator("aten.add", 1, 2)) for each in (one, eager)]
    verdict = judge("captured", *runs)
    assert verdict.agrees
    assert (verdict.calls, verdict.compared, verdict.largest) == (1, 1, 0)


@pytest.mark.parametrize(
    ("kind", "name", "given", "got", "text"),
    [
        ("operator", "aten.mul", 2.0, 7.0, "mul(t[0], 3)"),
        ("constant", "aten.mul", 2.0, 4.0, "mul(t[0], 2)"),
        ("input", "aten.mul", 5.0, 15.0, "mul(t[0], 3)"),
        ("order", "aten.div", 2.0, 7.0, "div(t[0], 3)"),
    ],
)
def test_the_first_operator_of_a_replay_that_differs_is_named(
    kind: str, name: str, given: float, got: float, text: str, one: Writer, eager: Writer
) -> None:
    right = [each.operator("aten.add", 1, 2) for each in (one, eager)]
    wanted = eager.operator("aten.mul", 2, 6, text="mul(t[0], 3)")
    found = one.operator(name, given, got, text=text)
    verdict = judge("captured", one.run(1, got, right[0], found), eager.run(1, 6, right[1], wanted))
    assert verdict.difference is not None
    assert (verdict.difference.kind, verdict.difference.number) == (kind, 2)
    assert verdict.difference.operator == found


def test_a_node_of_a_compiled_graph_is_compared_with_eager_on_its_own_inputs(
    one: Writer, eager: Writer
) -> None:
    wrong = one.operator("aten.mul", 2, 7, expected=6)
    verdict = judge(
        "max-autotune", one.run(1, 7, wrong), eager.run(1, 6, eager.operator("aten.mul", 2, 6))
    )
    assert verdict.difference is not None
    assert (verdict.difference.kind, verdict.difference.operator) == ("operator", wrong)


def test_an_operator_that_no_graph_computes_was_lost_in_tracing(one: Writer, eager: Writer) -> None:
    graph = one.operator("aten.mul", 1, 2, expected=2)
    verdict = judge(
        "npugraph_ex", one.run(1, 2, graph), eager.run(1, 3, eager.operator("aten.mul", 1, 3))
    )
    assert verdict.difference is not None
    assert verdict.difference.kind == "tracing"


def test_results_that_differ_where_memory_is_used_again_are_named(
    one: Writer, eager: Writer, tmp_path: Path
) -> None:
    whole = Writer(tmp_path / "whole").run(1, 9)
    verdict = judge("captured", one.run(1, 2), eager.run(1, 2), whole)
    assert verdict.difference is not None
    assert verdict.difference.kind == "memory"


def test_other_arguments_at_the_first_call_are_named(one: Writer, eager: Writer) -> None:
    wanted = eager.run(1, 2).record
    assert find_other_arguments(one.run(1, 2).record, wanted) is None
    assert find_other_arguments(one.run(3, 2).record, wanted) == "argument, float32[]"


def test_a_record_is_read_as_it_was_written(one: Writer, tmp_path: Path) -> None:
    record = one.run(1, 2, one.operator("aten.mul", 1, 2, expected=2)).record
    assert read_record(tmp_path) is None
    write_record(tmp_path, record)
    assert read_record(tmp_path) == record

"""Names of the tensors of a call: one tensor has one, wherever it is looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")
import torch

import opwright as ow
from opwright.check.observe.memory import label_tensors
from opwright.check.observe.program import name_tensors, program_of
from opwright.check.observe.tensors import replace_tensors, tensors_by_place
from opwright.check.subject import Subject, flat
from opwright.kit.derive import derive

if TYPE_CHECKING:
    from opwright.check.observe.program import Shape


def test_an_absent_tensor_of_a_list_counts_in_the_names_of_the_others() -> None:
    one, two = torch.ones(1), torch.ones(2)
    values = {"x": one, "xs": [None, two], "none": None, "factor": 2.0}
    wanted = {"x": one, "xs[1]": two}
    assert flat(values) == wanted
    assert dict(tensors_by_place(values, values)) == wanted
    assert {label: tensor for _, label, tensor in label_tensors(values)} == wanted
    assert [name for name, _, _ in label_tensors(values)] == ["x", "xs"]
    places = replace_tensors(values, values, lambda place, _: place)
    assert places == {"x": "x", "xs": [None, "xs[1]"], "none": None, "factor": 2.0}


ops = ow.OperatorSet("subjects_of_tests")


@ops.operator(
    "masked(Tensor x, bool train=False) -> (Tensor y, Tensor mask, Tensor z)",
    unspecified={"mask": "not train"},
)
def masked(x: torch.Tensor, train: bool = False) -> tuple[torch.Tensor, ...]:  # noqa: FBT001, FBT002
    return x * 2, (x > 0).to(x.dtype) if train else torch.full_like(x, torch.nan), x * 3


def subject_of(namespace: str) -> Subject:
    facts = derive(ops.freeze())
    return Subject(
        namespace=namespace, operator=facts.operators[0].operator, facts=facts.operators[0]
    )


def test_results_that_a_call_leaves_open_are_not_looked_at() -> None:
    subject = subject_of(ops.namespace)
    x = torch.ones(2)
    names = {train: list(subject.expected({"x": x, "train": train})) for train in (False, True)}
    assert names == {False: ["y", "z"], True: ["y", "mask", "z"]}
    returned = masked.reference(x)
    assert list(subject.computed(returned, {"x": x, "train": False})) == ["y", "z"]


@pytest.mark.parametrize("shape", ["direct", "between", "written"])
def test_programs_leave_out_results_that_a_call_leaves_open(shape: Shape) -> None:
    subject = subject_of(ops.namespace)
    x = torch.ones(2)
    for train, count in ((False, 2), (True, 3)):
        program = program_of(subject, {"x": x, "train": train}, shape, (2,))
        returned = name_tensors(program.function(masked.reference)(x))
        assert len(returned) == count, program.text
        assert not any(each.isnan().any() for each in returned.values())
        *_, last = returned.values()
        assert torch.equal(last, x * (4 if shape == "written" else 3)), program.text

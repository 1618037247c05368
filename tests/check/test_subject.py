"""Names of the tensors of a call: one tensor has one, wherever it is looked up."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
import torch

from opwright.check.observe.memory import labelled
from opwright.check.observe.tensors import replaced, tensors_by_place
from opwright.check.subject import flat


def test_an_absent_tensor_of_a_list_counts_in_the_names_of_the_others() -> None:
    one, two = torch.ones(1), torch.ones(2)
    values = {"x": one, "xs": [None, two], "none": None, "factor": 2.0}
    wanted = {"x": one, "xs[1]": two}
    assert flat(values) == wanted
    assert dict(tensors_by_place(values, values)) == wanted
    assert {label: tensor for _, label, tensor in labelled(values)} == wanted
    assert [name for name, _, _ in labelled(values)] == ["x", "xs"]
    places = replaced(values, values, lambda place, _: place)
    assert places == {"x": "x", "xs": [None, "xs[1]"], "none": None, "factor": 2.0}

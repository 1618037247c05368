"""Operators that nobody describes: their arguments are guessed, and kept if they are accepted."""

from __future__ import annotations

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401

from opwright.check.samples import Samples
from opwright.check.samples.specs import specs_in
from opwright.check.subject import Subject
from opwright.kit.declare.operator import Operator
from opwright.kit.declare.place import Place
from opwright.kit.declare.sample import TensorSpec
from opwright.kit.declare.schema_text import parse_schema

pytestmark = pytest.mark.twin
NAMESPACE = "samples_bare"
LIBRARY = torch.library.Library(NAMESPACE, "DEF")  # type: ignore[no-untyped-call]


def as_mask(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype not in {torch.bool, torch.uint8}:
        message = "keep must be a mask"
        raise TypeError(message)
    return tensor.bool()


OPERATORS = {
    "same(Tensor x, Tensor y, float p=0.5) -> Tensor": lambda x, y, p=0.5: x + y * p,
    "linear(Tensor x, Tensor w, Tensor? bias=None) -> Tensor": (
        lambda x, w, bias=None: x @ w if bias is None else x @ w + bias
    ),
    "looked_up(Tensor table, Tensor index) -> Tensor": lambda table, index: table[index],
    "hidden(Tensor x, Tensor keep) -> Tensor": lambda x, keep: x * as_mask(keep),
    "image(Tensor x) -> Tensor": lambda x: torch.nn.functional.max_pool2d(x, 1),
    "many(Tensor[] xs, int dim) -> Tensor": torch.cat,
    "scaled(Tensor x, float? scale=2.0, float? shift=None) -> Tensor": (
        lambda x, scale=2.0, shift=None: x * (scale or 1) + (shift or 0)
    ),
    "masked(Tensor x, bool[3] mask, bool negated=False) -> Tensor": (
        lambda x, mask, negated=False: x * sum(mask) * (-1 if negated else 1)
    ),
    "never(Tensor x) -> Tensor": lambda x: x.view(7, 11, 13),
    "stream(Tensor x, Generator g) -> Tensor": lambda x, _: x,
}
for text, function in OPERATORS.items():
    LIBRARY.define(text)  # type: ignore[no-untyped-call]
    LIBRARY.impl(text.partition("(")[0], function, "CPU")  # type: ignore[no-untyped-call]


def samples(name: str) -> Samples:
    """Return the samples of an operator."""
    text = next(each for each in OPERATORS if each.startswith(f"{name}("))
    schema = parse_schema(text, where="test")
    operator = Operator(schema=schema, place=Place(file="test", line=1))
    return Samples(Subject(namespace=NAMESPACE, operator=operator, is_foreign=True), device="cpu")


@pytest.mark.parametrize("name", ["same", "linear", "looked_up", "hidden", "image", "many"])
def test_arguments_are_found(name: str) -> None:
    found = samples(name)
    assert len(list(found.of({"size", "dtype", "layout"}, 5))) > 3
    assert found.why_none() is None


def test_a_mask_has_each_dtype_that_is_accepted() -> None:
    found = [dict(each.values)["keep"] for each in samples("hidden").of({"dtype"}, 0)]
    dtypes = {each.dtype for each in found if isinstance(each, TensorSpec)}
    assert dtypes == {"bool", "uint8"}


def test_the_tensors_of_a_list_have_different_dtypes() -> None:
    lists = [dict(each.values)["xs"] for each in samples("many").of({"dtype"}, 0)]
    dtypes = [tuple(spec.dtype for spec in specs_in(each)) for each in lists]
    assert ("float32", "float16") in dtypes


def test_a_number_that_may_be_none_has_its_default_and_none_and_other_values() -> None:
    found = samples("scaled")
    given = [dict(each.values) for each in found.of({"presence", "value"}, 0)]
    assert "scale" not in given[0]
    assert None in [each.get("scale", 2.0) for each in given]
    (distinct,) = found.distinct
    values = dict(distinct.sample.values)
    assert values["scale"] not in {None, 2.0, values["shift"]}
    assert values["shift"] is not None
    (falsy,) = found.falsy
    assert dict(falsy.sample.values)["scale"] == 0.0


def test_each_flag_is_set_alone() -> None:
    masked = samples("masked")
    found = [dict(each.sample.values) for each in (*masked.flags, *masked.distinct)]
    assert [(each["mask"], each.get("negated", False)) for each in found] == [
        ((True, False, False), False),
        ((False, True, False), False),
        ((False, False, True), False),
        ((False, False, False), True),
    ]
    assert samples("scaled").flags == []


def test_an_index_is_one_of_whole_numbers() -> None:
    first = dict(next(samples("looked_up").of(set(), 0)).values)
    assert isinstance(first["index"], TensorSpec)
    assert first["index"].dtype == "int64"


def test_what_to_do_if_nothing_is_accepted() -> None:
    found = samples("never")
    assert not list(found.of({"size"}, 5))
    text = found.why_none() or ""
    assert "shape '[7, 11, 13]' is invalid" in text
    assert "OperatorSet('samples_bare', existing=True)" in text


def test_what_no_sample_can_give() -> None:
    assert "an argument that no sample can give" in (samples("stream").why_none() or "")

"""Samples reach where kernels break: attributes, axes, blocks, ends of rules, given values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin

# isort: split
import torch
import torch_npu  # noqa: F401

import opwright as ow
from opwright.check.as_json import value_as_json, value_from_json
from opwright.check.observe.sizes import other_sizes
from opwright.check.repro.arguments import write_dense
from opwright.check.row_context import RowContext
from opwright.check.rows import row
from opwright.check.samples import ALL, Samples, arguments, describe
from opwright.check.samples.specs import specs_of
from opwright.check.subject import Subject
from opwright.kit.declare.sample import TensorSpec
from opwright.kit.derive import derive

if TYPE_CHECKING:
    from opwright.kit.declare.sample import Sample

pytestmark = pytest.mark.twin


def nothing(*args: object, **kwargs: object) -> None:
    """Accept all that the rules accept."""


def reached(text: str, **fields: object) -> Samples:
    """Return the samples of an operator that writes nothing and returns nothing."""
    alone = ow.OperatorSet("reached")
    alone.operator(text, aclnn=False, **fields)(nothing)  # type: ignore[arg-type]
    facts = derive(alone.freeze())
    (operator,) = facts.operators
    return Samples(
        Subject(namespace="reached", operator=operator.operator, facts=operator, of_set=facts)
    )


def given(found: list[Sample], name: str) -> list[object]:
    """Return what samples give for an argument."""
    return [dict(each.values).get(name) for each in found]


def test_attributes_are_away_from_their_defaults_and_from_each_other() -> None:
    samples = reached(
        "f(Tensor x, float a=1.0, float b=1.0, int m=0, int n=0, bool c=False) -> ()",
        samples=[ow.sample(x=ow.tensor(3))],
    )
    (found,) = samples.distinct
    values = dict(found.sample.values)
    assert values.keys() == {"x", "a", "b", "m", "n", "c"}
    numbers = [values[name] for name in "abmn"]
    assert len({float(str(each)) for each in numbers}) == 4
    # Each row has it, whatever it varies.
    assert found.sample in list(samples.of({"dtype"}, 0))


def test_an_attribute_that_must_keep_its_value_does_not_keep_the_others() -> None:
    samples = reached(
        "f(Tensor x, int k=2, int m=1) -> ()",
        samples=[ow.sample(x=ow.tensor(3))],
        requires=["k == 2"],
    )
    (found,) = samples.distinct
    assert dict(found.sample.values).keys() == {"x", "m"}


def test_operators_without_attributes_have_no_sample_more() -> None:
    assert reached("f(Tensor x) -> ()", samples=[ow.sample(x=ow.tensor(3))]).distinct == []


def test_axes_are_counted_from_both_ends() -> None:
    samples = reached("f(Tensor x, int dim=-1) -> ()", samples=[ow.sample(x=ow.tensor(2, 3, 4))])
    found = {-1 if each is None else each for each in given(list(samples.of({"value"}, 0)), "dim")}
    assert {-3, -2, -1, 0, 1, 2} <= found


def test_rules_are_tried_where_they_begin_and_end() -> None:
    samples = reached(
        "f(Tensor x, int k=8, float p=0.5) -> ()",
        shapes={"x": "N"},
        samples=[ow.sample(x=ow.tensor(32))],
        requires=["N >= 20", "N <= 48", "4 <= k", "k <= 11", "p >= 0", "p <= 3"],
    )
    found = list(samples.of(ALL, 0))
    assert {20, 48} <= {spec.shape[0] for each in found for spec in specs_of(each)}
    assert {4, 11} <= set(given(found, "k"))
    assert {0.0, 3.0} <= set(given(found, "p"))


@pytest.mark.parametrize("pattern", ["N", "*sizes", "*batch, D", "N, D", None])
def test_a_handful_of_samples_is_as_large_as_blocks(pattern: str | None) -> None:
    shapes = {} if pattern is None else {"x": pattern}
    shape = (3,) if pattern == "N" else (2, 3)
    samples = reached("f(Tensor x) -> ()", shapes=shapes, samples=[ow.sample(x=ow.tensor(*shape))])
    specs = [spec for each in samples.wide for spec in specs_of(each)]
    assert len(specs) <= 8
    assert {63, 64, 65, 128} <= {spec.shape[-1] for spec in specs}
    counts = [torch.Size(spec.shape).numel() for spec in specs]
    assert max(counts) > 4096
    assert max(counts) <= 65536


def test_given_values_are_those_of_the_tensor() -> None:
    samples = reached(
        "f(Tensor x) -> ()",
        dtypes="int64",
        samples=[ow.sample(x=ow.tensor(values=[[3, 1], [2, 5]]))],
    )
    first, *others = samples.of({"size", "layout", "value"}, 3)
    made = arguments(samples.subject.operator, first, "cpu")["x"]
    assert made.tolist() == [[3, 1], [2, 5]]
    assert describe(first) == "sample(x=tensor(2, 2, dtype='int64', values=[3, 1, 2, 5]))"
    for each in others:
        x = arguments(samples.subject.operator, each, "cpu")["x"]
        assert not x.numel() or (x.min() >= 1 and x.max() <= 5), describe(each)


def test_given_values_have_other_sizes_beside_them() -> None:
    samples = reached(
        "f(Tensor x) -> ()",
        dtypes="int64",
        shapes={"x": "N, D"},
        samples=[ow.sample(x=ow.tensor(values=[[3, 1], [2, 5]]))],
    )
    context = RowContext(samples.subject, row("meta"), "meta", samples=samples)
    (first,) = samples.subject.operator.samples
    others = list(other_sizes(context, first, alike=True))
    assert others
    for each in others:
        x = context.arguments(each, "cpu")["x"]
        assert x.numel() > 4
        assert (int(x.min()), int(x.max())) >= (1, 1)
        assert x.max() <= 5


def test_given_values_are_kept_in_documents_and_scripts() -> None:
    spec = ow.tensor(values=[0.5, float("nan")], dtype="float16")
    again = value_from_json(value_as_json(spec))
    assert isinstance(again, TensorSpec)
    assert repr(again) == repr(spec)
    made = eval(write_dense(spec), {"torch": torch})  # noqa: S307 - the checked text itself
    assert made.dtype is torch.float16
    assert made[0] == 0.5
    assert made[1].isnan()

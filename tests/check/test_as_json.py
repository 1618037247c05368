"""A document written as JSON is read back as it was."""

from __future__ import annotations

import dataclasses
import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.check.as_json import (
    outcome_as_json,
    outcome_from_json,
    record_from_text,
    record_text,
    sample_as_json,
    sample_from_json,
)
from opwright.check.finding import Finding, Kind
from opwright.check.outcome import Outcome, Status
from opwright.check.record import CheckedOperator, CheckedRow, KnownFailure, Record
from opwright.check.report.errors import RunDocumentError
from opwright.kit.declare.sample import Sample, TensorSpec, Value, sample, tensor

NUMBERS = st.one_of(st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.none())
SIZES = st.lists(st.integers(0, 9), max_size=4).map(tuple)
TEXTS = st.text(max_size=20)


def others(of: type, but: str) -> dict[str, st.SearchStrategy[object]]:
    """Return values for all fields but one: whatever fields there are, they come back."""
    return {
        each.name: st.one_of(st.just(each.default), NUMBERS, TEXTS, SIZES)
        for each in dataclasses.fields(of)
        if each.name != but
    }


TENSORS = st.builds(TensorSpec, shape=SIZES, **others(TensorSpec, "shape"))
VALUES: st.SearchStrategy[Value] = st.recursive(
    st.one_of(NUMBERS, TEXTS, TENSORS), lambda inner: st.lists(inner, max_size=3).map(tuple)
)
PAIRS = st.lists(st.tuples(TEXTS, VALUES), max_size=4)
SAMPLES = st.builds(Sample, PAIRS.map(tuple), **others(Sample, "values"))
FINDINGS = st.builds(
    Finding,
    kind=st.builds(Kind, TEXTS, TEXTS, TEXTS),
    expected=TEXTS,
    got=TEXTS,
    place=TEXTS,
    fix=TEXTS,
    sample=st.none() | SAMPLES,
    script=st.lists(TEXTS, max_size=3).map(tuple),
    trace=TEXTS,
)
OUTCOMES = st.builds(
    Outcome,
    operator=TEXTS,
    row=TEXTS,
    column=TEXTS,
    status=st.sampled_from(get_args(Status)),
    reason=TEXTS,
    seconds=st.floats(),
    calls=st.integers(0),
    samples=st.lists(TEXTS, max_size=3).map(tuple),
    findings=st.lists(FINDINGS, max_size=2).map(tuple),
    details=st.dictionaries(TEXTS, TEXTS, max_size=2),
)
RUNS = st.builds(
    Record,
    target=TEXTS,
    versions=st.dictionaries(TEXTS, TEXTS, max_size=2),
    seed=st.integers(),
    seconds=st.floats(),
    operators=st.lists(st.builds(CheckedOperator), max_size=2).map(tuple),
    rows=st.lists(
        st.builds(
            CheckedRow,
            columns=st.lists(TEXTS, max_size=2).map(tuple),
            kinds=st.lists(TEXTS, max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    outcomes=st.lists(OUTCOMES, max_size=2).map(tuple),
    known=st.lists(st.builds(KnownFailure), max_size=2).map(tuple),
    unexpected=st.lists(TEXTS, max_size=2).map(tuple),
)


# repr, because NaN differs from itself, and 1 equals True and 1.0.
@given(SAMPLES)
def test_a_sample_comes_back(given: Sample) -> None:
    text = json.dumps(sample_as_json(given), allow_nan=False)
    assert repr(sample_from_json(json.loads(text))) == repr(given)


@given(OUTCOMES)
def test_an_outcome_comes_back(outcome: Outcome) -> None:
    text = json.dumps(outcome_as_json(outcome), allow_nan=False)
    assert repr(outcome_from_json(json.loads(text))) == repr(outcome)


@given(RUNS)
def test_a_run_comes_back(record: Record) -> None:
    assert repr(record_from_text(record_text(record), where="run.json")) == repr(record)


def test_what_a_sample_looks_like() -> None:
    given = sample(
        x=tensor(2, 3, dtype="float16"), y=[tensor(1), None], p=float("-inf"), axis=(0, 1)
    )
    assert sample_as_json(given) == {
        "values": [
            ["x", {"tensor": {"shape": [2, 3], "dtype": "float16"}}],
            ["y", [{"tensor": {"shape": [1]}}, None]],
            ["p", {"float": "-inf"}],
            ["axis", [0, 1]],
        ]
    }


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("{", "JSONDecodeError: Expecting property name"),
        ("[]", "another document"),
        ('{"format": "SARIF"}', "another document"),
        ('{"format": "opwright check", "version": 99}', "version 99"),
        ('{"format": "opwright check", "version": 1}', "KeyError: 'target'"),
    ],
)
def test_another_document_is_refused(text: str, got: str) -> None:
    with pytest.raises(RunDocumentError) as caught:
        record_from_text(text, where="run.json")
    assert caught.value.got.startswith(got)
    assert caught.value.where == "run.json"

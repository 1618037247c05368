"""The smallest sample that fails is found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch_npu  # noqa: F401

from opwright.check.samples import ALL, Samples
from opwright.kit.declare.sample import TensorSpec, sample, tensor
from opwright.project.config import run_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.kit.declare.sample import Sample

pytestmark = pytest.mark.twin
declared = run_file(Path(__file__).parent / "declared.py")


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search take as long as a busy machine makes it."""
    monkeypatch.setattr("opwright.check.samples.shrink.SECONDS", 1e6)


def specs(each: Sample) -> list[TensorSpec]:
    """Return the tensors of a sample."""
    return [value for _, value in each.values if isinstance(value, TensorSpec)]


def shrunk(name: str, fails: Callable[[Sample], bool]) -> list[Sample]:
    """Return what samples that fail become."""
    samples = Samples(declared.subject(name))
    failing = [each for each in samples.of(ALL, 20) if fails(each)]
    assert failing
    return [samples.shrink(each, fails) for each in failing]


def test_nothing_is_left_that_is_not_needed() -> None:
    wanted = sample(x=tensor(1, dtype="float32"), w=tensor(1, 1, dtype="float32"))
    assert set(shrunk("named", lambda _: True)) == {wanted}


def test_sizes_and_a_dtype() -> None:
    def fails(each: Sample) -> bool:
        return any(
            spec.dtype == "float16" and max(spec.shape, default=0) > 2 for spec in specs(each)
        )

    for each in shrunk("named", fails):
        assert fails(each)
        assert max(size for spec in specs(each) for size in spec.shape) == 3
        assert {spec.dtype for spec in specs(each)} == {"float16"}
        assert {spec.layout for spec in specs(each)} == {"contiguous"}
        assert each.seed == 0


def test_a_layout() -> None:
    def fails(each: Sample) -> bool:
        return specs(each)[1].layout == "transposed"

    for each in shrunk("middle", fails):
        assert specs(each)[0].layout == "contiguous"
        assert specs(each)[1].shape == (2, 2)


def test_an_empty_axis_stays_if_it_is_the_cause() -> None:
    for each in shrunk("named", lambda each: 0 in specs(each)[0].shape):
        assert each == sample(x=tensor(0, dtype="float32"), w=tensor(0, 1, dtype="float32"))


def test_an_explicit_sample_becomes_smaller() -> None:
    for each in shrunk("indexed", lambda _: True):
        assert [spec.shape for spec in specs(each)] == [(1, 1), ()]


def test_lists_and_values() -> None:
    def fails(each: Sample) -> bool:
        rest = dict(each.values)["rest"]
        return isinstance(rest, tuple) and len(rest) > 1

    for each in shrunk("several", fails):
        values = dict(each.values)
        assert values["rest"] == (tensor(dtype="float32"),) * 2
        assert values["parts"] == ()
        assert "mode" not in values


def test_an_exception_is_another_fault() -> None:
    samples = Samples(declared.subject("plain"))
    first = next(samples.of(ALL, 0))

    def raises(each: Sample) -> bool:
        raise RuntimeError(each)

    assert samples.shrink(first, raises) == first


@pytest.mark.parametrize(("seconds", "is_searched"), [(1e6, True), (-1.0, False)])
def test_a_search_ends_when_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    is_searched: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    monkeypatch.setattr("opwright.check.samples.shrink.SECONDS", seconds)
    samples = Samples(declared.subject("required"))
    calls = []

    def fails(each: Sample) -> bool:
        calls.append(each)
        return False

    first = next(samples.of(ALL, 0))
    assert samples.shrink(first, fails) == first
    assert bool(calls) == is_searched


def test_a_sample_of_another_origin_becomes_smaller_too() -> None:
    samples = Samples(declared.subject("plain"))
    other = sample(x=tensor(7, 7, dtype="float16", low=2, high=3))
    assert samples.shrink(other, lambda _: True) == sample(x=tensor(dtype="float32", low=2, high=3))


def test_what_the_solver_cannot_make_stays_or_gives_way_to_one_like_it() -> None:
    samples = Samples(declared.subject("mixed"))
    first = next(samples.of(ALL, 0))
    assert samples.shrink(first, lambda each: len({s.dtype for s in specs(each)}) > 1) == first
    assert samples.shrink(first, lambda _: True) == sample(xs=[])

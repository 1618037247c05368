"""Samples that are solved hold to the declaration, and reach its corners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import opwright.twin

# isort: split
import torch_npu  # noqa: F401
from hypothesis import HealthCheck, example, find, given, settings
from hypothesis import strategies as st

import opwright as ow
from opwright.check.samples import ALL, Samples, arguments, describe
from opwright.check.subject import Subject
from opwright.kit.declare.sample import LAYOUTS, TensorSpec, sample, tensor
from opwright.kit.derive import derive
from opwright.project.config import run_file

if TYPE_CHECKING:
    from opwright.check.samples import Aspect
    from opwright.kit.declare.sample import Sample

pytestmark = pytest.mark.twin
declared = run_file(Path(__file__).parent / "declared.py")


def of(name: str, *vary: Aspect, examples: int = 0) -> list[Sample]:
    """Return the samples of an operator."""
    found = list(Samples(declared.subject(name)).of(set(vary), examples))
    assert found
    return found


def specs(found: list[Sample], name: str) -> list[TensorSpec]:
    """Return what samples give for a tensor."""
    values = [dict(each.values).get(name) for each in found]
    return [each for each in values if isinstance(each, TensorSpec)]


@pytest.mark.parametrize("name", declared.NAMES)
def test_each_sample_holds_to_the_declaration(name: str) -> None:
    subject = declared.subject(name)
    found = list(Samples(subject).of(ALL, 30))
    assert len(found) >= 10
    assert len(set(found)) == len(found)
    for each in found:
        values = arguments(subject.operator, each, "cpu")
        assert declared.HOLDS[name](values), describe(each)
        subject.rules.check(values)


# Sizes that the first pattern of a declaration binds, and what may follow from them.
SIZES = st.sampled_from(["A", "B", "*span", "_", "A + 1", "2 * B", "max(A, B)", "ceildiv(A, 3)"])
CONDITIONS = ["A > 1", "A <= B", "A % 4 == 0", "A + B < 20", "k < A", "B // 2 >= k", "0 <= k <= 9"]


@given(
    second=st.lists(SIZES, min_size=1, max_size=4).filter(
        lambda parts: sum(part.startswith("*") for part in parts) < 2
    ),
    requires=st.lists(st.sampled_from(CONDITIONS), max_size=3, unique=True),
    seed=st.integers(0, 3),
)
@example(
    second=["A"], requires=["k < A", "A % 4 == 0", "0 <= k <= 9"], seed=0
)  # the first size is to blame
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.nested_given])
def test_declarations_of_any_form(second: list[str], requires: list[str], seed: int) -> None:
    ops = ow.OperatorSet("drawn_samples")
    ops.operator(
        "drawn(Tensor x, Tensor y, int k) -> ()",
        aclnn=False,
        shapes={"x": "A, *span, B", "y": ", ".join(second)},
        requires=requires,
    )(declared.nothing)
    facts = derive(ops.freeze())
    subject = Subject(
        namespace="drawn_samples",
        operator=facts.operators[0].operator,
        facts=facts.operators[0],
        of_set=facts,
    )
    found = list(Samples(subject, seed=seed).of({"size", "rank", "value"}, 5))
    assert found, "all of these conditions can hold together"
    rules = subject.rules
    assert rules is not None
    for each in found:
        values = arguments(subject.operator, each, "meta")
        rules.check(values)
        a, b, k = values["x"].shape[0], values["x"].shape[-1], values["k"]
        # The conditions as Python has them: a judge of its own.
        assert all(eval(text, {"A": a, "B": b, "k": k}) for text in requires)  # noqa: S307 - texts of this test


@pytest.mark.parametrize("name", declared.NAMES)
@pytest.mark.parametrize("seed", [0, 1, 2**32])
def test_equal_seeds_give_equal_samples(name: str, seed: int) -> None:
    once, again = (list(Samples(declared.subject(name), seed=seed).of(ALL, 8)) for _ in range(2))
    assert once == again


def test_other_seeds_give_other_samples() -> None:
    first, second = (
        set(Samples(declared.subject("named"), seed=seed).of(ALL, 20)) for seed in (0, 1)
    )
    assert len(first - second) > 5


def test_only_what_varies_differs() -> None:
    base = of("named")
    assert len(base) == 1
    for each in of("named", "dtype", examples=10):
        assert [spec.shape for spec in specs([each], "x")] == [(2, 3)]
        assert each.seed == 0


def test_each_dtype_is_there_alone_and_together() -> None:
    dtypes = {
        (x.dtype, y.dtype)
        for each in of("added", "dtype")
        for x, y in [(specs([each], "x")[0], specs([each], "y")[0])]
    }
    both = ("float32", "int32")
    assert dtypes == {(x, y) for x in both for y in both}


def test_dtypes_that_follow() -> None:
    for each in of("named", "dtype"):
        assert len({spec.dtype for name in ("x", "w", "bias") for spec in specs([each], name)}) == 1


def test_sizes_0_and_1_and_a_large_one_of_each_name() -> None:
    found = of("named", "size")
    for axis, where in (("x", -1), ("w", -1), ("x", 0)):
        sizes = {spec.shape[where] for spec in specs(found, axis)}
        assert {0, 1} < sizes
        assert max(sizes) > 16


def test_numbers_of_axes() -> None:
    assert {len(spec.shape) for spec in specs(of("named", "rank"), "x")} == {1, 2, 3, 4, 5}
    assert {len(spec.shape) for spec in specs(of("plain", "rank"), "x")} == {0, 1, 2, 3, 4}


def test_each_layout_of_each_tensor() -> None:
    found = of("middle", "layout", "rank")
    assert {spec.layout for spec in specs(found, "x")} >= set(LAYOUTS) - {"channels_last"}
    alone = [
        each
        for each in of("named", "layout")
        if specs([each], "x")[0].layout == "contiguous"
        and specs([each], "w")[0].layout == "transposed"
    ]
    assert alone


def test_what_is_written_is_never_expanded() -> None:
    found = of("written_", "layout", examples=30)
    assert "expanded" in {spec.layout for spec in specs(found, "y")}
    assert "expanded" not in {spec.layout for spec in specs(found, "x")}


def test_optional_arguments_come_and_go() -> None:
    given_or_not = {dict(each.values).get("bias") is None for each in of("named", "presence")}
    assert given_or_not == {False, True}
    parts = [dict(each.values)["parts"] for each in of("several", "presence")]
    assert any(isinstance(each, tuple) and None in each for each in parts)


def test_lengths_of_lists() -> None:
    rest = [dict(each.values)["rest"] for each in of("several", "length")]
    assert {len(each) for each in rest if isinstance(each, tuple)} == {0, 1, 2, 3}


def test_values_that_rules_name() -> None:
    modes = {dict(each.values).get("mode", "sum") for each in of("several", "value")}
    assert modes == {"sum", "mean", "max"}
    assert {each.seed for each in of("plain", "value")} >= {0, 1}


def test_broadcasting() -> None:
    shapes = [
        (specs([each], "x")[0].shape, specs([each], "y")[0].shape) for each in of("added", "size")
    ]
    assert ((12, 17), (17,)) in shapes
    assert ((12, 1), (12, 17)) in shapes
    assert ((12, 17), ()) in shapes


def test_explicit_samples_come_first_and_equal_sizes_vary_together() -> None:
    found = of("shown", "size", "dtype")
    assert found[0] == sample(x=tensor(4, 3, dtype="float32"), w=tensor(3, 5, dtype="float32"))
    inner = {(specs([e], "x")[0].shape[1], specs([e], "w")[0].shape[0]) for e in found}
    assert (1, 1) in inner
    assert {spec.dtype for spec in specs(found, "x")} == {"float32", "float16", "bfloat16"}


def test_large_samples_are_run_once_and_vary_in_small() -> None:
    first, *rest = of("large", "dtype", "size", "layout")
    assert specs([first], "x")[0].shape == (256, 512)
    assert rest
    assert all(spec.shape[0] * spec.shape[1] < 2000 for spec in specs(rest, "x"))


def test_a_sample_that_the_solver_cannot_make_is_run_as_it_is() -> None:
    first, *rest = of("mixed", "length")
    assert first == sample(xs=[tensor(2, dtype="float32"), tensor(3, dtype="int32")])
    assert rest


def test_what_the_reference_refuses_is_kept_with_its_reason() -> None:
    samples = Samples(declared.subject("shown"))
    assert list(samples.of({"size"}, 0))
    assert {(each.by, each.text) for each in samples.refused.values()} == {
        ("reference", "ValueError: an empty x")
    }


def test_an_index_stays_within_its_axis() -> None:
    found = of("indexed", "size", examples=20)
    assert {spec.high for spec in specs(found, "index")} >= {0, 7, 16}


def test_an_axis_without_elements_has_no_index() -> None:
    found = of("indexed", "size", "rank", examples=40)
    empty = [each for each in found if specs([each], "table")[0].shape[0] == 0]
    assert empty
    assert all(0 in specs([each], "index")[0].shape for each in empty)


@pytest.mark.parametrize(
    ("vary", "most"),
    [({"dtype"}, 6), ({"size"}, 15), ({"rank"}, 5), ({"layout"}, 16), ({"value"}, 15)],
)
def test_corner_cases_are_few(vary: set[Aspect], most: int) -> None:
    for name in declared.NAMES:
        # Beside them, the sample that is declared and the same one with distinct attributes.
        assert 1 <= len(of(name, *vary)) <= most + 2


def test_the_strategy_is_one_of_hypothesis() -> None:
    strategy = Samples(declared.subject("required")).strategy()

    def is_looked_for(each: Sample) -> bool:
        return int(str(dict(each.values)["k"])) >= 3

    smallest = find(strategy, is_looked_for, settings=settings(database=None, deadline=None))
    assert dict(smallest.values)["k"] == 3
    assert specs([smallest], "x")[0].layout == "contiguous"

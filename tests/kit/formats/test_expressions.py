"""Versions, YAML texts and C++ expressions: written and read again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML ships no types
from hypothesis import assume, given
from hypothesis import strategies as st

from opwright.kit.declare.dtypes import SCALAR_TYPES
from opwright.kit.declare.operator import Operator
from opwright.kit.declare.place import Place
from opwright.kit.declare.rules import (
    BroadcastOf,
    Dims,
    DtypeArgument,
    DtypeSet,
    Like,
    Promoted,
    ReducedOf,
    SameDtype,
    ShapeFunction,
)
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.expressions.evaluate import evaluate
from opwright.kit.expressions.patterns import bind
from opwright.kit.expressions.read import resolve
from opwright.kit.formats.cpp_read import read_dtype, read_size
from opwright.kit.formats.cpp_write import dtype_text, size_text
from opwright.kit.formats.errors import NotWritableError, VersionError
from opwright.kit.formats.versions import (
    every,
    minor,
    read_versions,
    select,
    specifier,
    write_versions,
)
from opwright.kit.formats.yaml_text import block, flow, read_value

KNOWN = tuple((2, number) for number in range(1, 12))
SCHEMA = parse_schema(
    "f(Tensor x, Tensor y, int n, int[] sizes, bool keep, *, ScalarType? dtype=None) -> Tensor",
    where="",
)
OPERATOR = Operator(schema=SCHEMA, place=Place("here"))


@given(st.sets(st.sampled_from(KNOWN), min_size=1))
def test_versions_as_specifier_and_back(versions: set[tuple[int, int]]) -> None:
    assert set(select(specifier(sorted(versions)), KNOWN, where="")) == versions


@given(st.sets(st.sampled_from(KNOWN), min_size=1))
def test_versions_as_op_plugin_writes_them_and_back(versions: set[tuple[int, int]]) -> None:
    written = write_versions(sorted(versions), KNOWN)
    assert set(read_versions(written, KNOWN, where="")) == versions


def test_versions_across_the_series() -> None:
    assert specifier([(1, 11), (2, 0)]) == ">=1.11,<2.1,!=1.12.*,!=1.13.*"
    assert every(">=1.13,<2.2", (2, 1), where="") == ((1, 13), (2, 0), (2, 1))
    assert every(">=2.13", (2, 14), where="") == ((2, 13), (2, 14))


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        (">2.5", ((2, 6), (2, 7))),
        ("~=2.6", ((2, 6), (2, 7))),
        ("~=2.6.0", ((2, 6),)),
        ("==2.6.*", ((2, 6),)),
        ("<=2.5.1", ((2, 5),)),
        ("<2.6.1", ((2, 5), (2, 6))),
        (">2.5.0", ((2, 5), (2, 6), (2, 7))),
        ("!=2.6.1", ((2, 5), (2, 6), (2, 7))),
        ("<0", ()),
    ],
)
def test_specifiers(text: str, versions: tuple[tuple[int, int], ...]) -> None:
    assert select(text, ((2, 5), (2, 6), (2, 7)), where="") == versions


@pytest.mark.parametrize("text", ["2", "2.x", "master", ""])
def test_no_version(text: str) -> None:
    with pytest.raises(VersionError) as caught:
        minor(text, where="f.yaml:1")
    assert caught.value.got == repr(text)


VALUES = st.recursive(
    st.text() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.none(),
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.text(min_size=1), inner),
    max_leaves=6,
)


def as_lists(value: object) -> object:
    """Return a value as PyYAML returns it."""
    if isinstance(value, tuple):
        return [as_lists(item) for item in value]
    if isinstance(value, dict):
        return {key: as_lists(item) for key, item in value.items()}
    return value


@given(VALUES)
def test_a_value_on_one_line(value: object) -> None:
    text = flow(value)  # type: ignore[arg-type]
    assert "\n" not in text
    assert as_lists(read_value(text)) == as_lists(value)
    assert yaml.safe_load(text) == as_lists(value)


@given(st.dictionaries(st.text(min_size=1, max_size=9), VALUES, min_size=1))
def test_a_mapping_in_lines(value: dict[str, object]) -> None:
    text = "\n".join(block(value, 2))  # type: ignore[arg-type]
    assert yaml.safe_load(text) == as_lists(value)


SIZES = st.recursive(
    st.sampled_from(["3", "n", "x.shape[0]", "x.shape[-1]", "y.ndim", "len(sizes)", "sizes[1]"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        st.tuples(st.sampled_from(["min", "max", "ceildiv"]), inner, inner).map(
            lambda parts: f"{parts[0]}({parts[1]}, {parts[2]})"
        ),
    ),
    max_leaves=6,
)
VALUES_OF_ARGUMENTS = st.fixed_dictionaries(
    {
        "x": st.tuples(st.integers(1, 9), st.integers(1, 9)).map(
            lambda s: SimpleNamespace(shape=s)
        ),
        "y": st.just(SimpleNamespace(shape=(4, 5, 6))),
        "n": st.integers(1, 5),
        "sizes": st.tuples(st.integers(1, 5), st.integers(1, 5)),
    }
)


def sizes_of(rule: Dims, values: dict[str, object]) -> tuple[int, ...]:
    """Evaluate a shape rule."""
    scope, _ = bind(SCHEMA, {}, where="")
    shape = resolve(rule, scope, where="")
    assert isinstance(shape, tuple)
    return tuple(evaluate(shape, values))


@given(st.lists(SIZES, min_size=1, max_size=3), VALUES_OF_ARGUMENTS)
def test_sizes_in_cpp_are_read_as_the_same_sizes(
    texts: list[str], values: dict[str, object]
) -> None:
    rule = Dims(", ".join(texts))
    written = size_text(rule, OPERATOR, where="")
    again = read_size(written, SCHEMA)
    assume(isinstance(again, Dims))  # a remainder of what may be negative stays C++
    assert isinstance(again, Dims)
    try:
        expected = sizes_of(rule, values)
    except ValueError:  # a division by 0
        assume(False)  # noqa: FBT003 - hypothesis' way to leave out a case
    assert sizes_of(again, values) == expected


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Like("x"), "x"),
        (BroadcastOf(("x",)), "x.sizes()"),
        (
            BroadcastOf(("x", "y", "x")),
            "broadcast_ops_npu_output_size(broadcast_ops_npu_output_size(x, y), x)",
        ),
        (
            ReducedOf("x", None, None),
            "reduce_ops_npu_output_size(x, get_dimlist_for_tensor(x), false)",
        ),
        (ReducedOf("x", "n", "keep"), "reduce_ops_npu_output_size(x, {n}, keep)"),
        (ReducedOf("x", "sizes", None), "reduce_ops_npu_output_size(x, sizes, false)"),
        (Dims(""), "c10::SmallVector<int64_t, op_infer::SIZE>{}"),
        (Dims("*x.shape"), "x.sizes()"),
        (Dims("*sizes"), "sizes"),
        (Dims("ceildiv(n, 16), n * (2 + 1)"), "{(n + 16L - 1) / 16L, n * (2L + 1L)}"),
        (Dims("(n - 1) // 2"), "{c10::div_floor_integer(n - 1L, 2L)}"),
        (
            Dims("*x.shape[:-1], n, *sizes"),
            (
                "[&]() { c10::SmallVector<int64_t, op_infer::SIZE> sizes_; "
                "for (int64_t i = 0; i < x.dim() - 1; ++i) { sizes_.push_back(x.size(i)); } "
                "sizes_.push_back(n); sizes_.append(sizes.begin(), sizes.end()); return sizes_; }()"
            ),
        ),
        (ShapeFunction(lambda x, n, **_: (x.shape[0], n * 2)), "{x.size(0), n * 2L}"),
    ],
)
def test_shapes_in_cpp(rule: Dims, text: str) -> None:
    assert size_text(rule, OPERATOR, where="") == text


def test_named_dimensions_become_axes() -> None:
    operator = Operator(
        schema=SCHEMA, place=Place(""), shapes={"x": Dims("*batch, N, D"), "y": Dims("D, K")}
    )
    assert size_text(Dims("N, K, D // 2"), operator, where="") == (
        "{x.size(-2), y.size(1), x.size(-1) / 2L}"
    )


def test_a_shape_function_that_branches_cannot_be_written() -> None:
    def branching(x: SimpleNamespace, **_: object) -> tuple[int, ...]:
        return (1,) if x.shape[0] > 3 else (2,)

    with pytest.raises(NotWritableError) as caught:
        size_text(ShapeFunction(branching), OPERATOR, where="here")
    assert caught.value.got == "the shape function 'branching'"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (SameDtype("x"), "x"),
        (Promoted(("x", "y")), "at::native::result_type(x, y)"),
        (Promoted(("x", "y", "x")), "at::native::result_type({x, y, x})"),
        (
            DtypeArgument("dtype", SameDtype("y")),
            "dtype.has_value() ? dtype.value() : y.scalar_type()",
        ),
        (
            DtypeArgument("dtype", DtypeSet(("int64",))),
            "dtype.has_value() ? dtype.value() : at::kLong",
        ),
        *((DtypeSet((dtype,)), f"at::k{name}") for dtype, name in SCALAR_TYPES.items()),
    ],
)
def test_dtypes_in_cpp_and_back(rule: SameDtype, text: str) -> None:
    assert dtype_text(rule) == text
    assert read_dtype(text, SCHEMA) == rule

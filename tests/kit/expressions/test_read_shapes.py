"""Patterns and shape texts -> data, and the checks that they imply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.kit.declare.errors import RuleError
from opwright.kit.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    EachOf,
    Like,
    ReducedOf,
    ShapeRule,
)
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.expressions.conditions import (
    Check,
    MemberCheck,
    RankCheck,
    SizeCheck,
    SpanCheck,
    ValueCheck,
)
from opwright.kit.expressions.patterns import bind
from opwright.kit.expressions.places import put_at
from opwright.kit.expressions.read import read_requirement, resolve, resolve_list
from opwright.kit.expressions.shape import (
    Argument,
    Binary,
    Broadcast,
    Const,
    Dim,
    Element,
    Length,
    Rank,
    Reduced,
    Shape,
    Size,
    Sizes,
    Span,
)

SCHEMA = parse_schema(
    "f(Tensor x, Tensor y, Tensor? m, int k, float p, int[] sizes, bool keep, str mode) -> Tensor",
    where="",
)
SCOPE, _ = bind(SCHEMA, {"x": Dims("*b, N, D"), "y": Dims("M, D")}, where="")


@pytest.mark.parametrize(
    ("patterns", "checks"),
    [
        ({}, ()),
        ({"x": "N, D"}, (RankCheck(tensor="x", rank=2, at_least=False, pattern="N, D"),)),
        ({"x": "*b, N"}, (RankCheck(tensor="x", rank=1, at_least=True, pattern="*b, N"),)),
        ({"x": ""}, (RankCheck(tensor="x", rank=0, at_least=False, pattern=""),)),
        (
            {"x": "N, N"},
            (
                RankCheck(tensor="x", rank=2, at_least=False, pattern="N, N"),
                SizeCheck(tensor="x", axis=1, size=Dim("x", 0), pattern="N, N"),
            ),
        ),
        (
            {"y": "2 * N, _", "x": "N, 8"},  # in the order of the schema
            (
                RankCheck(tensor="x", rank=2, at_least=False, pattern="N, 8"),
                SizeCheck(tensor="x", axis=1, size=Const(8), pattern="N, 8"),
                RankCheck(tensor="y", rank=2, at_least=False, pattern="2 * N, _"),
                SizeCheck(
                    tensor="y",
                    axis=0,
                    size=Binary("*", Const(2), Dim("x", 0)),
                    pattern="2 * N, _",
                ),
            ),
        ),
        (
            {"x": "*b, N", "y": "*b, 2, N"},
            (
                RankCheck(tensor="x", rank=1, at_least=True, pattern="*b, N"),
                RankCheck(tensor="y", rank=2, at_least=True, pattern="*b, 2, N"),
                SpanCheck(span=Span("y", 0, -2), other=Span("x", 0, -1), pattern="*b, 2, N"),
                SizeCheck(tensor="y", axis=-2, size=Const(2), pattern="*b, 2, N"),
                SizeCheck(tensor="y", axis=-1, size=Dim("x", -1), pattern="*b, 2, N"),
            ),
        ),
        (
            {"x": "k, N"},
            (
                RankCheck(tensor="x", rank=2, at_least=False, pattern="k, N"),
                SizeCheck(tensor="x", axis=0, size=Argument("k"), pattern="k, N"),
            ),
        ),
    ],
)
def test_patterns_imply_checks(patterns: dict[str, str], checks: tuple[Check, ...]) -> None:
    rules = {name: Dims(text) for name, text in patterns.items()}
    assert bind(SCHEMA, rules, where="")[1] == checks


def test_a_tensor_that_may_be_none_binds_nothing_for_outputs() -> None:
    scope, checks = bind(SCHEMA, {"m": Dims("Q, N"), "x": Dims("N")}, where="")
    assert "Q" not in scope.names
    assert checks[-1] == SizeCheck(tensor="m", axis=1, size=Dim("x", 0), pattern="Q, N")


@pytest.mark.parametrize(
    ("rule", "shape"),
    [
        (Like("x"), (Span("x"),)),
        (BroadcastOf(("x", "y")), (Broadcast(((Span("x"),), (Span("y"),))),)),
        (ReducedOf("x", "sizes", "keep"), (Reduced("x", "sizes", "keep"),)),
        (ReducedOf("x", None, None), (Reduced("x"),)),
        (Dims(""), ()),
        (Dims("*b, M"), (Span("x", 0, -2), Dim("y", 0))),
        (Dims("N, D"), (Dim("x", -2), Dim("x", -1))),
        (Dims("*sizes, k"), (Sizes("sizes"), Argument("k"))),
        (Dims("*x.shape[1:], x.ndim"), (Span("x", 1), Rank("x"))),
        (Dims("*x.shape[:-1], len(sizes)"), (Span("x", 0, -1), Length("sizes"))),
        (Dims("*y.shape"), (Span("y"),)),
        (Dims("sizes[1], x.shape[-1]"), (Element("sizes", 1), Dim("x", -1))),
        (
            Dims("ceildiv(N, 16) * 16"),
            (Binary("*", Binary("ceildiv", Dim("x", -2), Const(16)), Const(16)),),
        ),
        (
            Dims("min(N, k) - 1 // 2"),
            (
                Binary(
                    "-",
                    Binary("min", Dim("x", -2), Argument("k")),
                    Binary("//", Const(1), Const(2)),
                ),
            ),
        ),
        (
            Dims("max(M % 2, 1) + 1"),
            (Binary("+", Binary("max", Binary("%", Dim("y", 0), Const(2)), Const(1)), Const(1)),),
        ),
    ],
)
def test_rules_become_data(rule: ShapeRule, shape: Shape) -> None:
    assert resolve(rule, SCOPE, where="") == shape


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("-3", Const(-3)),
        ("-x.ndim", Binary("-", Const(0), Rank("x"))),
        ("-(k + -2)", Binary("-", Const(0), Binary("+", Argument("k"), Const(-2)))),
        ("--k", Binary("-", Const(0), Binary("-", Const(0), Argument("k")))),
    ],
)
def test_a_size_may_have_a_sign(text: str, size: Size) -> None:
    assert resolve(Dims(text), SCOPE, where="") == (size,)
    left = read_requirement(f"{text} <= k", SCOPE, where="")[0]
    assert left == ValueCheck(
        left=size, comparison="<=", right=Argument("k"), pattern=f"{text} <= k"
    )


LISTS = parse_schema("f(Tensor x, Tensor[] xs, int n, int[] sizes) -> Tensor[]", where="")
LIST_SCOPE, _ = bind(LISTS, {"x": Dims("N, D")}, where="")


@pytest.mark.parametrize(
    ("rule", "count", "shape"),
    [
        (Like("xs"), Length("xs"), (Span("xs", index="i"),)),
        (EachOf("n + 1", Like("x")), Binary("+", Argument("n"), Const(1)), (Span("x"),)),
        (
            EachOf("len(sizes)", Dims("sizes[i], xs[i].shape[0], D")),
            Length("sizes"),
            (Element("sizes", "i"), Dim("xs", 0, "i"), Dim("x", 1)),
        ),
    ],
)
def test_lists_of_results_have_a_number_and_a_shape(
    rule: ShapeRule, count: Size, shape: Shape
) -> None:
    assert resolve_list(rule, LIST_SCOPE, where="") == (count, shape)


def test_a_place_becomes_a_number_wherever_it_stands() -> None:
    shape = (
        Binary("*", Element("sizes", "i"), Rank("xs", "i")),
        Broadcast(((Span("xs", index="i"),), (Span("x"),))),
        Reduced("xs", index="i"),
        Sizes("sizes"),
        Dim("x", 0),
    )
    assert put_at(shape, 2) == (
        Binary("*", Element("sizes", 2), Rank("xs", 2)),
        Broadcast(((Span("xs", index=2),), (Span("x"),))),
        Reduced("xs", index=2),
        Sizes("sizes"),
        Dim("x", 0),
    )


def test_what_is_no_text_stays() -> None:
    assert resolve(Cpp("x.sizes()"), SCOPE, where="") == Cpp("x.sizes()")


SYMBOLS = {"+": "+", "-": "-", "*": "*", "//": "//", "%": "%"}
LEAVES = st.one_of(
    st.integers(0, 99).map(Const),
    st.sampled_from([Argument("k"), Length("sizes"), Rank("x"), Dim("y", 1), Element("sizes", 0)]),
)
SIZES = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        Binary,
        st.sampled_from(["+", "-", "*", "//", "%", "min", "max", "ceildiv"]),
        inner,
        inner,
    ).filter(lambda size: size.right != Const(0)),  # a division by it is refused
    max_leaves=8,
)


def written(size: Size) -> str:
    """Write a size as an author does."""
    match size:
        case Const(value):
            return str(value)
        case Argument(name):
            return name
        case Length(name):
            return f"len({name})"
        case Rank(tensor):
            return f"{tensor}.ndim"
        case Dim(tensor, axis):
            return f"{tensor}.shape[{axis}]"
        case Element(name, index):
            return f"{name}[{index}]"
        case Binary(operation, left, right):
            if operation in SYMBOLS:
                return f"({written(left)} {operation} {written(right)})"
            return f"{operation}({written(left)}, {written(right)})"


@given(SIZES)
def test_sizes_come_back(size: Size) -> None:
    assert resolve(Dims(written(size)), SCOPE, where="") == (size,)


@pytest.mark.parametrize(
    ("text", "checks"),
    [
        (
            "0 < k <= N",
            (
                ValueCheck(
                    left=Const(0), comparison="<", right=Argument("k"), pattern="0 < k <= N"
                ),
                ValueCheck(
                    left=Argument("k"), comparison="<=", right=Dim("x", -2), pattern="0 < k <= N"
                ),
            ),
        ),
        (
            "p != 0.5",
            (
                ValueCheck(
                    left=Argument("p"), comparison="!=", right=Const(0.5), pattern="p != 0.5"
                ),
            ),
        ),
        (
            "mode in ('a', 'b')",
            (MemberCheck(argument="mode", values=("a", "b"), pattern="mode in ('a', 'b')"),),
        ),
        ("mode == 'a'", (MemberCheck(argument="mode", values=("a",), pattern="mode == 'a'"),)),
    ],
)
def test_requirements_become_checks(text: str, checks: tuple[Check, ...]) -> None:
    assert read_requirement(text, SCOPE, where="") == checks


@pytest.mark.parametrize("text", ["p // 2 == 1", "1 <= min(p, 0.5)", "p % 2 < 1"])
def test_operations_of_whole_numbers_refuse_floats(text: str) -> None:
    with pytest.raises(RuleError, match="of floats in"):
        read_requirement(text, SCOPE, where="")

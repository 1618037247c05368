"""Shape and dtype rules at calls, and plans that cannot work."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.live.dispatching import (
    MARKS,
    NAMESPACE,
    defined,
    dispatch_state,
    operator,
    plan,
    reference,
)

# isort: split
import torch

from opwright.kit.live import _aclnn

pytestmark = MARKS

SIGNATURE = "aclnnRules(aclTensor *out)"
ONLY_OUT = (("aclTensor", ("output", 0)),)
SCHEMA = (
    "(Tensor x, Tensor[] list, Tensor? y=None, int n=1, int[] sizes=[], bool keepdim=False,"
    " ScalarType? dtype=None, Scalar s=1, int[]? dims=None, int dim=0) -> Tensor"
)
X, LIST, Y, N, SIZES, KEEPDIM, DTYPE, S, DIMS, DIM = range(10)


def produced(shape: object, dtype: object, x: torch.Tensor, /, **named: object) -> torch.Tensor:
    """Return the output that an operator with these rules makes."""
    rule = plan("aclnnRules", ONLY_OUT, ({"shape": shape, "dtype": dtype},))
    given = {"list": []} | named
    with (
        reference(SIGNATURE, lambda out: out.zero_()),
        operator(SCHEMA, rule) as op,
    ):
        result: torch.Tensor = op(x, **given)
        return result


FLOAT = ("fixed", "float32")
x = torch.rand(2, 3, 4, device="npu")


@pytest.mark.parametrize(
    ("shape", "named", "expected"),
    [
        ((), {}, []),
        ((("const", 5), 6), {}, [5, 6]),
        ((("dim", X, 1), ("dim", X, -1)), {}, [3, 4]),
        ((("rank", X),), {}, [3]),
        ((("arg", N),), {"n": 9}, [9]),
        ((("len", SIZES), ("len", LIST)), {"sizes": [4, 5]}, [2, 0]),
        ((("elem", SIZES, 1), ("elem", SIZES, -2)), {"sizes": [7, 8]}, [8, 7]),
        ((("sizes", SIZES),), {"sizes": [2, 7]}, [2, 7]),
        ((("span", X, 0, None),), {}, [2, 3, 4]),
        ((("span", X, 1, None), ("span", X, 0, -2)), {}, [3, 4, 2]),
        ((("span", X, -2, 9), ("span", X, 2, 1)), {}, [3, 4]),
        ((("-", ("*", ("dim", X, 0), 4), ("dim", X, 1)),), {}, [5]),
        (
            (("//", ("arg", N), 4), ("ceildiv", ("arg", N), 4), ("%", ("arg", N), 4)),
            {"n": 7},
            [1, 2, 3],
        ),
        ((("min", ("dim", X, 0), 3), ("max", ("dim", X, 0), 3)), {}, [2, 3]),
        ((("broadcast", ((1, ("span", X, 1, None)), (5, 1, 1))),), {}, [5, 3, 4]),
        ((8, ("broadcast", ((), (3,)))), {}, [8, 3]),
        ((("broadcast", ((1,), (0,))),), {}, [0]),
        ((("reduced", X, DIMS, KEEPDIM),), {}, []),
        ((("reduced", X, DIMS, KEEPDIM),), {"keepdim": True}, [1, 1, 1]),
        ((("reduced", X, DIMS, None),), {"dims": [-1, 0]}, [3]),
        ((("reduced", X, DIM, KEEPDIM),), {"dim": 1, "keepdim": True}, [2, 1, 4]),
        ((("reduced", X, None, None),), {}, []),
    ],
)
def test_shapes(shape: object, named: dict[str, object], expected: list[int]) -> None:
    assert list(produced(shape, FLOAT, x, **named).shape) == expected


@pytest.mark.parametrize(
    ("dtype", "named", "expected"),
    [
        (("like", X), {}, torch.float32),
        (("fixed", "bfloat16"), {}, torch.bfloat16),
        (("fixed", torch.int8), {}, torch.int8),
        (("promote", (X, Y)), {"y": torch.ones(1).double().to("npu")}, torch.float64),
        (("promote", (X, Y)), {"y": torch.tensor(1.0).double().to("npu")}, torch.float32),
        (("promote", (X, Y)), {}, torch.float32),
        (("promote", (X, S)), {"s": 1j}, torch.complex64),
        (("promote", (LIST,)), {"list": [x.half(), x.int()]}, torch.float16),
        (("like", LIST), {"list": [x.half()]}, torch.float16),
        (("argument", DTYPE, ("like", X)), {"dtype": torch.int32}, torch.int32),
        (("argument", DTYPE, ("like", X)), {}, torch.float32),
    ],
)
def test_dtypes(dtype: object, named: dict[str, object], expected: torch.dtype) -> None:
    assert produced((1,), dtype, x, **named).dtype is expected


@given(left=st.integers(-50, 50), right=st.integers(-9, 9).filter(bool))
def test_division_rounds_as_python(left: int, right: int) -> None:
    shape = tuple(("+", 100, (word, ("arg", N), right)) for word in ("//", "ceildiv", "%"))
    expected = [100 + left // right, 100 - (-left // right), 100 + left % right]
    assert list(produced(shape, FLOAT, x[:0], n=left).shape) == expected


shapes = st.lists(st.integers(0, 3), max_size=4)


@given(a=shapes, b=shapes)
def test_broadcast_as_torch(a: list[int], b: list[int]) -> None:
    rule = (("broadcast", (tuple(a), tuple(b))),)
    try:
        expected = list(torch.broadcast_shapes(a, b))  # type: ignore[no-untyped-call] # torch's
    except RuntimeError:
        with pytest.raises(ValueError, match="cannot be broadcast"):
            produced(rule, FLOAT, x)
    else:
        assert list(produced(rule, FLOAT, x).shape) == expected


@pytest.mark.parametrize(
    ("shape", "dtype", "named", "error", "message"),
    [
        ((("dim", X, 3),), FLOAT, {}, IndexError, r"'x' has 3 axis\(s\), so .* index 3"),
        ((("dim", X, -4),), FLOAT, {}, IndexError, r"'x' has 3 axis\(s\), so .* index -4"),
        ((("elem", SIZES, 0),), FLOAT, {}, IndexError, r"'sizes' has 0 element\(s\)"),
        ((("reduced", X, DIM, None),), FLOAT, {"dim": 3}, IndexError, r"'x' has 3 axis\(s\)"),
        ((("dim", Y, 0),), FLOAT, {}, ValueError, "'y' is None"),
        ((("//", 1, ("arg", N)),), FLOAT, {"n": 0}, ValueError, "divides 1 by 0"),
        ((2, ("arg", N)), FLOAT, {"n": -3}, ValueError, "axis 1 of an output would have .* -3"),
        ((), ("like", Y), {}, ValueError, "'y' is None"),
        ((), ("like", LIST), {}, ValueError, "'list' is empty"),
        ((), ("argument", DTYPE), {}, ValueError, "'dtype' is None"),
    ],
)
def test_rules_that_do_not_hold(
    shape: object, dtype: object, named: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=rf"^{NAMESPACE}::op\d+: .*{message}"):
        produced(shape, dtype, x, **named)


PASSED = plan(
    "aclnnRules",
    (("aclTensor", ("argument", 0)), ("aclTensor", ("argument", 1)), *ONLY_OUT),
    ({"shape": (), "dtype": FLOAT},),
)


def test_devices_must_agree() -> None:
    with operator("(Tensor x, Tensor y) -> Tensor", PASSED) as op:
        with pytest.raises(RuntimeError, match="argument 'y' is on cpu, but"):
            op(x, x.cpu())
        with pytest.raises(RuntimeError, match="argument 'y' is on cpu, but"):
            op(x, torch.tensor(1.0))
        text = "argument 'y' is on npu:1, but argument 'x' is on npu:0"
        with pytest.raises(RuntimeError, match=text):
            op(x, x.to("npu:1"))


def test_device_of_a_tensor_that_gives_only_the_shape() -> None:
    assert produced((("rank", X),), FLOAT, x.to("npu:1")).device == torch.device("npu:1")


GOOD: dict[str, Any] = plan("aclnnRules", ONLY_OUT, ({"shape": (), "dtype": FLOAT},))


@pytest.mark.parametrize(
    ("schema", "change", "message"),
    [
        (SCHEMA, {"function": 3}, r"plan\['function'\]: 3 is not a name"),
        (SCHEMA, {"outputs": 3}, r"plan\['outputs'\]: 3 is not a tuple"),
        (SCHEMA, {"outputs": ({"shape": ()},)}, r"plan\['outputs'\]\[0\]: has no 'dtype'"),
        (SCHEMA, {"outputs": ({"argument": SIZES},)}, r"'sizes' of type int\[\] is not a tensor"),
        (
            SCHEMA,
            {"outputs": ({"shape": (1, ("dims", 0, 0)), "dtype": FLOAT},)},
            r"\['shape'\]\[1\]: no size is called 'dims'",
        ),
        (
            SCHEMA,
            {"outputs": ({"shape": (("dim", N, 0),), "dtype": FLOAT},)},
            r"argument 'n' of type int is not a tensor",
        ),
        (
            SCHEMA,
            {"outputs": ({"shape": (("dim", X),), "dtype": FLOAT},)},
            r"does not have 3 entries",
        ),
        (
            SCHEMA,
            {"outputs": ({"shape": (("rank", 99),), "dtype": FLOAT},)},
            r"there is no argument 99; the schema has 10",
        ),
        (
            SCHEMA,
            {"outputs": ({"shape": (), "dtype": ("fixed", "float33")},)},
            "no dtype 'float33'",
        ),
        (SCHEMA, {"outputs": ({"shape": (), "dtype": ("as", X)},)}, "no dtype rule is called 'as'"),
        (SCHEMA, {"parameters": (("aclFoo", ("output", 0)),)}, "no C type is called 'aclFoo'"),
        (SCHEMA, {"parameters": (("aclTensor", ("output", 1)),)}, "no output 1; the plan has 1"),
        (SCHEMA, {"parameters": (("double", ("output", 0)),)}, "double cannot be made of output"),
        (SCHEMA, {"parameters": (("aclTensor", ("input", 0)),)}, "no source is called 'input'"),
        (
            SCHEMA,
            {"parameters": (("aclScalar", ("argument", X)),)},
            r"argument 'x' of type Tensor is not what aclScalar can be made of",
        ),
        (
            SCHEMA,
            {"parameters": (("aclDataType", ("argument", DTYPE)),)},
            r"'dtype' can be None, .* use \(\"argument_or\", 6, constant\)",
        ),
        (SCHEMA, {"parameters": (("int64_t", ("constant", None)),)}, "None cannot be passed as"),
        (SCHEMA, {"parameters": (("int64_t", ("constant", "a")),)}, "'a' is not an int"),
        (SCHEMA, {"parameters": (("aclTensor", ("constant", 3)),)}, "can only be None"),
        (SCHEMA, {"returns": ()}, r"plan\['returns'\]: has 0 entries, the schema returns 1"),
        (SCHEMA, {"returns": (("result", 0),)}, "no return is called 'result'"),
        (SCHEMA, {"clone": (N,)}, r"plan\['clone'\]: argument 'n' of type int is not a tensor"),
        (
            "(Tensor x) -> int size",
            {},
            r"return 'size' is int; an aclnn function can return tensors",
        ),
        ("(Tensor x) -> Tensor[]", {}, r"return '' is Tensor\[\]; an aclnn function can return"),
    ],
)
def test_plans_that_cannot_work(schema: str, change: dict[str, object], message: str) -> None:
    with defined(schema) as name:
        before = dispatch_state(name)
        with pytest.raises(ValueError, match=message):
            _aclnn.implement(NAMESPACE, name, GOOD | change)
        assert dispatch_state(name) == before


def test_an_operator_without_a_schema() -> None:
    with pytest.raises(RuntimeError, match=r"opwright_dispatching::nothing\.x: no such operator"):
        _aclnn.implement(NAMESPACE, "nothing.x", GOOD)

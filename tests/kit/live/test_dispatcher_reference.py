"""Operators whose only kernel is a reference function: what it gets, without any compiler."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.live.dispatching import MARKS, like, operator, plan, reference

# isort: split
import torch
import torch_npu

from opwright.kit.live import _aclnn

pytestmark = MARKS

X = torch.arange(6.0).view(2, 3)


def passed(schema: str, ctype: str, source: tuple[object, ...], *arguments: object) -> object:
    """Return what a reference function gets for one parameter; tensors are copied."""
    got: list[Any] = []

    def keep(value: object) -> object:
        return value.clone() if isinstance(value, torch.Tensor) else value

    def kernel(x: torch.Tensor, value: object, out: torch.Tensor) -> None:
        got.append([keep(v) for v in value] if isinstance(value, list) else keep(value))
        out.copy_(x)

    const, star = ("const ", "*") if ctype.startswith("acl") or ctype == "char" else ("", "")
    star = "" if ctype == "aclDataType" else star
    const = const if star else ""
    name = f"aclnnPass{ctype.title().replace('_', '')}"
    signature = f"{name}(const aclTensor *x, {const}{ctype} {star}valueOptional, aclTensor *out)"
    rule = plan(
        name,
        (("aclTensor", ("argument", 0)), (ctype, source), ("aclTensor", ("output", 0))),
        (like(0),),
    )
    with reference(signature, kernel), operator(f"(Tensor x, {schema}) -> Tensor", rule) as op:
        torch.testing.assert_close(op(X.to("npu"), *arguments).cpu(), X)
    return got[0]


ARGUMENT = ("argument", 1)


@pytest.mark.parametrize(
    ("schema", "ctype", "value", "expected"),
    [
        ("Scalar v", "aclScalar", 2.5, 2.5),
        ("Scalar v", "aclScalar", 7, 7),
        ("Scalar v", "aclScalar", True, True),
        ("Scalar v", "aclScalar", 1 + 2j, 1 + 2j),
        ("Scalar? v", "aclScalar", None, None),
        ("float v", "aclScalar", 0.5, 0.5),
        ("Scalar[] v", "aclScalarList", [1.5, 2.0], [1.5, 2.0]),
        ("float[] v", "aclScalarList", [1.5, 2.5], [1.5, 2.5]),
        ("int[] v", "aclIntArray", [3, -1], [3, -1]),
        ("SymInt[] v", "aclIntArray", [3, 4], [3, 4]),
        ("int[2] v", "aclIntArray", 3, [3, 3]),
        ("int v", "aclIntArray", 3, [3]),
        ("int[]? v", "aclIntArray", None, None),
        ("int[] v", "aclIntArray", [], []),
        ("float[] v", "aclFloatArray", [1.5, -2.0], [1.5, -2.0]),
        ("float[]? v", "aclFloatArray", None, None),
        ("bool[3] v", "aclBoolArray", [True, False, True], [True, False, True]),
        ("str v", "char", "tänh", "tänh"),
        ("str v", "char", "", ""),
        ("str? v", "char", None, None),
        ("int v", "int64_t", -(2**62), -(2**62)),
        ("SymInt v", "int64_t", 12, 12),
        ("int v", "int32_t", -7, -7),
        ("int v", "int16_t", -7, -7),
        ("int v", "int8_t", -128, -128),
        ("int v", "uint64_t", 2**62, 2**62),
        ("int v", "uint32_t", 2**32 - 1, 2**32 - 1),
        ("int v", "uint16_t", 7, 7),
        ("int v", "uint8_t", 255, 255),
        ("bool v", "int64_t", True, 1),
        ("float v", "double", 1e-300, 1e-300),
        ("Scalar v", "double", 3, 3.0),
        ("float v", "float", 0.25, 0.25),
        ("bool v", "bool", True, True),
        ("bool v", "bool", False, False),
        ("ScalarType v", "aclDataType", torch.bfloat16, torch.bfloat16),
        ("Tensor? v", "aclTensor", None, None),
    ],
)
def test_a_value_of_each_kind(schema: str, ctype: str, value: object, expected: object) -> None:
    got = passed(schema, ctype, ARGUMENT, value)
    assert got == expected
    assert type(got) is type(expected)


def test_tensors() -> None:
    for schema in ("Tensor v", "Tensor? v"):
        got = passed(schema, "aclTensor", ARGUMENT, X.to("npu").t())
        torch.testing.assert_close(got, X.t())
    for schema in ("Tensor[] v", "Tensor?[] v"):
        got = passed(schema, "aclTensorList", ARGUMENT, [X.to("npu"), X.to("npu")[1]])
        torch.testing.assert_close(got, [X, X[1]])
    got = passed("Tensor?[] v", "aclTensorList", ARGUMENT, [None, X.to("npu")])
    assert isinstance(got, list)
    assert got[0] is None
    torch.testing.assert_close(got[1], X)


@pytest.mark.parametrize(
    ("schema", "ctype", "constant"),
    [
        ("int? v", "int64_t", -1),
        ("float? v", "double", 1.5),
        ("float? v", "float", 0.5),
        ("bool? v", "bool", True),
        ("Scalar? v", "aclScalar", 3),
        ("int[]? v", "aclIntArray", [1, 2]),
        ("float[]? v", "aclFloatArray", [0.5]),
        ("str? v", "char", "none"),
        ("ScalarType? v", "aclDataType", torch.float16),
    ],
)
def test_a_constant_for_none(schema: str, ctype: str, constant: object) -> None:
    assert passed(schema, ctype, ("argument_or", 1, constant), None) == constant


@pytest.mark.parametrize(
    ("ctype", "constant"),
    [
        ("int8_t", -3),
        ("uint64_t", 3),
        ("double", 2),
        ("float", 0.5),
        ("bool", True),
        ("aclScalar", 2.5),
        ("aclScalarList", [1.5, 2.5]),
        ("aclIntArray", [2, 3]),
        ("aclFloatArray", [2.0, 3.0]),
        ("aclBoolArray", [False, True]),
        ("char", "mode"),
        ("aclDataType", torch.int8),
        ("aclIntArray", None),
        ("aclTensor", None),
        ("aclTensorList", None),
    ],
)
def test_constants(ctype: str, constant: object) -> None:
    assert passed("int v", ctype, ("constant", constant), 0) == constant


def test_sizes_and_dtypes_of_other_values() -> None:
    size = ("*", ("dim", 0, -1), ("arg", 1))
    assert passed("int v", "int64_t", ("size", size), 5) == 15
    assert passed("Tensor v", "aclDataType", ARGUMENT, X.to("npu").half()) is torch.float16
    assert passed("int v", "aclDataType", ("output", 0), 0) is torch.float32


def test_a_value_that_the_c_type_cannot_hold() -> None:
    message = r"argument 'v' is 300, but aclnnPassInt8T takes it as int8_t, from -128 to 127"
    with pytest.raises(ValueError, match=message):
        passed("int v", "int8_t", ARGUMENT, 300)
    with pytest.raises(ValueError, match=r"is -1, but .* uint64_t, from 0 to"):
        passed("int v", "uint64_t", ARGUMENT, -1)


def test_optional_and_listed_arguments_that_are_written() -> None:
    signature = "aclnnWriteLive(aclTensor *aRefOptional, aclTensorList *bRefOptional)"

    def write(a: torch.Tensor | None, b: list[torch.Tensor | None] | None) -> None:
        for tensor in (a, *(b or ())):  # torch_npu passes null for an empty list
            if tensor is not None:
                tensor.add_(1)

    parameters = (("aclTensor", ("output", 0)), ("aclTensorList", ("argument", 1)))
    schema = "(Tensor(a!)? a, Tensor(b!)[] b) -> ()"
    x = torch.zeros(2, device="npu")
    with reference(signature, write):
        written = plan("aclnnWriteLive", parameters, ({"argument": 0},), ())
        with operator(schema, written) as op:
            op(None, [x])
            op(x, [])
            assert x.tolist() == [2, 2]
        copied = plan("aclnnWriteLive", parameters, ({"argument": 0},), (("argument", 0),), (0, 1))
        for listed in ("Tensor[] b", "Tensor?[] b"):
            with operator(f"(Tensor a, {listed}) -> Tensor", copied) as op:
                assert op(x, [x]).tolist() == [3, 3]
                assert x.tolist() == [2, 2]


NEG = "aclnnNegLive(const aclTensor *x, aclTensor *out)"
NEG_PLAN = plan(
    "aclnnNegLive", (("aclTensor", ("argument", 0)), ("aclTensor", ("output", 0))), (like(0),)
)


def neg(x: torch.Tensor, out: torch.Tensor) -> None:
    torch.neg(x, out=out)


def test_declared_after_the_operator_and_replaced() -> None:
    with operator("(Tensor x) -> Tensor", NEG_PLAN) as op:
        assert not _aclnn.has_function("aclnnNegLive")
        text = (
            r"aclnnNegLive or aclnnNegLiveGetWorkspaceSize is neither in libcust_opapi.so .* nor "
            r"in libopapi.so .* opwright.twin.kernel"
        )
        with pytest.raises(RuntimeError, match=text):
            op(X.to("npu"))
        with reference(NEG, neg):
            assert _aclnn.has_function("aclnnNegLive")
            torch.testing.assert_close(op(X.to("npu")).cpu(), -X)
        with reference(NEG, lambda x, out: torch.abs(x, out=out)):
            torch.testing.assert_close(op(-X.to("npu")).cpu(), X)
        with pytest.raises(RuntimeError, match="its reference function was removed"):
            op(X.to("npu")).cpu()


def test_another_signature() -> None:
    signature = "aclnnNegLive(const aclTensor *x, double y, aclTensor *out)"
    with (
        reference(signature, lambda x, y, out: None),  # noqa: ARG005 - never called
        operator("(Tensor x) -> Tensor", NEG_PLAN) as op,
        pytest.raises(RuntimeError, match=r"passes \(aclTensor, aclTensor\)"),
    ):
        op(X.to("npu"))


def test_an_exception_of_the_reference_function() -> None:
    def broken(x: torch.Tensor, out: torch.Tensor) -> None:  # noqa: ARG001
        message = "no such mode"
        raise LookupError(message)

    with reference(NEG, broken), operator("(Tensor x) -> Tensor", NEG_PLAN) as op:
        result = op(X.to("npu"))
        with pytest.raises(RuntimeError, match="LookupError: no such mode"):
            result.cpu()
        torch_npu.npu.synchronize()  # the error was reported once


@pytest.mark.isolated(CXX="/bin/false")
def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with reference(NEG, neg), operator("(Tensor x) -> Tensor", NEG_PLAN) as op:
        assert op(torch.ones(3, device="npu")).cpu().tolist() == [-1, -1, -1]

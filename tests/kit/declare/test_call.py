"""Calls of aclnn functions: text -> data."""

from __future__ import annotations

import pytest

from opwright.aclnn.signature import CType
from opwright.kit.declare.call import Actual, Call, DtypeOf, Literal, Named, parse_call


@pytest.mark.parametrize(
    ("text", "actual"),
    [
        ("x", Actual(source=Named("x"))),
        ("float x", Actual(source=Named("x"), ctype=CType.FLOAT)),
        ("const aclTensor *x", Actual(source=Named("x"), ctype=CType.TENSOR)),
        ("aclTensor* x", Actual(source=Named("x"), ctype=CType.TENSOR)),
        ("int x", Actual(source=Named("x"), ctype=CType.INT32)),
        ("true", Actual(source=Literal(value=True))),
        ("False", Actual(source=Literal(value=False))),
        ("nullptr", Actual(source=Literal(None))),
        ("None", Actual(source=Literal(None))),
        ("1", Actual(source=Literal(1))),
        ("-1.5", Actual(source=Literal(-1.5))),
        ("'a, b'", Actual(source=Literal("a, b"))),
        ("int8_t 1", Actual(source=Literal(1), ctype=CType.INT8)),
        ("dim or -1", Actual(source=Named("dim", Literal(-1)))),
        ("int64_t dim or 0", Actual(source=Named("dim", Literal(0)), ctype=CType.INT64)),
        ("out.dtype", Actual(source=DtypeOf("out"))),
        ("aclDataType out.dtype", Actual(source=DtypeOf("out"), ctype=CType.DTYPE)),
    ],
)
def test_parameter(text: str, actual: Actual) -> None:
    assert parse_call(f"aclnnF({text})", where="") == Call(function="aclnnF", actuals=(actual,))


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("aclnnF", Call(function="aclnnF")),
        ("aclnnF()", Call(function="aclnnF", actuals=())),
        (
            " aclnnF( x , out ) ; ",
            Call(
                function="aclnnF", actuals=(Actual(source=Named("x")), Actual(source=Named("out")))
            ),
        ),
        (
            (
                "aclnnFGetWorkspaceSize(const aclTensor *x, uint64_t *workspaceSize, "
                "aclOpExecutor **executor)"
            ),
            Call(function="aclnnF", actuals=(Actual(source=Named("x"), ctype=CType.TENSOR),)),
        ),
    ],
)
def test_call(text: str, call: Call) -> None:
    assert parse_call(text, where="") == call

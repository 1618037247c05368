"""Defaults of a schema -> Python values."""

from __future__ import annotations

import pytest

from opwright.kit.declare.defaults import Default, default_value
from opwright.kit.declare.schema_text import parse_schema


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("int n=3", 3),
        ("SymInt n=-1", -1),
        ("int r=Mean", 1),
        ("float p=1", 1.0),
        ("float p=1e-05", 1e-05),
        ("bool b=True", True),
        ("str s='a, b'", "a, b"),
        ('str s="a\\"b"', 'a"b'),
        ("Scalar s=0.5", 0.5),
        ("int[2] pad=0", [0, 0]),
        ("int[] pad=[]", []),
        ("int[] pad=[1, 2]", [1, 2]),
        ("float[] f=[1.0, 2.0]", [1.0, 2.0]),
        ("bool[3] m=True", [True, True, True]),
        ("Tensor? x=None", None),
        ("int[]? dim=None", None),
        ("ScalarType t=long", "long"),
        ("Layout l=strided", "strided"),
        ("MemoryFormat m=contiguous_format", "contiguous_format"),
        ("Device d='cpu'", "cpu"),
        ("Tensor x", None),
    ],
)
def test_value(text: str, value: Default) -> None:
    argument = parse_schema(f"f({text}) -> ()", where="").arguments[0]
    found = default_value(argument)
    assert found == value
    assert type(found) is type(value)

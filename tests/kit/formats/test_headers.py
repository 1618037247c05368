"""Headers of operator projects: what they include is read, and every mistake has line and cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.aclnn.constants import read_constant
from opwright.aclnn.prototype import PrototypeError
from opwright.kit.formats.errors import HeaderError
from opwright.kit.formats.headers import declarations, read_headers

if TYPE_CHECKING:
    from pathlib import Path

ADD = """REG_OP(Add)
    .INPUT(x, TensorType::ALL())
    .OUTPUT(y, TensorType::ALL())
    .OP_END_FACTORY_REG(Add)
"""


def of_attribute(text: str) -> str:
    """Return a header whose operator has an attribute."""
    return (
        f"\nREG_OP(A)\n    .INPUT(x, TensorType::ALL())\n    {text}\n    .OP_END_FACTORY_REG(A)\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ATTR(a, Int, 0x10)", 16),
        ("ATTR(a, Int, 010)", 8),
        ("ATTR(a, Int, (1 << 20) - 1)", 2**20 - 1),
        ("ATTR(a, Int, -7 / 2)", -3),
        ("ATTR(a, Int, INT64_MIN)", -(2**63)),
        ("ATTR(a, Int, std::numeric_limits<int64_t>::max())", 2**63 - 1),
        ("ATTR(a, Int, ge::DT_BF16)", 27),
        ("ATTR(a, Int)", 0),
        ("ATTR(a, Float, 1)", 1.0),
        ("ATTR(a, Float, 1e-12f)", 1e-12),
        ("ATTR(a, Float, 1.0f / 4)", 0.25),
        ("ATTR(a, Bool, 0)", False),
        ("ATTR(a, Bool)", False),
        ('ATTR(a, String, "a" "b\\"")', 'ab"'),
        ("ATTR(a, Type, ge::DT_INT8)", "DT_INT8"),
        ("ATTR(a, Type)", "DT_FLOAT"),
        ("ATTR(a, ListInt, {})", ()),
        ("ATTR(a, ListInt, {-1, DT, DT_INT32})", (-1, 5, 3)),
        ("ATTR(a, ListInt, ge::UNKNOWN_RANK)", (-2,)),
        ("ATTR(a, ListFloat, {1, 1 / 2.0f})", (1.0, 0.5)),
        ("ATTR(a, ListBool, {true, false})", (True, False)),
        ('ATTR(a, ListString, {"a,", "b"})', ("a,", "b")),
        ("ATTR(a, ListType, {ge::DT_FLOAT, DT_FLOAT8_E5M2})", ("DT_FLOAT", "DT_FLOAT8_E5M2")),
        ("ATTR(a, ListListInt, {{1, 2}, {}})", ((1, 2), ())),
        ("ATTR(a, ListListInt)", ()),
    ],
)
def test_defaults(text: str, expected: object) -> None:
    (found,) = declarations(f"#define DT 5\n{of_attribute(f'.{text}')}", where="f.h")
    (attribute,) = found.prototype.attributes
    assert attribute.default == expected
    assert type(attribute.default) is type(expected)
    assert found.where == "f.h:3"


WRONG = {
    "Int": ["1.5", '"a"', "{1}", "true", "N", "1, 2", "9223372036854775808", "f(1)"],
    "Float": ['"1"', "{1.0}", "true", "x / 2", "1.0 / 0"],
    "Bool": ["2", '"true"', "yes", "{true}"],
    "String": ["text", "1", "{}", "'a'"],
    "Type": ["DT_FLOT", "1", '"DT_FLOAT"'],
    "ListInt": ["1", "{1.5}", '{"a"}', "{1, {2}}", "{true}"],
    "ListFloat": ["0.5", '{"a"}', "{x}"],
    "ListBool": ["true", "{2}"],
    "ListString": ['"a"', "{a}", "{1}", "{DT_INT8}"],
    "ListType": ["DT_FLOAT", "{DT_FLOT}", "{1}", '{"DT_INT8"}'],
    "ListListInt": ["{1}", "{{1.5}}", "1"],
}


@pytest.mark.parametrize(
    ("kind", "text"), [(k, text) for k, texts in WRONG.items() for text in texts]
)
def test_a_default_of_another_type_is_an_error(kind: str, text: str) -> None:
    with pytest.raises(HeaderError) as caught:
        list(declarations(of_attribute(f".ATTR(a, {kind}, {text})"), where="f.h"))
    assert caught.value.where == "f.h:4, operator A, attribute a"
    assert caught.value.got == f"default {text} of type {kind}"


@pytest.mark.parametrize(
    ("text", "where", "got"),
    [
        ("", "f.h", "no REG_OP"),
        ("// REG_OP(A)\n#include <map>\n", "f.h", "no REG_OP"),
        (of_attribute(".ATTR(a, Int, 1"), "f.h:4", "a parenthesis that is not closed"),
        (of_attribute(".INPUT(1x, TensorType::ALL())"), "f.h:4", "INPUT(1x, TensorType::ALL())"),
        (of_attribute('.INPUT("y", TensorType::ALL())'), "f.h:4", 'INPUT("y", TensorType::ALL())'),
        (of_attribute(".INPUTS(y, TensorType::ALL())"), "f.h:4, operator A", "INPUTS"),
        (of_attribute(".INPUT(y)"), "f.h:4, operator A", "INPUT(y)"),
        (
            of_attribute(".INPUT(y, TensorTyp({DT_INT8}))"),
            "f.h:4, INPUT y",
            "dtypes 'TensorTyp({DT_INT8})'",
        ),
        (
            of_attribute(".REQUIRED_ATTR(a, Int, 1)"),
            "f.h:4, operator A",
            "REQUIRED_ATTR(a, Int, 1)",
        ),
        (of_attribute(".REQUIRED_ATTR(a, Integer)"), "f.h:4, attribute a", "type 'Integer'"),
        (
            of_attribute(".INPUT(x, TensorType::ALL())"),
            "f.h:4, operator A",
            "input x again: the first is at line 3",
        ),
        (
            of_attribute(".ATTR(a, Int, 1).REQUIRED_ATTR(a, Float)"),
            "f.h:4, operator A",
            "attribute a again: the first is at line 4",
        ),
        (
            of_attribute(".OUTPUT(y, TensorType::ALL())\n.DYNAMIC_OUTPUT(y, TensorType::ALL())"),
            "f.h:5, operator A",
            "output y again: the first is at line 4",
        ),
        (
            of_attribute("").replace("    .OP_END_FACTORY_REG(A)", ""),
            "f.h:3, operator A",
            "an end with INPUT(x, TensorType::ALL())",
        ),
        (
            of_attribute("").replace("REG(A)", "REG(B)"),
            "f.h:5, operator A",
            "an end with OP_END_FACTORY_REG(B)",
        ),
        (
            f"{ADD}{ADD}",
            "f.h:5, operator Add",
            "a prototype again: the first is at f.h:1",
        ),
        (
            "#define CUSTOM(x) \\\n    REG_OP(Cust##x)\n\nCUSTOM(A).OP_END_FACTORY_REG(CustA)\n",
            "f.h:4",
            "CUSTOM(...), a macro with parameters, which is not expanded",
        ),
    ],
)
def test_mistakes(text: str, where: str, got: str, tmp_path: Path) -> None:
    header = tmp_path / "f.h"
    header.write_text(text)
    with pytest.raises((HeaderError, PrototypeError)) as caught:
        read_headers([header])
    assert caught.value.where.replace(str(header), "f.h") == where
    assert caught.value.got.replace(str(header), "f.h") == got


def test_included_files_are_read_once_and_in_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.h").write_text(
        '#include "sub/b.h"\n#include "graph/operator_reg.h"\n#include <vector>\n'
        f'#if 0\n#include "c.h"\n#endif\n{ADD.replace("Add", "First")}'
    )
    (tmp_path / "sub" / "b.h").write_text(f'#include "../a.h"\n{ADD.replace("Add", "Second")}')
    (tmp_path / "c.h").write_text(ADD)
    read = read_headers([tmp_path / "a.h", tmp_path / "sub" / "b.h"])
    assert [each.prototype.op_type for each in read.found] == ["Second", "First"]
    assert read.notes == (f"{tmp_path / 'a.h'}:4, branch of #if not read",)


def test_includes_may_be_as_deep_as_they_like_and_no_file_at_all(tmp_path: Path) -> None:
    for number in range(1200):
        (tmp_path / f"{number}.h").write_text(f'#include "{number + 1}.h"\n')
    (tmp_path / "1200.h").write_text(f'#include "0.h"\n#include "{"x" * 5000}"\n{ADD}')
    assert [each.where for each in read_headers([tmp_path / "0.h"]).found] == [
        f"{tmp_path / '1200.h'}:3"
    ]


def test_macros_that_grow_without_end_are_refused(tmp_path: Path) -> None:
    header = tmp_path / "f.h"
    bomb = "".join(f"#define A{n} A{n - 1} + A{n - 1}\n" for n in range(1, 40))
    chain = "".join(f"#define A{n} A{n - 1}\n" for n in range(1, 2000))
    for macros, last in ((bomb, "A39"), (chain, "A1999")):
        header.write_text(f"#define A0 1\n{macros}{of_attribute(f'.ATTR(a, Int, {last})')}")
        with pytest.raises(PrototypeError, match="macros that expand to more than is read"):
            read_headers([header])


@pytest.mark.parametrize(
    "text", ["9" * 5000, "-" * 50_000 + "1", "+".join(["1"] * 20_000), "{" * 3000 + "}" * 3000]
)
def test_a_default_without_end_is_reported_with_its_beginning(text: str, tmp_path: Path) -> None:
    header = tmp_path / "f.h"
    header.write_text(of_attribute(f".ATTR(a, Int, {text})"))
    with pytest.raises(HeaderError) as caught:
        read_headers([header])
    assert caught.value.got == f"default {text[:80]}… of type Int"


def test_headers_may_declare_an_operator_alike_but_not_otherwise(tmp_path: Path) -> None:
    one, two = tmp_path / "one.h", tmp_path / "two.h"
    one.write_text(ADD)
    two.write_text(f"\n{ADD}")
    assert [each.where for each in read_headers([one, two]).found] == [f"{one}:1"]
    two.write_text(ADD.replace(".INPUT(x,", ".INPUT(z,"))
    with pytest.raises(HeaderError, match="and otherwise: the first is at"):
        read_headers([one, two])


def test_a_header_in_another_encoding_is_refused(tmp_path: Path) -> None:
    header = tmp_path / "f.h"
    header.write_bytes("// 算子\n".encode("gbk") + ADD.encode())
    with pytest.raises(HeaderError, match="UTF-8"):
        read_headers([header])


@given(
    st.recursive(
        st.integers(0, 99).map(str),
        lambda inner: (
            st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner)
            | st.builds("-{}".format, st.builds("({})".format, inner))
        ),
    )
)
def test_arithmetic_has_its_value(text: str) -> None:
    assert read_constant(text) == eval(text)  # noqa: S307 - numbers and operators


@given(st.text(alphabet='0123456789abxX.eE+-*/%<>() \nfuLl_:"', max_size=20))
def test_any_constant_is_read_or_none(text: str) -> None:
    assert isinstance(read_constant(text), int | float | None)


@settings(max_examples=200)
@given(
    st.integers(0, 10**6), st.integers(0, 12), st.sampled_from(["", "(", ")", '"', "{", ",", "1"])
)
def test_any_damage_is_read_or_refused_with_its_line(place: int, size: int, put: str) -> None:
    text = f'{of_attribute(".ATTR(a, ListInt, {1, 2})")}{ADD}REG_OP(S).ATTR(t, String, "x")'
    text += ".DATATYPE(T, TensorType({DT_INT8})).DYNAMIC_OUTPUT(o, T).OP_END_FACTORY_REG(S)"
    start = place % len(text)
    damaged = text[:start] + put + text[start + size :]
    try:
        found = list(declarations(damaged, where="f.h"))
    except (HeaderError, PrototypeError) as error:
        assert error.where.startswith("f.h:")  # noqa: PT017 - either is right
    else:
        assert len(found) <= 3

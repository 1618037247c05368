"""REG_OP as authors write it: any prototype, in any layout, is read as it was meant."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.aclnn.dtypes import CANN_DTYPES, TYPE_SETS, expand, torch_dtypes
from opwright.aclnn.prototype import (
    ATTRIBUTE_KINDS,
    ATTRIBUTE_TYPES,
    Attribute,
    Default,
    Graph,
    Port,
    Presence,
    Prototype,
    PrototypeError,
    TypeSymbol,
)
from opwright.aclnn.reg_op import parse_reg_op, write_reg_op
from opwright.aclnn.scan import find_skipped_branches, plain_code

NAMES = st.from_regex(r"[a-z]\w{0,9}", fullmatch=True).filter(str.isascii)
TYPES = st.lists(
    st.sampled_from(["DT_FLOAT", "DT_BF16", "DT_STRING", "FloatingDataType", "ALL"]), unique=True
).map(tuple)
TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)
DEFAULTS: dict[str, st.SearchStrategy[Default]] = {
    "Int": st.integers(-(2**31), 2**31),
    "Float": st.floats(allow_nan=False, allow_infinity=False),
    "Bool": st.booleans(),
    "String": TEXTS,
    "Type": st.sampled_from(["DT_FLOAT", "DT_INT8"]),
    "ListInt": st.lists(st.integers(-9, 9), max_size=3).map(tuple),
    "ListFloat": st.lists(st.floats(-9, 9), max_size=3).map(tuple),
    "ListBool": st.lists(st.booleans(), max_size=3).map(tuple),
    "ListString": st.lists(TEXTS, max_size=3).map(tuple),
    **{kind: st.just(()) for kind in ("ListTensor", "ListType", "ListNamedAttrs")},
    "AscendString": TEXTS,
    "ListAscendString": st.lists(TEXTS, max_size=3).map(tuple),
    "ListListInt": st.lists(st.lists(st.integers(0, 9), max_size=2).map(tuple)).map(tuple),
}


def ports(*presences: Presence) -> st.SearchStrategy[Port]:
    plain = st.builds(Port, name=NAMES, presence=st.sampled_from(presences), dtypes=TYPES)
    symbolic = st.builds(
        Port, name=NAMES, presence=st.sampled_from(presences), symbol=st.sampled_from(["T", "T1"])
    )
    return plain | symbolic


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    kind = draw(st.sampled_from(sorted(ATTRIBUTE_KINDS)))
    required = draw(st.booleans())
    return Attribute(
        name=draw(NAMES),
        ctype=ATTRIBUTE_TYPES.get(kind),
        required=required,
        default=draw(DEFAULTS[kind]) if kind in DEFAULTS and not required else None,
        kind="" if kind in ATTRIBUTE_TYPES else kind,
    )


PROTOTYPES = st.builds(
    Prototype,
    op_type=st.from_regex(r"[A-Z]\w{0,9}", fullmatch=True).filter(str.isascii),
    inputs=st.lists(ports("required", "optional", "dynamic"), max_size=4).map(tuple),
    outputs=st.lists(ports("required", "dynamic"), max_size=3).map(tuple),
    attributes=st.lists(attributes(), max_size=4).map(tuple),
    symbols=st.lists(
        st.builds(TypeSymbol, name=NAMES, dtypes=TYPES, is_list=st.booleans())
        | st.builds(
            TypeSymbol, name=NAMES, dtypes=st.just(("T", "T1")), promoted=st.just(value=True)
        ),
        max_size=2,
    ).map(tuple),
    graphs=st.lists(st.builds(Graph, name=NAMES, dynamic=st.booleans()), max_size=1).map(tuple),
)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[\w.+-]+|\s+|.')
BLANKS = st.sampled_from(
    ["", " ", "\n", "\t", "/* .INPUT( */", "// ) .OUTPUT(\n", " \\\n ", '/* " */', "\r\n"]
)


@given(PROTOTYPES)
def test_a_prototype_is_read_as_it_was_written(prototype: Prototype) -> None:
    assert parse_reg_op(write_reg_op(prototype), where="f.h") == (prototype,)


@given(PROTOTYPES, st.lists(BLANKS, min_size=1, max_size=9))
def test_comments_and_line_breaks_change_nothing(prototype: Prototype, blanks: list[str]) -> None:
    text = write_reg_op(prototype)
    drawn = itertools.cycle(blanks)
    parts = []
    for part in TOKEN.findall(text):
        parts.append(part if part.strip() else next(drawn) or " ")
        if part in "(){},.":
            parts.append(next(drawn))
    around = f"#pragma once\n#ifndef A_H\nnamespace ge {{\n{''.join(parts)};\n}}\n#endif\n"
    assert parse_reg_op(around, where="f.h") == parse_reg_op(text, where="f.h")


@given(st.text(alphabet='REG_OP(A).INPUTx,T{}"\n/*#if 01endfls\\', max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_reg_op(text, where="f.h")
    except PrototypeError as error:
        assert error.where.startswith("f.h:")  # noqa: PT017 - either is right


CONDITIONAL = """
#define FLOATS DT_FLOAT, \\
    DT_FLOAT16
#define REG_OP_(x) REG_OP(x)
#if 0
REG_OP(Old).INPUT(x, TensorType({DT_INT8})).OP_END_FACTORY_REG(Old)
#endif
REG_OP(New)
#ifdef WITH_SCALE
    .INPUT(x, TensorType({FLOATS}))
    .INPUT(scale, TensorType({DT_FLOAT}))
#elif defined(OTHER)
    .INPUT(x, TensorType({DT_INT8}))
#else
    .INPUT(x, TensorType({DT_INT16}))
#endif
    .OUTPUT(y, TensorType({FLOATS, DT_BF16}))
    .OP_END_FACTORY_REG(New)
"""


def test_conditional_blocks_and_macros() -> None:
    (new,) = parse_reg_op(CONDITIONAL, where="f.h")
    assert new.inputs == (
        Port(name="x", dtypes=("DT_FLOAT", "DT_FLOAT16")),
        Port(name="scale", dtypes=("DT_FLOAT",)),
    )
    assert new.outputs[0].dtypes == ("DT_FLOAT", "DT_FLOAT16", "DT_BF16")
    assert find_skipped_branches(CONDITIONAL) == (5, 12, 14)
    assert plain_code(CONDITIONAL).count("\n") == CONDITIONAL.count("\n")


def test_a_macro_that_names_itself_is_left_alone() -> None:
    assert plain_code("#define A A B\n#define B A C\nA").split() == ["A", "A", "C"]


@pytest.mark.parametrize(
    ("text", "dtypes"),
    [
        ("TensorType({DT_FLOAT, ge::DT_INT8})", ("DT_FLOAT", "DT_INT8")),
        ("ge::TensorType({ DT_FLOAT , })", ("DT_FLOAT",)),
        ("TensorType{DT_BOOL}", ("DT_BOOL",)),
        ("TensorType::ALL()", ("ALL",)),
        ("TensorType:ALL()", ("ALL",)),
        ("TensorType::NumberType", ("NumberType",)),
        ("TensorType(UnaryDataType)", ("UnaryDataType",)),
        ("TensorType({FloatingDataType, DT_BF16})", ("FloatingDataType", "DT_BF16")),
        ("TensorType::({DT_FLOAT})", ("DT_FLOAT",)),
        ("TensorType({DT_INT8, DT_INT8})", ("DT_INT8",)),
        ("TensorType()", ()),
        ("IntTensorType()", ("IntTensorType",)),
    ],
)
def test_dtypes(text: str, dtypes: tuple[str, ...]) -> None:
    (prototype,) = parse_reg_op(f"REG_OP(A).INPUT(x, {text}).OP_END_FACTORY_REG(A)", where="f.h")
    assert prototype.inputs[0].dtypes == dtypes


def test_symbols_are_resolved() -> None:
    (prototype,) = parse_reg_op(
        'REG_OP(A).INPUT(x, "T1").INPUT(y, T2).OUTPUT(z, "T3").OUTPUT(w, "T4")'
        ".DATATYPE(T1, TensorType({DT_FLOAT})).DATATYPE(T2, ListTensorType(TensorType::FLOAT()))"
        '.DATATYPE(T3, Promote({"T1", "T2"})).OP_END_FACTORY_REG(A)',
        where="f.h",
    )
    x, y, z, w = (*prototype.inputs, *prototype.outputs)
    assert prototype.dtypes(x) == ("DT_FLOAT",)
    assert prototype.dtypes(y) == ("FLOAT",)
    assert prototype.dtypes(z) == ("DT_FLOAT", "FLOAT")
    assert prototype.dtypes(w) == ()
    assert torch_dtypes(prototype.dtypes(z)) == (("float32", "float16", "bfloat16"), ())


def test_sets_have_known_members() -> None:
    assert torch_dtypes(["FloatingDataType"]) == (("float32", "float16", "float64"), ())
    for name in TYPE_SETS:
        assert all(member.startswith("DT_") for member in expand([name]))
    everything = set(torch_dtypes(["ALL"])[0])
    assert {"float32", "bool", "complex64", "uint64"} <= everything <= set(CANN_DTYPES.values())


@pytest.mark.parametrize(
    ("attribute", "default"),
    [
        ("Int, 0x1F", 31),
        ("Int, ge::DT_BF16", 27),
        ("Float, 1", 1.0),
        ("Float, -1.5e-3f", -0.0015),
        ("Bool, false", False),
        ('String, "a, (b) \\"c\\""', 'a, (b) "c"'),
        ("ListInt, {1, -2}", (1, -2)),
        ("ListListInt, {{1, 2}, {}}", ((1, 2), ())),
        ("Type, ge::DT_FLOAT", "DT_FLOAT"),
        ("Tensor, Tensor()", None),
        ("Int, kDefault", None),
    ],
)
def test_defaults(attribute: str, default: object) -> None:
    (prototype,) = parse_reg_op(
        f"REG_OP(A).ATTR(a, {attribute}).OP_END_FACTORY_REG(A)", where="f.h"
    )
    assert prototype.attributes[0].default == default


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            ".INPUT(x, Tensor({DT_FLOAT}))",
            (
                "  where:   f.h:2, INPUT x\n"
                "  got:     dtypes 'Tensor({DT_FLOAT})'\n"
                '  allowed: "T", TensorType({DT_...}), TensorType::ALL()\n'
                "  fix:     write the dtypes as operator_reg.h takes them"
            ),
        ),
        (
            ".DATATYPE()",
            (
                "  where:   f.h:2\n"
                "  got:     DATATYPE()\n"
                "  fix:     give a symbol as the first argument, for example T"
            ),
        ),
    ],
)
def test_mistakes(part: str, message: str) -> None:
    with pytest.raises(PrototypeError) as caught:
        parse_reg_op(f"REG_OP(A)\n{part}\n.OP_END_FACTORY_REG(A)", where="f.h")
    assert str(caught.value).partition("\n")[2] == message

"""Schemas: text -> data -> text."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.kit.declare.errors import SchemaError
from opwright.kit.declare.schema import Alias, Argument, Base, Result, Schema, ValueType
from opwright.kit.declare.schema_text import parse_schema, split

# torchgen of torch 2.13 reads neither; no custom operator has one.
READABLE = [base for base in Base if base not in {Base.SYMFLOAT, Base.CONST_QUANTIZER}]
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
DEFAULTS = {
    Base.INT: ["0", "-1", "Mean"],
    Base.SYMINT: ["3"],
    Base.FLOAT: ["1.0", "1e-05", "-2.5"],
    Base.BOOL: ["True", "False"],
    Base.STR: ['"none"', "'a, b'", '"(["'],
    Base.SCALAR: ["1", "0.5"],
    Base.SCALAR_TYPE: ["long"],
    Base.MEMORY_FORMAT: ["contiguous_format"],
}


@st.composite
def value_types(draw: st.DrawFn) -> ValueType:
    is_list = draw(st.booleans())
    return ValueType(
        base=draw(st.sampled_from(READABLE)),
        is_list=is_list,
        length=draw(st.none() | st.integers(1, 9)) if is_list else None,
        optional=draw(st.booleans()),
        optional_elements=is_list and draw(st.booleans()),
    )


@st.composite
def arguments(draw: st.DrawFn, name: str, letter: str, *, keyword_only: bool) -> Argument:
    value_type = draw(value_types())
    default = None
    if value_type.optional and draw(st.booleans()):
        default = "None"
    elif value_type.base in DEFAULTS and draw(st.booleans()):
        default = draw(st.sampled_from(DEFAULTS[value_type.base]))
        if value_type.is_list:
            default = f"[{default}, {default}]"
    alias = None
    # torchgen reads an annotation with nothing, ? or [] behind it.
    suffix = str(value_type).removeprefix("Tensor")
    if value_type.has_tensors and suffix in {"", "?", "[]"} and draw(st.booleans()):
        alias = Alias(name=letter, is_write=draw(st.booleans()))
    return Argument(
        name=name, type=value_type, default=default, alias=alias, keyword_only=keyword_only
    )


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(NAMES, max_size=6, unique=True))
    star = draw(st.integers(0, len(names)))
    listed = tuple(
        draw(arguments(name, "abcdef"[index], keyword_only=index >= star))
        for index, name in enumerate(names)
    )
    last = max((i for i in range(star) if listed[i].default is None), default=0)
    listed = tuple(
        dataclasses.replace(argument, default=None) if index < last else argument
        for index, argument in enumerate(listed)
    )
    aliases = [(a.type, a.alias) for a in listed if a.alias is not None]
    results = []
    result_names = draw(st.lists(NAMES, max_size=4, unique=True))
    for name in result_names:
        value_type, alias = draw(st.sampled_from(aliases)) if aliases else (None, None)
        if value_type is None or draw(st.booleans()):
            value_type, alias = draw(value_types()), None
        given_name = name if draw(st.booleans()) else None
        results.append(Result(type=value_type, name=given_name, alias=alias))
    return Schema(
        name=draw(NAMES),
        overload=draw(st.just("") | NAMES),
        arguments=listed,
        results=tuple(results),
    )


@given(schemas())
def test_text_and_data_are_inverse(schema: Schema) -> None:
    assert parse_schema(str(schema), where="test") == schema
    assert str(parse_schema(str(schema), where="test")) == str(schema)


@pytest.mark.parametrize(
    "text",
    [
        "f() -> ()",
        "f(Tensor x) -> Tensor",
        "f(Tensor x, *, Tensor? y=None, Tensor weight) -> (Tensor out, Tensor mask)",
        "f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
        "f_(Tensor(a!) x, Tensor(b!)[] y) -> ()",
        "f(Tensor?[] indices, SymInt[2] size=1, int[]? dim=None) -> Tensor[]",
        'f(Tensor x, str mode="a, (b", float p=1e-05, ScalarType? dtype=None) -> (Tensor y)',
        "f(Tensor x, Dimname d, complex z=1j, Generator? g=None) -> int",
        "f(Tensor(a!)? x=None) -> Tensor(a!)?",
    ],
)
def test_text_comes_back(text: str) -> None:
    assert str(parse_schema(text, where="test")) == text


def test_a_default_before_an_argument_without_one_is_an_error() -> None:
    with pytest.raises(SchemaError, match="'Tensor y' without a default after 'int k=1'"):
        parse_schema("f(Tensor x, int k=1, Tensor y) -> Tensor", where="test")


def test_what_a_schema_knows() -> None:
    schema = parse_schema(
        "f.out(Tensor x, Tensor?[] ys, *, int n=3, Tensor(a!) out) -> (Tensor(a!), Tensor z)",
        where="test",
    )
    assert schema.full_name == "f.out"
    assert [argument.name for argument in schema.mutated] == ["out"]
    assert schema.is_out_variant
    assert schema.output_names() == ("out", "z")
    first, second = schema.results
    assert schema.aliased_argument(first) is schema.argument("out")
    assert schema.aliased_argument(second) is None
    assert schema.argument("w") is None
    assert [argument.keyword_only for argument in schema.arguments] == [False, False, True, True]
    assert schema.arguments[1].type == ValueType(
        base=Base.TENSOR, is_list=True, optional_elements=True
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("f(Tensor x) -> Tensor", ("out",)),
        ("f(Tensor x) -> (Tensor, Tensor b)", ("out0", "b")),
        ("f_(Tensor(a!) x) -> (Tensor(a!), Tensor)", ("x", "out1")),
    ],
)
def test_output_names(text: str, names: tuple[str, ...]) -> None:
    assert parse_schema(text, where="test").output_names() == names


def test_white_space_is_free() -> None:
    schema = parse_schema("f(\n  Tensor x,\n  int n=1\n) -> Tensor", where="test")
    assert str(schema) == "f(Tensor x, int n=1) -> Tensor"


@given(st.lists(st.from_regex(r"[a-z ]{1,5}|\[[a-z], [a-z]\]|'[a-z],'", fullmatch=True)))
def test_split_gives_the_parts(parts: list[str]) -> None:
    plain = [part.strip() for part in parts]
    if plain != [""]:
        assert split(",".join(parts)) == plain

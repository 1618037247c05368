"""A declaration -> its module: executed, it gives the declaration; it is formatted as ruff does.

OPWRIGHT_ACCEPT=1 writes the golden file anew; the difference is what a reviewer reads.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opwright.aclnn.prototype import Port, Prototype
from opwright.aclnn.reg_op import parse_reg_op
from opwright.kit.declare.backward import BackwardFunction
from opwright.kit.declare.operator import Declaration, Operator, Source
from opwright.kit.declare.operator_set import OperatorSet
from opwright.kit.declare.place import Place
from opwright.kit.declare.rules import Dims, Like, ShapeFunction
from opwright.kit.declare.schema_text import parse_schema
from opwright.kit.formats.errors import NotWritableError
from opwright.kit.formats.module_text import declaration_module
from opwright.kit.formats.python_text import quote
from tests.kit.formats.strategies import TEXT, operators, schemas

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Schema

GOLDEN = Path(__file__).parent / "golden"


def declaration(*found: Operator) -> Declaration:
    return Declaration(
        namespace="my_ops",
        version="0.1.0",
        place=Place("drawn"),
        source=Source(name="drawn.yaml"),
        operators=found,
    )


def executed(text: str) -> OperatorSet:
    """Run a module."""
    names: dict[str, object] = {}
    exec(compile(text, "drawn.py", "exec"), names)  # noqa: S102 - the text was emitted here
    found = names["ops"]
    assert isinstance(found, OperatorSet)
    return found


def without_place(operator: Operator) -> Operator:
    return dataclasses.replace(operator, place=Place(""))


def formatted(text: str) -> str:
    """Return what ruff makes of a text."""
    return subprocess.run(
        ["ruff", "format", "--isolated", "--line-length", "100", "-"],
        input=text,
        capture_output=True,
        check=True,
        encoding="utf-8",
    ).stdout


@given(operators())
def test_a_module_gives_the_declaration_that_it_was_made_of(operator: Operator) -> None:
    text = declaration_module(declaration(operator))
    (found,) = executed(text).freeze().operators
    assert without_place(found) == without_place(operator)
    assert str(found.schema) == str(operator.schema)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(operators(), min_size=1, max_size=3))
def test_a_module_is_formatted_as_ruff_does(found: list[Operator]) -> None:
    text = declaration_module(declaration(*found))
    assert formatted(text) == text


@given(schemas())
def test_a_schema_stays_what_it_is(schema: Schema) -> None:
    text = declaration_module(declaration(Operator(schema=schema, place=Place("drawn"))))
    assert str(executed(text).freeze().operators[0].schema) == str(schema)


@given(TEXT)
def test_a_string_is_read_as_it_was(text: str) -> None:
    assert eval(quote(text)) == text  # noqa: S307 - a literal


def test_the_prototype_is_reg_op_in_lines() -> None:
    (prototype,) = parse_reg_op(
        "REG_OP(Rescale).INPUT(x, TensorType::FLOAT()).OUTPUT(y, TensorType::FLOAT())"
        '.ATTR(mode, String, "a(b").OP_END_FACTORY_REG(Rescale)',
        where="",
    )
    schema = parse_schema("rescale(Tensor x, str mode='a(b') -> Tensor", where="")
    operator = Operator(
        schema=schema,
        place=Place(""),
        prototype=prototype,
        shapes={"x": Dims("*batch, N"), "out": Like("x")},
    )
    text = declaration_module(declaration(operator))
    assert without_place(executed(text).freeze().operators[0]) == operator
    golden = GOLDEN / "rescale.py.txt"
    if os.environ.get("OPWRIGHT_ACCEPT"):
        golden.write_text(text)
    assert text == golden.read_text()
    assert formatted(text) == text


def test_what_has_no_text_is_refused() -> None:
    schema = parse_schema("rescale(Tensor x) -> Tensor", where="")
    plain = Operator(schema=schema, place=Place("ops.py", 7))
    twin = Port(name="x", scalar=True)
    cases = {
        "a reference function": {"reference": print},
        "a batching rule": {"vmap": print},
        "a backward function": {"backward": BackwardFunction(print, ())},
        "a shape function for 'out'": {"shapes": {"out": ShapeFunction(lambda: ())}},
        "a prototype with what REG_OP has no words for": {
            "prototype": Prototype(op_type="Rescale", inputs=(twin,), outputs=())
        },
    }
    for got, fields in cases.items():
        with pytest.raises(NotWritableError) as caught:
            declaration_module(declaration(dataclasses.replace(plain, **fields)))  # type: ignore[arg-type]
        assert caught.value.got == got


def test_the_message_of_what_has_no_text() -> None:
    schema = parse_schema("rescale(Tensor x) -> Tensor", where="")
    operator = Operator(schema=schema, place=Place("ops.py", 7), reference=print)
    with pytest.raises(NotWritableError) as caught:
        declaration_module(declaration(operator))
    assert str(caught.value) == (
        "OPW-S006 the declaration has what this text cannot say\n"
        "  where:   ops.py:7, operator rescale\n"
        "  got:     a reference function\n"
        "  fix:     keep the module that declares it: functions have no other text"
    )

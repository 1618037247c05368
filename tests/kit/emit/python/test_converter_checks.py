"""Converters that authors write: contradictions of the schema or the prototype are reported."""
# ruff: noqa: ANN001, ANN201, ARG001, ARG005 - converters are written as TorchAir calls them
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import opwright as ow
from opwright.errors import OpwrightError
from opwright.kit.derive import derive
from opwright.kit.emit.python.converter_checks import check_converters

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = "twice(Tensor x, Tensor? y=None, *, float by=2.0) -> (Tensor low, Tensor high)"
attr: Any = None  # torchair.ge's, which are not called here
custom_op: Any = None


def message(
    converter: Callable[..., object],
    schema: str = SCHEMA,
    **fields: Any,  # noqa: ANN401 - fields of an operator
) -> str:
    """Return what is wrong with a converter; nothing if it fits."""
    ops = ow.OperatorSet("hand")
    ops.declare(schema, converter=converter, **fields)
    try:
        check_converters(derive(ops.freeze()))
    except OpwrightError as error:
        return str(error)
    return ""


def good(x, y=None, *, by=2.0, meta_outputs=None):
    attributes = {"by": attr.Float(by)}
    if y is None:
        return custom_op("Twice", inputs={"x": x}, outputs=["low", "high"], attrs=attributes)
    inputs, outputs = {"x": x, "y": y}, ["low", "high"]
    return custom_op("Twice", inputs=inputs, outputs=outputs, attrs={"by": attr.Float(by)})


def positional(x, y=None, *, by=2.0):
    return custom_op("Twice", x, y, by)


def of_another_type(x, y=None, *, by=2.0):
    return custom_op("Muls", inputs={"x": x}, outputs=["y"], attrs={"value": attr.Float(by)})


@pytest.mark.parametrize("converter", [good, positional, of_another_type])
def test_what_fits_is_accepted(converter: Callable[..., object]) -> None:
    assert not message(converter)


IN_A_TABLE = {
    "good": lambda x, y=None, *, by=2.0: custom_op("Twice", x, y, by),
    "short": lambda x, y=None, *, by=2.0: custom_op("Twice", x, y),
}


def test_lambdas_of_a_table_are_read_each_alone() -> None:
    assert not message(IN_A_TABLE["good"])
    assert "2 values" in message(IN_A_TABLE["short"])


def other_input(x, y=None, *, by=2.0):
    return custom_op("Twice", inputs={"x": x, "z": y}, outputs=["low", "high"])


def no_input(x, y=None, *, by=2.0):
    return custom_op("Twice", inputs={"y": y}, outputs=["low", "high"])


def other_output(x, y=None, *, by=2.0):
    return custom_op("Twice", inputs={"x": x}, outputs=["low", "hihg"])


def one_output(x, y=None, *, by=2.0):
    return custom_op("Twice", inputs={"x": x}, outputs=["low"])


def other_attribute(x, y=None, *, by=2.0):
    attributes = {"bye": attr.Float(by)}
    del attributes
    return custom_op("Twice", inputs={"x": x}, attrs={"bye": attr.Float(by)})


def other_kind(x, y=None, *, by=2.0):
    return custom_op("Twice", inputs={"x": x}, attrs={"by": attr.Int(by)})


def too_few(x, y=None, *, by=2.0):
    return custom_op("Twice", x, by)


def without_y(x, *, by=2.0):
    return custom_op("Twice", x, None, by)


def swapped(y, x=None, *, by=2.0):
    return custom_op("Twice", x, y, by)


WRONG = {
    other_input: ("OPW-E005", "input 'z'", "x, y"),
    no_input: ("OPW-E005", "no input 'x', which is required", "x, y"),
    other_output: ("OPW-E005", "output 'hihg'", "high, low"),
    one_output: ("OPW-E005", "no output 'high', which is required", "low, high"),
    other_attribute: ("OPW-E005", "attribute 'bye'", "by"),
    other_kind: ("OPW-E005", "attr.Int for attribute 'by'", "Float"),
    too_few: ("OPW-E005", "2 values", "x, y, by"),
    without_y: ("OPW-E004", "(x, *, by=2.0): too many", "(x, y, *, by, meta_outputs=None)"),
    swapped: ("OPW-E004", "its 'y' would be", "(x, y, *, by, meta_outputs=None)"),
}


@pytest.mark.parametrize("converter", WRONG, ids=lambda each: each.__name__)
def test_what_contradicts_names_operator_and_converter(converter: Callable[..., object]) -> None:
    name, got, allowed = WRONG[converter]
    text = message(converter)
    assert text.startswith(f"{name} ")
    assert f"operator hand::twice, converter {converter.__name__}" in text
    assert got in text
    assert f"allowed: {allowed}\n" in text


def with_other_names(first, second):
    return custom_op("AddTo", first, second)


def test_operators_that_write_are_converted_with_arguments_by_name() -> None:
    assert not message(with_other_names, "add_to(Tensor x, Tensor y) -> Tensor")
    text = message(with_other_names, "add_to(Tensor(a!) x, Tensor y) -> ()")
    assert "OPW-E004" in text
    assert "its 'first' would be the schema's 'x'" in text


def test_a_prototype_that_the_author_wrote_counts() -> None:
    text = """REG_OP(Twice).INPUT(x, TensorType::ALL()).OPTIONAL_INPUT(y, TensorType::ALL())
        .OUTPUT(low, TensorType::ALL()).OUTPUT(high, TensorType::ALL()).ATTR(by, Int, 2)
        .OP_END_FACTORY_REG(Twice)"""
    assert "got:     attr.Float for attribute 'by'" in message(good, prototype=text)

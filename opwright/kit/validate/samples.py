"""Rules for samples: the operator can be called with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.dtypes import DTYPES
from opwright.kit.declare.errors import FieldError, UnknownNameError
from opwright.kit.declare.rules import Dims
from opwright.kit.declare.sample import ErrorSample, TensorSpec
from opwright.kit.declare.schema import Base
from opwright.kit.declare.schema_text import split
from opwright.kit.validate.errors import MissingArgumentError, SampleShapeError, SampleValueError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.errors import OpwrightError
    from opwright.kit.declare.sample import Sample, Value
    from opwright.kit.declare.schema import Argument, ValueType
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES"]

# Python types of the values of each type.
PYTHON: dict[Base, tuple[type, ...]] = {
    Base.TENSOR: (TensorSpec,),
    Base.INT: (int,),
    Base.SYMINT: (int,),
    Base.FLOAT: (int, float),
    Base.SYMFLOAT: (int, float),
    Base.BOOL: (bool,),
    Base.SYMBOOL: (bool,),
    Base.SCALAR: (bool, int, float, complex),
    Base.COMPLEX: (int, float, complex),
}
FORMS = {
    Base.TENSOR: "tensor(...)",
    Base.INT: "a whole number",
    Base.SYMINT: "a whole number",
    Base.FLOAT: "a number",
    Base.SYMFLOAT: "a number",
    Base.BOOL: "True or False",
    Base.SYMBOOL: "True or False",
    Base.SCALAR: "a number",
    Base.COMPLEX: "a number",
    Base.SCALAR_TYPE: "a dtype",
}


def samples(subject: Subject) -> Iterator[OpwrightError]:
    """Check samples."""
    for index, sample in enumerate(subject.operator.samples):
        field = f"samples[{index}]"
        yield from arguments(sample, subject, field)
        for name, value in sample.values:
            argument = subject.schema.argument(name)
            if argument is not None:
                yield from value_of(value, argument, subject, f"{field}, {name}")


def errors(subject: Subject) -> Iterator[OpwrightError]:
    """Check error samples: their values may be wrong, but the call must reach the operator."""
    for index, sample in enumerate(subject.operator.errors):
        yield from arguments(sample, subject, f"errors[{index}]")
        if not sample.match:
            yield FieldError(
                where=subject.where(f"errors[{index}]"),
                got="match=''",
                fix="give a part of the message, so that another error does not pass for it",
            )


def arguments(
    sample: Sample | ErrorSample, subject: Subject, field: str
) -> Iterator[OpwrightError]:
    """Check that a sample names arguments, and all that have no default."""
    given = [name for name, _ in sample.values]
    for name in given:
        if name not in subject.arguments:
            yield UnknownNameError(
                where=subject.where(field),
                got=repr(name),
                allowed=subject.arguments,
                near=name,
                fix="name an argument of the schema",
            )
    for argument in subject.schema.arguments:
        if argument.default is None and argument.name not in given:
            yield MissingArgumentError(
                where=subject.where(field),
                got=f"no {argument.type} {argument.name}",
                fix=f"give {argument.name}=..., or the argument a default",
            )


def value_of(
    value: Value, argument: Argument, subject: Subject, field: str
) -> Iterator[OpwrightError]:
    """Check the value of one argument."""
    if not is_fitting(value, argument.type):
        form = FORMS.get(argument.type.base, "a text")
        forms = [f"a list of {form}" if argument.type.is_list else form]
        forms += ["None"] if argument.type.optional else []
        got = f"{render(value)} for {argument.type}"
        yield SampleValueError(where=subject.where(field), got=got, allowed=forms)
        return
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(each, TensorSpec):
            yield from dtype_of(each, argument, subject, field)
            yield from rank_of(each, argument, subject, field)


def render(value: Value) -> str:
    """Write a value as an author does."""
    if isinstance(value, TensorSpec):
        return f"tensor({', '.join(map(str, value.shape))})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(render, value))}]"
    return repr(value)


def is_fitting(value: Value, value_type: ValueType) -> bool:
    """Return whether a value is of a type."""
    if value is None:
        return value_type.optional
    if not value_type.is_list:
        return is_a(value, value_type.base)
    if not isinstance(value, tuple):
        return value_type.length is not None and is_a(value, value_type.base)
    return all(
        value_type.optional_elements if each is None else is_a(each, value_type.base)
        for each in value
    )


def is_a(value: Value, base: Base) -> bool:
    """Return whether a value is of a type that is no list."""
    if base is Base.SCALAR_TYPE:
        return value in DTYPES
    if isinstance(value, bool) and bool not in PYTHON.get(base, ()):
        return False
    return isinstance(value, PYTHON.get(base, (str,)))


def dtype_of(
    spec: TensorSpec, argument: Argument, subject: Subject, field: str
) -> Iterator[OpwrightError]:
    """Check the dtype of a tensor."""
    known = subject.dtypes_of(argument.name) or frozenset(DTYPES)
    if spec.dtype is not None and spec.dtype not in known:
        yield SampleValueError(
            where=subject.where(field),
            got=f"dtype {spec.dtype!r}",
            allowed=known,
            near=spec.dtype,
        )


def rank_of(
    spec: TensorSpec, argument: Argument, subject: Subject, field: str
) -> Iterator[OpwrightError]:
    """Check the number of axes of a tensor."""
    rule = subject.operator.shapes.get(argument.name)
    if not isinstance(rule, Dims):
        return
    parts = split(rule.text)
    is_open = any(part.startswith("*") for part in parts)
    rank = len(parts) - is_open
    if len(spec.shape) < rank or (len(spec.shape) > rank and not is_open):
        yield SampleShapeError(
            where=subject.where(field),
            got=f"{render(spec)}, {len(spec.shape)} axes",
            allowed=[f"{rank} axes{' or more' if is_open else ''}: {rule.text!r}"],
        )


RULES = (samples, errors)

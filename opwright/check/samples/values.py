"""Values of arguments that are no tensors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.check.samples.choice import contains, is_same
from opwright.kit.declare.defaults import default_value
from opwright.kit.declare.rules import DtypeArgument, DtypeSet
from opwright.kit.declare.sample import frozen
from opwright.kit.declare.schema import Base
from opwright.kit.expressions.conditions import (
    MemberCheck,
    ValueCheck,
    arguments_of_check,
    constants_of_size,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.check.samples.problem import Problem
    from opwright.kit.declare.sample import Value
    from opwright.kit.declare.schema import Argument

__all__ = ["SEEDS", "UNMADE", "USUAL", "is_default", "options_of"]

SEEDS = tuple(range(64))
FLOATING = frozenset({Base.FLOAT, Base.SYMFLOAT})
# Types that no sample can give: they are left out, or the operator has no samples.
UNMADE = frozenset(
    {
        Base.GENERATOR,
        Base.DIMNAME,
        Base.STORAGE,
        Base.STREAM,
        Base.QSCHEME,
        Base.DEVICE_INDEX,
        Base.CONST_QUANTIZER,
    }
)
USUAL: dict[Base, tuple[Value, ...]] = {
    Base.INT: (1, 0, 2, 3, -1),
    Base.SYMINT: (1, 0, 2, 3, -1),
    Base.FLOAT: (1.0, 0.5, 2.0, 0.0),
    Base.SYMFLOAT: (1.0, 0.5, 2.0, 0.0),
    Base.BOOL: (False, True),
    Base.SYMBOOL: (False, True),
    Base.SCALAR: (1, 0, 2, -1, 0.5),
    Base.COMPLEX: (1.0, 0.0),
    Base.STR: ("mean", "sum", "none", ""),
    Base.SCALAR_TYPE: ("float32", "float16"),
    Base.LAYOUT: ("strided",),
    Base.MEMORY_FORMAT: ("contiguous_format",),
    Base.DEVICE: ("cpu",),
}
# Names of ints that are axes, counted from both ends; what a tensor does not have is refused.
AXIS = re.compile(r"(^|_)(dims?|axis|axes)\d*$", re.IGNORECASE)
AXES = (-1, 0, -2, 1, -3, 2)


def is_default(argument: Argument, value: Value) -> bool:
    """Return whether a value is what an argument has where nothing is given."""
    return argument.default is not None and is_same(frozen(default_value(argument)), value)


def options_of(
    argument: Argument, problem: Problem, sizes: Sequence[int], *, whole: bool = False
) -> tuple[Value, ...]:
    """Return what an argument can be, or an element of a list: the most usual first.

    Parameters
    ----------
    sizes
        Sizes of axes: an int may be one.
    whole
        Return whole values of a list.
    """
    found: list[Value] = []
    for value in (frozen(default_value(argument)), *problem.known.get(argument.name, ())):
        items = value if isinstance(value, tuple) and not whole else (value,)
        found += [each for each in items if each is not None]
    if not whole:
        found += of_rules(argument, problem)
        is_ruled = argument.name in problem.ruled
        if argument.type.base.is_integer and AXIS.search(argument.name) and not problem.is_narrow:
            found += AXES
        if not (found and problem.is_narrow and not is_ruled):
            found += USUAL.get(argument.type.base, ())
        if argument.type.base.is_integer and (is_ruled or argument.default is None):
            found += sizes
    unique: list[Value] = []
    for each in found:
        if not contains(unique, each):
            unique.append(each)
    return tuple(unique)


def of_rules(argument: Argument, problem: Problem) -> Iterator[Value]:
    """Yield the values of an argument that its rules name."""
    facts = problem.subject.facts
    for check in () if facts is None else facts.checks:
        if isinstance(check, MemberCheck) and check.argument == argument.name:
            yield from check.values
        if not isinstance(check, ValueCheck):
            continue
        numbers = (*constants_of_size(check.left), *constants_of_size(check.right))
        if argument.type.base.is_integer:
            for value in numbers:
                if isinstance(value, int):
                    yield value
                    yield value + 1
        elif argument.type.base in FLOATING and argument.name in arguments_of_check(check):
            yield from map(float, numbers)
    if argument.type.base is Base.SCALAR_TYPE:
        for rule in problem.operator.dtypes.values():
            if isinstance(rule, DtypeArgument) and isinstance(rule.otherwise, DtypeSet):
                yield from rule.otherwise.names

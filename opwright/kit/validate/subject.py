"""The operator that rules look at, with what several of them ask."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.declare import values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.kit.declare.operator import Declaration, Operator
    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.declare.schema import Argument, Schema
    from opwright.kit.declare.values import Produced

__all__ = ["Subject", "subjects", "write_without_annotations"]


def write_without_annotations(signature: inspect.Signature) -> str:
    """Write a signature without its annotations.

    >>> def f(x: int, *, y: float = 1.0) -> float: ...
    >>> write_without_annotations(inspect.signature(f))
    '(x, *, y=1.0)'
    """
    empty = inspect.Parameter.empty
    parameters = [each.replace(annotation=empty) for each in signature.parameters.values()]
    return str(inspect.Signature(parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An operator in its set.

    Parameters
    ----------
    declared
        The operators of the set by full name.
    """

    declaration: Declaration
    operator: Operator
    declared: Mapping[str, Operator]

    @property
    def schema(self) -> Schema:
        """Its schema."""
        return self.operator.schema

    def where(self, field: str = "") -> str:
        """Return the place of a field, for messages."""
        name = f"{self.declaration.namespace}::{self.operator.name}"
        return f"{self.operator.place}, operator {name}" + (f", {field}" if field else "")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments."""
        return tuple(argument.name for argument in self.schema.arguments)

    @property
    def tensors(self) -> tuple[Argument, ...]:
        """The arguments that are one tensor."""
        return tuple(a for a in self.schema.arguments if a.type.is_tensor)

    @property
    def first_tensor(self) -> Argument | None:
        """The tensor that an output is like where no rule says anything."""
        return values.first_tensor(self.schema)

    def outputs(self) -> tuple[Produced, ...]:
        """Return the results in order, then the mutated arguments that are not returned."""
        return values.produced(self.schema)

    def new_outputs(self) -> tuple[Produced, ...]:
        """Return the results that are new values, without any that is named as an argument.

        Rules could not distinguish those from the argument; that is an error of its own.
        """
        return tuple(
            output
            for output in self.outputs()
            if output.argument is None and output.name not in self.arguments
        )

    def names(self) -> tuple[str, ...]:
        """Return the names of all values: arguments, then new outputs."""
        return (*self.arguments, *(output.name for output in self.new_outputs()))

    def dtypes_of(self, name: str) -> frozenset[str] | None:
        """Return the dtypes that a value can have; None where the rules leave that open."""
        return values.possible_dtypes(self.operator, name)

    def rule_of(self, name: str) -> DtypeRule | None:
        """Return the dtype rule of a value, or that of an output for which none was given."""
        return values.dtype_rule(self.operator, name)

    def differentiable_inputs(self) -> tuple[str, ...]:
        """Return the tensor arguments that can have a gradient."""
        return values.differentiable_inputs(self.operator)

    def differentiable_outputs(self) -> tuple[str, ...]:
        """Return the outputs that can have a gradient."""
        return values.differentiable_outputs(self.operator)


def subjects(declaration: Declaration) -> Iterator[Subject]:
    """Yield the operators of a set."""
    declared = {operator.name: operator for operator in declaration.operators}
    for operator in declaration.operators:
        yield Subject(declaration=declaration, operator=operator, declared=declared)

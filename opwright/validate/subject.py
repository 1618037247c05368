"""The operator that rules look at, with what several of them ask."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.declare.rules import DtypeArgument, DtypeSet, Like, Promoted, SameDtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.declare.operator import Declaration, Operator
    from opwright.declare.rules import DtypeRule
    from opwright.declare.schema import Argument, Schema, ValueType

__all__ = ["FLOATING", "Output", "Subject", "bare", "subjects"]

# Dtypes that have gradients; the narrow floating-point ones only carry data.
FLOATING = frozenset(
    {"float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"}
)


def bare(signature: inspect.Signature) -> str:
    """Write a signature without its annotations.

    >>> def f(x: int, *, y: float = 1.0) -> float: ...
    >>> bare(inspect.signature(f))
    '(x, *, y=1.0)'
    """
    empty = inspect.Parameter.empty
    parameters = [each.replace(annotation=empty) for each in signature.parameters.values()]
    return str(inspect.Signature(parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What the operator writes: a new value, or an argument (`argument` is its name)."""

    name: str
    type: ValueType
    argument: str | None = None


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
        return next((a for a in self.tensors if not a.type.optional), None)

    def outputs(self) -> tuple[Output, ...]:
        """Return the results in order, then the mutated arguments that are not returned."""
        outputs = []
        for result, name in zip(self.schema.results, self.schema.output_names(), strict=True):
            argument = self.schema.aliased_argument(result)
            outputs.append(
                Output(
                    name=name,
                    type=result.type,
                    argument=None if argument is None else argument.name,
                )
            )
        returned = {output.argument for output in outputs}
        return (
            *outputs,
            *(
                Output(name=argument.name, type=argument.type, argument=argument.name)
                for argument in self.schema.mutated
                if argument.name not in returned
            ),
        )

    def new_outputs(self) -> tuple[Output, ...]:
        """Return the results that are new values, without any that is named as an argument.

        Rules could not tell those from the argument; that is an error of its own.
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
        return self.dtypes_by(self.rule_of(name), seen=frozenset({name}))

    def rule_of(self, name: str) -> DtypeRule | None:
        """Return the dtype rule of a value, or that of an output for which none was given."""
        given = self.operator.dtypes.get(name)
        if given is not None or name in self.arguments:
            return given
        shape = self.operator.shapes.get(name)
        if isinstance(shape, Like):
            return SameDtype(shape.tensor)
        return None if self.first_tensor is None else SameDtype(self.first_tensor.name)

    def dtypes_by(self, rule: DtypeRule | None, seen: frozenset[str]) -> frozenset[str] | None:
        """Return the dtypes that a rule allows; a name that was seen before says nothing new."""
        match rule:
            case DtypeSet(names):
                return frozenset(names)
            case SameDtype(tensor) if tensor not in seen:
                return self.dtypes_by(self.rule_of(tensor), seen | {tensor})
            case Promoted((tensor,)) if tensor not in seen:
                return self.dtypes_by(self.rule_of(tensor), seen | {tensor})
            case Promoted() | DtypeArgument() | SameDtype():
                return None
            case _:
                return None

    def is_differentiable(self, name: str) -> bool:
        """Tell whether a tensor can have a floating-point dtype."""
        dtypes = self.dtypes_of(name)
        return dtypes is None or bool(dtypes & FLOATING)

    def differentiable_inputs(self) -> tuple[str, ...]:
        """Return the tensor arguments that can have a gradient."""
        return tuple(
            argument.name
            for argument in self.schema.arguments
            if argument.type.has_tensors
            and not (argument.is_written and argument.keyword_only)
            and self.is_differentiable(argument.name)
        )

    def differentiable_outputs(self) -> tuple[str, ...]:
        """Return the outputs that can have a gradient."""
        return tuple(
            output.name
            for output in self.outputs()
            if output.type.has_tensors and self.is_differentiable(output.name)
        )


def subjects(declaration: Declaration) -> Iterator[Subject]:
    """Yield the operators of a set."""
    declared = {operator.name: operator for operator in declaration.operators}
    for operator in declaration.operators:
        yield Subject(declaration=declaration, operator=operator, declared=declared)

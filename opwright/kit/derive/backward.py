"""The backward of an operator: which operator it is, and what autograd passes to it.

A call of one operator of the set, with gradients and saved values as its arguments, is that
operator. Everything else becomes a new operator `<name>_backward` with a Python kernel made of
other operators: it takes the gradients of the differentiable outputs and then the saved values.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.kit.declare.backward import BackwardCall, BackwardFunction, BackwardReference
from opwright.kit.declare.schema import Argument, Base, Result, Schema, ValueType
from opwright.kit.derive.facts import (
    Autograd,
    Gradient,
    OperatorFacts,
    Output,
    PythonKernel,
    SavedArgument,
    SavedOutput,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opwright.kit.declare.backward import Formula
    from opwright.kit.declare.operator import Operator
    from opwright.kit.derive.facts import BackwardArgument
    from opwright.kit.derive.values import ValueFacts

__all__ = ["derive_backward", "formula_value"]


def derive_backward(
    operator: Operator,
    outputs: tuple[Output, ...],
    values: ValueFacts,
    declared: Mapping[str, Operator],
) -> tuple[Autograd | None, OperatorFacts | None]:
    """Return how autograd runs and, unless it was declared, the backward operator."""
    match operator.backward:
        case None:
            return None, None
        case BackwardCall(formulas):
            inputs = tuple(
                name for each in formulas for name in each.inputs or values.differentiable_inputs
            )
            direct = direct_call(operator, outputs, formulas, inputs, declared)
            return direct or from_formulas(operator, outputs, formulas, inputs)
        case BackwardFunction(function, saves, inputs, of_outputs):
            kernel = PythonKernel(kind="backward", function=function, of=operator.name)
            return new_operator(
                operator,
                outputs,
                kernel,
                inputs=inputs or values.differentiable_inputs,
                differentiable=of_outputs or values.differentiable_outputs,
                saves=named(operator, saves),
            )
        case BackwardReference(inputs):
            kernel = PythonKernel(kind="vjp", function=operator.reference, of=operator.name)
            return new_operator(
                operator,
                outputs,
                kernel,
                inputs=inputs or values.differentiable_inputs,
                differentiable=values.differentiable_outputs,
                saves=tuple(
                    SavedArgument(a.name) for a in operator.schema.arguments if not a.is_out
                ),
            )
        case _:
            assert_never(operator.backward)


def new_operator(
    operator: Operator,
    outputs: tuple[Output, ...],
    kernel: PythonKernel,
    *,
    inputs: tuple[str, ...],
    differentiable: tuple[str, ...],
    saves: Sequence[SavedArgument | SavedOutput],
) -> tuple[Autograd, OperatorFacts]:
    """Return the backward operator with a Python kernel, and how autograd calls it."""
    gradients = [
        Argument(
            name=gradient_name(name, differentiable),
            type=gradient_type(next(o.type for o in outputs if o.name == name), optional=True),
        )
        for name in differentiable
    ]
    saved = saved_parameters(operator, outputs, saves)
    names = [argument.name for argument in gradients]
    schema = Schema(
        name=f"{operator.schema.name.rstrip('_')}_backward",
        overload=operator.schema.overload,
        arguments=tuple(deduplicated([*gradients, *saved], names)),
        results=tuple(
            Result(type=gradient_type(argument_type(operator.schema, name), optional=False))
            for name in inputs
        ),
    )
    autograd = Autograd(
        operator=schema.full_name,
        arguments=(*(Gradient(name) for name in differentiable), *saves),
        inputs=inputs,
        outputs=differentiable,
    )
    return autograd, OperatorFacts(
        role="backward",
        operator=operator,
        schema=schema,
        outputs=tuple(
            Output(name=name, type=result.type, result=index)
            for index, (name, result) in enumerate(
                zip(schema.output_names(), schema.results, strict=True)
            )
        ),
        checks=(),
        dtypes={},
        call=None,
        python=kernel,
        prototype=None,
    )


def named(operator: Operator, names: Sequence[str]) -> tuple[SavedArgument | SavedOutput, ...]:
    """Return what is saved for names: an argument as it was at the call, or an output."""
    return tuple(
        SavedArgument(name) if operator.schema.argument(name) else SavedOutput(name)
        for name in names
    )


def saved_parameters(
    operator: Operator,
    outputs: tuple[Output, ...],
    saves: Sequence[SavedArgument | SavedOutput],
) -> list[Argument]:
    """Return the parameters of a backward for what is saved."""
    kinds = {output.name: output.type for output in outputs}
    parameters: list[Argument] = []
    for value in saves:
        if isinstance(value, SavedArgument):
            kind, name = argument_type(operator.schema, value.name), value.name
        else:
            # A written argument may be saved as it was, too.
            is_written = operator.schema.argument(value.name) is not None
            kind, name = kinds[value.name], f"written_{value.name}" if is_written else value.name
        parameters.append(Argument(name=name, type=kind))
    return parameters


def deduplicated(arguments: Sequence[Argument], gradients: Sequence[str]) -> Iterable[Argument]:
    """Rename saved values that are called like a gradient."""
    for index, argument in enumerate(arguments):
        if index >= len(gradients) and argument.name in gradients:
            yield Argument(name=f"saved_{argument.name}", type=argument.type)
        else:
            yield argument


def gradient_name(output: str, differentiable: Sequence[str]) -> str:
    """Return how the gradient of an output is called: grad if there is one, else with its name."""
    return "grad" if len(differentiable) == 1 else f"grad_{output}"


def gradient_type(value_type: ValueType, *, optional: bool) -> ValueType:
    """Return the type of a gradient.

    The gradient of a list is a list. A result is never optional: what is zero is an undefined
    tensor, which is None in Python, as with ATen's own backward functions.
    """
    return ValueType(
        base=Base.TENSOR,
        is_list=value_type.is_list,
        optional=optional and not value_type.is_list,
        optional_elements=optional and value_type.is_list,
    )


def argument_type(schema: Schema, name: str) -> ValueType:
    """Return the type of an argument."""
    return next(argument.type for argument in schema.arguments if argument.name == name)


RESULT = re.compile(r"result(\d*)")
GRAD = re.compile(r"grad(?:_(\w+))?")


def formula_value(
    node: ast.expr, operator: Operator, outputs: tuple[Output, ...]
) -> BackwardArgument | None:
    """Return the gradient or saved value that a part of a formula names; None if it names none."""
    names = [output.name for output in outputs]
    match node:
        case ast.Subscript(ast.Name("grads"), ast.Constant(int(index))) if index < len(names):
            return Gradient(names[index])
        case ast.Name("grad"):
            return Gradient(names[0])
        case ast.Name(name) if operator.schema.argument(name) is not None:
            return SavedArgument(name)
        case ast.Name(name) if name in names:
            return SavedOutput(name)
        case ast.Name(name) if match := RESULT.fullmatch(name):
            index = int(match[1] or 0)
            return SavedOutput(names[index]) if index < len(names) else None
        case ast.Name(name) if (match := GRAD.fullmatch(name)) and match[1] in names:
            return Gradient(match[1])
    return None


def direct_call(
    operator: Operator,
    outputs: tuple[Output, ...],
    formulas: Sequence[Formula],
    inputs: tuple[str, ...],
    declared: Mapping[str, Operator],
) -> tuple[Autograd, None] | None:
    """Return how autograd runs if the backward is one call of a declared operator."""
    if len(formulas) != 1:
        return None
    node = ast.parse(formulas[0].expression.strip(), mode="eval").body
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords):
        return None
    called = declared.get(node.func.id)
    if called is None or len(called.schema.arguments) != len(node.args):
        return None
    values = [formula_value(argument, operator, outputs) for argument in node.args]
    if any(value is None for value in values):
        return None
    arguments = tuple(value for value in values if value is not None)
    asked = {value.output for value in arguments if isinstance(value, Gradient)}
    autograd = Autograd(
        operator=called.name,
        arguments=arguments,
        inputs=inputs,
        outputs=tuple(output.name for output in outputs if output.name in asked),
    )
    return autograd, None


def formula_names(
    expression: str, operator: Operator, outputs: tuple[Output, ...]
) -> tuple[BackwardArgument, ...]:
    """Return the gradients and saved values that a formula uses: arguments first, then outputs."""
    nodes = ast.walk(ast.parse(expression.strip(), mode="eval"))
    found = {formula_value(node, operator, outputs) for node in nodes if isinstance(node, ast.expr)}
    known: list[BackwardArgument] = [Gradient(output.name) for output in outputs]
    known += [SavedArgument(argument.name) for argument in operator.schema.arguments]
    known += [SavedOutput(output.name) for output in outputs]
    return tuple(value for value in known if value in found)


class Renamed(ast.NodeTransformer):
    """Replace gradients and saved values by the arguments of the backward operator."""

    def __init__(
        self,
        operator: Operator,
        outputs: tuple[Output, ...],
        names: Mapping[BackwardArgument, str],
    ) -> None:
        self.operator, self.outputs, self.names = operator, outputs, names

    def visit(self, node: ast.AST) -> ast.AST:
        """Replace one node, or go on inside."""
        value = (
            formula_value(node, self.operator, self.outputs) if isinstance(node, ast.expr) else None
        )
        if value is None:
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(self.names[value], ast.Load()), node)


def from_formulas(
    operator: Operator,
    outputs: tuple[Output, ...],
    formulas: Sequence[Formula],
    inputs: tuple[str, ...],
) -> tuple[Autograd, OperatorFacts]:
    """Return a backward operator that computes formulas."""
    used: dict[BackwardArgument, None] = {}
    for formula in formulas:
        used |= dict.fromkeys(formula_names(formula.expression, operator, outputs))
    asked = {value.output for value in used if isinstance(value, Gradient)}
    autograd, facts = new_operator(
        operator,
        outputs,
        PythonKernel(kind="formula", of=operator.name),
        inputs=inputs,
        differentiable=tuple(output.name for output in outputs if output.name in asked),
        saves=[value for value in used if not isinstance(value, Gradient)],
    )
    names = {
        value: argument.name
        for value, argument in zip(autograd.arguments, facts.schema.arguments, strict=True)
    }
    expressions = tuple(
        ast.unparse(
            Renamed(operator, outputs, names).visit(
                ast.parse(formula.expression.strip(), mode="eval")
            )
        )
        for formula in formulas
    )
    kernel = PythonKernel(kind="formula", formulas=expressions, of=operator.name)
    return autograd, dataclasses.replace(facts, python=kernel)

"""Rules for gradients: names, their number, and what computes them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from difflib import get_close_matches
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from opwright.errors import first_of, sort_nearest_first, write_count
from opwright.kit.declare.aten import find_aten_function, read_aten_functions
from opwright.kit.declare.backward import BackwardCall, BackwardFunction, BackwardReference, Formula
from opwright.kit.declare.errors import FieldError, UnknownNameError
from opwright.kit.validate.errors import (
    BackwardParametersError,
    FormulaCallError,
    FormulaError,
    GradientCountError,
    NotDifferentiableError,
    OutVariantBackwardError,
)
from opwright.kit.validate.subject import write_without_annotations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opwright.errors import OpwrightError
    from opwright.kit.declare.operator import Operator
    from opwright.kit.validate.subject import Subject

__all__ = ["RULES"]

MOST_NAMED = 10  # operators in an error


def backward(subject: Subject) -> Iterator[OpwrightError]:
    """Check how the gradients are computed."""
    given = subject.operator.backward
    if given is None:
        return
    if subject.schema.is_out_variant:
        yield OutVariantBackwardError(
            where=subject.where("backward"), got=f"a backward of {subject.schema}"
        )
        return
    if not subject.differentiable_inputs() or not subject.differentiable_outputs():
        what = "output" if subject.differentiable_inputs() else "input"
        yield NotDifferentiableError(
            where=subject.where("backward"),
            got=f"an operator without a floating-point {what}",
            fix="remove the backward, or allow a floating-point dtype",
        )
        return
    match given:
        case BackwardReference(inputs):
            yield from gradients_of(inputs, subject)
            if subject.operator.reference is None:
                yield FieldError(
                    where=subject.where("backward"),
                    got="'reference', and no reference function",
                    fix="give a reference function, or another backward",
                )
        case BackwardFunction():
            yield from of_function(given, subject)
        case BackwardCall(formulas):
            yield from of_formulas(formulas, subject)
        case _:
            assert_never(given)


def gradients_of(names: Sequence[str], subject: Subject) -> Iterator[OpwrightError]:
    """Check the inputs that get gradients."""
    where = subject.where("backward, inputs")
    known = subject.differentiable_inputs()
    for name in names:
        if name not in subject.arguments:
            fix = "name a tensor argument"
            yield UnknownNameError(where=where, got=repr(name), allowed=known, near=name, fix=fix)
        elif name not in known:
            got = f"{name!r}, {describe(name, subject)}"
            yield NotDifferentiableError(where=where, got=got, allowed=known, near=name)


def describe(name: str, subject: Subject) -> str:
    """Say why a value has no gradient."""
    argument = subject.schema.argument(name)
    if argument is not None and not argument.type.has_tensors:
        return f"which is of type {argument.type}"
    return f"whose dtypes are {', '.join(sorted(subject.dtypes_of(name) or ()))}"


def of_function(given: BackwardFunction, subject: Subject) -> Iterator[OpwrightError]:
    """Check a backward function."""
    yield from gradients_of(given.inputs, subject)
    known = (*subject.arguments, *(output.name for output in subject.new_outputs()))
    for name in given.saves:
        if name not in known:
            yield UnknownNameError(
                where=subject.where("backward, saves"),
                got=repr(name),
                allowed=known,
                near=name,
                fix="save an argument or an output",
            )
    yield from gradients_from(given.outputs, subject)
    outputs = given.outputs or subject.differentiable_outputs()
    expected = [*(f"grad_{name}" for name in outputs), *given.saves]
    if len(outputs) == 1:
        expected[0] = "grad"
    signature = inspect.signature(given.function)
    where = subject.where(f"backward, function {given.function.__name__}")
    try:
        signature.bind(*expected)
    except TypeError as error:
        gradients, saves = (
            write_count(len(outputs), "gradient"),
            write_count(len(given.saves), "saved value"),
        )
        yield BackwardParametersError(
            where=where,
            got=f"{write_without_annotations(signature)}: {error}",
            allowed=[f"({', '.join(expected)})"],
            fix=f"take {' and '.join(part for part in (gradients, saves) if part)}",
        )
    inputs = given.inputs or subject.differentiable_inputs()
    for count in find_returned(given):
        if count != len(inputs):
            yield GradientCountError(
                where=where,
                got=f"a return of {write_count(count, 'gradient')}",
                allowed=[f"{len(inputs)}: {', '.join(inputs)}"],
            )


def gradients_from(names: Sequence[str], subject: Subject) -> Iterator[OpwrightError]:
    """Check the outputs whose gradients are asked for."""
    where = subject.where("backward, outputs")
    known = subject.differentiable_outputs()
    for name in names:
        if name not in known:
            if name in {output.name for output in subject.outputs()}:
                got = f"{name!r}, {describe(name, subject)}"
                yield NotDifferentiableError(where=where, got=got, allowed=known, near=name)
            else:
                fix = "name an output"
                yield UnknownNameError(
                    where=where, got=repr(name), allowed=known, near=name, fix=fix
                )


def find_returned(given: BackwardFunction) -> tuple[int, ...]:
    """Return the numbers of values that `return a, b` statements have, each once.

    Other returns, and functions without source, show nothing here: they are counted when they run.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(given.function)))
    except (OSError, SyntaxError, TypeError):
        return ()
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef):
        return ()
    counts: dict[int, None] = {}
    nodes: list[ast.AST] = list(function.body)
    while nodes:
        node = nodes.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        match node:
            case ast.Return(ast.Tuple(values)):
                if not any(isinstance(value, ast.Starred) for value in values):
                    counts[len(values)] = None
        nodes += ast.iter_child_nodes(node)
    return tuple(counts)


def of_formulas(formulas: Sequence[Formula], subject: Subject) -> Iterator[OpwrightError]:
    """Check formulas."""
    seen: set[str] = set()
    for formula in formulas:
        yield from gradients_of(formula.inputs, subject)
        inputs = formula.inputs or subject.differentiable_inputs()
        for name in inputs:
            if name in seen:
                yield GradientCountError(
                    where=subject.where("backward"),
                    got=f"two formulas for {name!r}",
                    fix="give each input one formula",
                )
            seen.add(name)
        yield from of_formula(formula.expression, inputs, subject)


def of_formula(expression: str, inputs: Sequence[str], subject: Subject) -> Iterator[OpwrightError]:
    """Check one formula for the gradients of some inputs."""
    where = subject.where(f"backward {expression!r}")
    try:
        node = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        yield FormulaError(where=subject.where("backward"), got=f"{expression!r}: {error.msg}")
        return
    yield from names_in(node, where, subject)
    operators = subject.declared
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and (name := find_called(each)) is not None:
            if name in operators:
                yield from arguments_of(each, operators[name], where)
            elif isinstance(each.func, ast.Name) and find_aten_function(each.func) is None:
                near = get_close_matches(name, read_aten_functions(), MOST_NAMED // 2)
                known = {*operators, *near}
                yield FormulaCallError(
                    where=where,
                    got=f"{name}(...)",
                    allowed=first_of(sort_nearest_first(name, known), MOST_NAMED),
                    fix="call an operator of the set or one of torch, or write a backward function",
                )
    count = gradients_in(node, operators)
    if count is not None and count != len(inputs):
        yield GradientCountError(
            where=where,
            got=write_count(count, "gradient") or "no gradient",
            allowed=[f"{len(inputs)}: {', '.join(inputs)}"],
        )


def find_called(node: ast.Call) -> str | None:
    """Return the name of what is called: f, or f.overload; None for anything else."""
    match node.func:
        case ast.Name(name):
            return name
        case ast.Attribute(ast.Name(name), overload):
            return f"{name}.{overload}"
    return None


def gradients_in(node: ast.expr, operators: Mapping[str, Operator]) -> int | None:
    """Return how many gradients an expression gives; None if that is not known."""
    match node:
        case ast.Tuple(elements):
            return len(elements)
        case ast.Call():
            operator = operators.get(find_called(node) or "")
            return None if operator is None else len(operator.schema.results)
        case ast.BinOp() | ast.UnaryOp() | ast.Name():
            return 1
    return None


def names_in(node: ast.expr, where: str, subject: Subject) -> Iterator[OpwrightError]:
    """Check the names in a formula."""
    outputs = [output.name for output in subject.outputs()]
    known = {
        *(*subject.arguments, *outputs, "grad", "grads", "result"),
        *(f"grad_{name}" for name in outputs),
        *(f"result{index}" for index in range(len(outputs))),
    }
    functions = {id(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
    roots = {
        id(find_root(each.func))
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
    }
    for each in ast.walk(node):
        if not isinstance(each, ast.Name) or id(each) in functions or each.id in known:
            continue
        if id(each) in roots and is_module(each.id, subject):
            continue
        yield UnknownNameError(
            where=where,
            got=repr(each.id),
            allowed=known - {"grads", "result"},
            near=each.id,
            fix="name an argument, an output or a gradient",
        )


def find_root(node: ast.expr) -> ast.expr:
    """Return what stands before all dots of a name: torch of torch.ops.aten.cos."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def is_module(name: str, subject: Subject) -> bool:
    """Return whether a name before a dot is torch, or an operator of the set with an overload."""
    return name == "torch" or any(o.schema.name == name for o in subject.declared.values())


def arguments_of(node: ast.Call, operator: Operator, where: str) -> Iterator[OpwrightError]:
    """Check the arguments of a call of an operator of the set."""
    schema = operator.schema
    # Keyword-only arguments may be given by place too, as in derivatives.yaml.
    positional = [argument.name for argument in schema.arguments]
    keywords = [keyword.arg for keyword in node.keywords if keyword.arg]
    given = {*positional[: len(node.args)], *keywords}
    missing = [a.name for a in schema.arguments if a.default is None and a.name not in given]
    unknown = [name for name in keywords if schema.argument(name) is None]
    got = ""
    if len(node.args) > len(positional):
        got = f"{len(node.args)} arguments"
    elif unknown:
        got = f"an argument {unknown[0]!r}"
    elif missing:
        got = f"no {', '.join(map(repr, missing))}"
    if got:
        yield FormulaCallError(
            where=where,
            got=f"{ast.unparse(node)}: {got}",
            allowed=[str(schema)],
            fix="call it with the arguments of its schema",
        )


RULES = (backward,)

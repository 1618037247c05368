"""Operators made of others, in Python: they run on any device and are differentiated through.

reference   the operator's own function
backward    the author's backward function
formula     expressions over gradients and saved values
vjp         the reference of another operator, differentiated
"""

from __future__ import annotations

import ast
import functools
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from typing_extensions import assert_never

from opwright.kit.declare.aten import find_aten_function
from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import Binder, map_tensors, tensors_in
from opwright.kit.live.errors import BackwardResultError
from opwright.kit.live.live_operator import pack
from opwright.kit.live.reference import new_results
from opwright.kit.shipped.vjp import vjp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    from opwright.kit.derive.facts import OperatorFacts, PythonKernel
    from opwright.kit.live.live_operator import LiveOperator

__all__ = ["composite_kernel", "has_mixed_gradients", "make_opaque_kernels"]


def composite_kernel(live: LiveOperator) -> Callable[..., object]:
    """Return the CompositeImplicitAutograd kernel."""
    python = live.facts.python
    assert python is not None
    match python.kind:
        case "reference":
            return partial(run_reference, live)
        case "backward":
            return partial(run_backward, live, python)
        case "formula":
            return formula_kernel(live, python)
        case "vjp":
            return vjp_kernel(live, python)
        case _:
            assert_never(python.kind)


def run_reference(live: LiveOperator, *args: object, **kwargs: object) -> object:
    """Run the operator's own function."""
    values = live.binder.bind(args, kwargs)
    live.rules.check(values)
    operator = live.facts.operator
    assert operator.reference is not None
    values |= {name: map_tensors(torch.Tensor.clone, values[name]) for name in live.facts.clones}
    returned = Binder.of(operator.schema).call(operator.reference, values)
    new = new_results(operator, returned, values, where=live.where)
    return live.results(new, values)


def run_backward(
    live: LiveOperator, python: PythonKernel, *args: object, **kwargs: object
) -> object:
    """Run the author's backward function."""
    assert python.function is not None
    values = live.binder.bind(args, kwargs)
    returned = python.function(*values.values())
    return gradients(live, [returned], of=python.function.__name__)


def gradients(live: LiveOperator, returned: Sequence[object], *, of: str) -> object:
    """Return gradients as the backward operator does.

    Raises
    ------
    BackwardResultError
        OPW-L020.
    """
    results = live.facts.schema.results
    found: list[object] = []
    for each in returned:
        # One gradient that is a list is a list; several gradients are a tuple.
        plain = isinstance(each, list) and len(results) == 1 and results[0].type.is_list
        found += each if isinstance(each, tuple | list) and not plain else [each]
    if len(found) != len(results):
        raise BackwardResultError(
            where=f"{live.where}, backward {of}",
            got=f"{len(found)} gradients",
            allowed=[f"{len(results)}"],
        )
    for gradient, result in zip(found, results, strict=True):
        if not (
            gradient is None or isinstance(gradient, list if result.type.is_list else torch.Tensor)
        ):
            raise BackwardResultError(
                where=f"{live.where}, backward {of}",
                got=f"a {type(gradient).__name__} where a gradient should be",
                allowed=["a tensor", "None"] if not result.type.is_list else ["a list of tensors"],
            )
    return pack(found)


# Formulas: Python expressions over the arguments of the backward operator, the set's operators and
# torch. Python's own functions are not there: an expression is data that a declaration has.


def formula_kernel(live: LiveOperator, python: PythonKernel) -> Callable[..., object]:
    """Return the kernel that computes formulas."""
    formulas = [
        (compile(text, f"<backward of {python.of}>", "eval"), gradients_in(text, live.facts))
        for text in python.formulas
    ]

    called = {
        node.id: function
        for text in python.formulas
        for node in ast.walk(ast.parse(text, mode="eval"))
        if isinstance(node, ast.Name) and (function := find_aten_function(node)) is not None
    }
    functions = {name: getattr(torch.ops.aten, function) for name, function in called.items()}

    def kernel(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        names = {
            each.schema.name: dispatcher.packet(live.namespace, each.schema.name)
            for each in live.set.operators
        }
        scope = {"torch": torch, "math": math, **functions, **names, **values}
        returned = [evaluate(code, used, scope) for code, used in formulas]
        counts = len(live.facts.schema.results)
        if counts > len(returned) == 1 and returned[0] is None:
            returned = [(None,) * counts]
        return gradients(live, returned, of=", ".join(python.formulas))

    return kernel


def evaluate(code: CodeType, used: frozenset[str], scope: dict[str, Any]) -> object:
    """Return the value of a formula; None where all gradients that it uses are zero."""
    if used and all(is_absent(scope[name]) for name in used):
        return None
    # torch imports parts of itself when they are first used, with what the running code has for it.
    builtins = {"__import__": __import__}
    return eval(code, {"__builtins__": builtins, **scope})  # noqa: S307 - the author's own expression


def is_absent(gradient: object) -> bool:
    """Return whether a gradient, or each of a list, is undefined."""
    return next(tensors_in(gradient), None) is None


def gradients_in(formula: str, facts: OperatorFacts) -> frozenset[str]:
    """Return the gradients that a formula uses: the leading arguments of the backward operator."""
    known = {a.name for a in facts.schema.arguments if a.type.optional or a.type.optional_elements}
    known = {name for name in known if name == "grad" or name.startswith("grad_")}
    nodes = ast.walk(ast.parse(formula, mode="eval"))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and node.id in known)


def has_mixed_gradients(facts: OperatorFacts) -> bool:
    """Return whether a formula uses several gradients, so that it needs all or none of them."""
    python = facts.python
    if python is None or python.kind != "formula":
        return False
    return any(len(gradients_in(formula, facts)) > 1 for formula in python.formulas)


# The reference of an operator, run again with gradients.


def vjp_kernel(live: LiveOperator, python: PythonKernel) -> Callable[..., object]:
    """Return the kernel that differentiates the reference of an operator."""
    of = live.set.operator(python.of)
    assert of is not None
    assert of.autograd is not None
    outputs = [of.output(name) for name in of.autograd.outputs]
    places = [o.result if o.is_new else o.argument for o in outputs if o is not None]
    count = len(places)
    saved = [a.name for a in of.schema.arguments if not a.is_out]
    differentiate = partial(
        vjp,
        complete_reference(of, where=live.where),
        positional=Binder.of(of.schema).positional,
        written=[a.name for a in of.schema.mutated],
        inputs=of.autograd.inputs,
        outputs=[place for place in places if place is not None],
    )

    def kernel(*args: object, **kwargs: object) -> object:
        given = list(live.binder.bind(args, kwargs).values())
        values = dict(zip(saved, given[count:], strict=True))
        return differentiate(values, gradients=given[:count])

    return kernel


def complete_reference(facts: OperatorFacts, *, where: str) -> Callable[..., object]:
    """Return the reference of an operator with all results of the schema, in a tuple."""
    operator = facts.operator
    reference, binder = operator.reference, Binder.of(operator.schema)
    assert reference is not None

    @functools.wraps(reference)
    def run(*args: object, **kwargs: object) -> tuple[object, ...]:
        values = binder.bind(args, kwargs)
        new = new_results(operator, binder.call(reference, values), values, where=where)
        return tuple(new[o.name] if o.is_new else values[o.argument or ""] for o in facts.returned)

    return run


def make_opaque_kernels(
    live: LiveOperator,
) -> tuple[Callable[..., object], Callable[..., object]]:
    """Return the kernels of an opaque operator for data and for shapes."""
    python = live.facts.python
    assert python is not None
    of = live.set.operator(python.of)
    assert of is not None
    assert of.autograd is not None
    run = vjp_kernel(live, python)
    saved = live.facts.schema.arguments[len(of.autograd.outputs) :]
    sources = [a.name for a in of.schema.arguments if not a.is_out]
    names = {source: a.name for source, a in zip(sources, saved, strict=True)}
    inputs = of.autograd.inputs

    def kernel(*args: object, **kwargs: object) -> object:
        with dispatcher.with_autograd(), torch.no_grad():
            return run(*args, **kwargs)

    def fake(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        return pack([empty_gradient(values[names[name]]) for name in inputs])

    return kernel, fake


def empty_gradient(value: Any) -> Any:  # noqa: ANN401 - any argument
    """Return what has the shape of the gradient of an argument."""
    has_one = isinstance(value, torch.Tensor | list | tuple)
    return map_tensors(torch.empty_like, value) if has_one else None

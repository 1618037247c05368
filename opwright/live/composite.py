"""Operators made of others, in Python: they run on any device and are differentiated through.

reference   the operator's own function
backward    the author's backward function
formula     expressions over gradients and saved values
vjp         the reference of another operator, differentiated
"""

from __future__ import annotations

import ast
import math
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

import torch

from opwright.live import dispatcher
from opwright.live.arguments import Binder, map_tensors, tensors_in
from opwright.live.errors import BackwardResultError
from opwright.live.live_operator import packed
from opwright.live.reference import new_results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    from opwright.derive.facts import OperatorFacts, PythonKernel
    from opwright.live.arguments import Values
    from opwright.live.live_operator import LiveOperator

__all__ = ["composite_kernel", "is_opaque", "mixes_gradients", "opaque_kernels"]


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
    return packed(found)


# Formulas: Python expressions over the arguments of the backward operator, the set's operators and
# torch. Python's own functions are not there: an expression is data that a declaration has.


def formula_kernel(live: LiveOperator, python: PythonKernel) -> Callable[..., object]:
    """Return the kernel that computes formulas."""
    formulas = [
        (compile(text, f"<backward of {python.of}>", "eval"), gradients_in(text, live.facts))
        for text in python.formulas
    ]

    def kernel(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        names = {
            each.schema.name: dispatcher.packet(live.namespace, each.schema.name)
            for each in live.set.operators
        }
        scope = {"torch": torch, "math": math, **names, **values}
        returned = [evaluate(code, used, scope) for code, used in formulas]
        counts = len(live.facts.schema.results)
        if counts > len(returned) == 1 and returned[0] is None:
            returned = [(None,) * counts]
        return gradients(live, returned, of=", ".join(python.formulas))

    return kernel


def evaluate(code: CodeType, used: frozenset[str], scope: dict[str, Any]) -> object:
    """Return the value of a formula; None where all gradients that it uses are zero."""
    if used and all(absent(scope[name]) for name in used):
        return None
    # torch imports parts of itself when they are first used, with what the running code has for it.
    builtins = {"__import__": __import__}
    return eval(code, {"__builtins__": builtins, **scope})  # noqa: S307 - the author's own expression


def absent(gradient: object) -> bool:
    """Tell whether a gradient, or each of a list, is undefined."""
    return next(tensors_in(gradient), None) is None


def gradients_in(formula: str, facts: OperatorFacts) -> frozenset[str]:
    """Return the gradients that a formula uses: the leading arguments of the backward operator."""
    known = {a.name for a in facts.schema.arguments if a.type.optional or a.type.optional_elements}
    known = {name for name in known if name == "grad" or name.startswith("grad_")}
    nodes = ast.walk(ast.parse(formula, mode="eval"))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and node.id in known)


def mixes_gradients(facts: OperatorFacts) -> bool:
    """Tell whether a formula uses several gradients, so that it needs all or none of them."""
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
    inputs, outputs = of.autograd.inputs, of.autograd.outputs
    count = len(outputs)
    saved = [a.name for a in of.schema.arguments if not (a.is_written and a.keyword_only)]

    def kernel(*args: object, **kwargs: object) -> object:
        given = list(live.binder.bind(args, kwargs).values())
        flowing = dict(zip(outputs, given[:count], strict=True))
        values = dict(zip(saved, given[count:], strict=True))
        return packed(differentiate(of, values, flowing, inputs, where=live.where))

    return kernel


def is_opaque(live: LiveOperator) -> bool:
    """Tell whether an operator must not be taken apart: it differentiates what writes.

    Autograd needs what was there before a write. A hook keeps it where the reference really runs,
    but not where torch.compile follows it; so that sees one operator.
    """
    python = live.facts.python
    return python is not None and python.kind == "vjp" and bool(live.facts.operator.schema.mutated)


def opaque_kernels(
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
    sources = [a.name for a in of.schema.arguments if not (a.is_written and a.keyword_only)]
    names = {source: a.name for source, a in zip(sources, saved, strict=True)}
    inputs = of.autograd.inputs

    def kernel(*args: object, **kwargs: object) -> object:
        with dispatcher.with_autograd(), torch.no_grad():
            return run(*args, **kwargs)

    def fake(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        return packed([map_gradients(torch.empty_like, values[names[name]]) for name in inputs])

    return kernel, fake


def differentiate(
    facts: OperatorFacts,
    values: Values,
    flowing: dict[str, Any],
    inputs: Sequence[str],
    *,
    where: str,
) -> list[Any]:
    """Return the gradients of the inputs for gradients of the outputs.

    Gradients can be differentiated again: where an input is part of a graph, so is what stands for
    it here.
    """
    leaves = [t for name in inputs for t in tensors_in(values[name]) if differentiable(t)]
    wanted = [g for value in flowing.values() for g in listed(value)]

    def forward(*stand_ins: torch.Tensor) -> list[torch.Tensor]:
        left = iter(stand_ins)
        replaced = values | {
            name: map_tensors(lambda t: next(left) if differentiable(t) else t, values[name])
            for name in inputs
        }
        results = run(facts, replaced, where=where)
        found = [t for name in flowing for t in listed(results[name])]
        return [t for t, g in zip(found, wanted, strict=True) if g is not None and t is not None]

    grads = [g for g in wanted if g is not None]
    writes = bool(facts.schema.mutated)
    flows = bool(leaves and grads)
    found = iter(vjp(forward, leaves, grads, writes=writes) if flows else [None] * len(leaves))
    return [
        map_gradients(lambda t: next(found) if differentiable(t) else None, values[name])
        for name in inputs
    ]


def stand_in(tensor: torch.Tensor) -> torch.Tensor:
    """Return a place of its own in the graph: the gradient of a view is not that of what it views.

    A tensor that this transformation of torch.func does not follow may be part of an outer one's
    graph, which detach() would leave.
    """
    view = tensor.view_as(tensor)
    return view if view.requires_grad else view.requires_grad_()


def differentiable(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor can have a gradient."""
    return tensor.is_floating_point() or tensor.is_complex()


def listed(value: Any) -> list[torch.Tensor | None]:  # noqa: ANN401 - any output
    """Return the tensors of an output, and None for those that are not there."""
    return list(value) if isinstance(value, list | tuple) else [value]


def map_gradients(function: Callable[[torch.Tensor], torch.Tensor | None], value: Any) -> Any:  # noqa: ANN401 - any argument
    """Return the gradients of an argument; a list of them has zeros where there is none."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if not isinstance(value, list | tuple):
        return None
    gradients = [(t, None if t is None else function(t)) for t in value]
    return [torch.zeros_like(t) if g is None and t is not None else g for t, g in gradients]


def run(facts: OperatorFacts, values: Values, *, where: str) -> dict[str, Any]:
    """Run a reference function; what it writes are copies."""
    operator = facts.operator
    assert operator.reference is not None
    written = {
        a.name: map_tensors(torch.Tensor.clone, values[a.name]) for a in facts.schema.mutated
    }
    values = values | written
    returned = Binder.of(operator.schema).call(operator.reference, values)
    new = new_results(operator, returned, values, where=where)
    return {o.name: new[o.name] if o.is_new else values[o.argument or ""] for o in facts.outputs}


def vjp(
    forward: Callable[..., list[torch.Tensor]],
    leaves: list[torch.Tensor],
    grads: list[torch.Tensor],
    *,
    writes: bool,
) -> Sequence[torch.Tensor | None]:
    """Return gradients of the leaves; the function's results are in the order of `grads`.

    Parameters
    ----------
    writes
        Whether the function writes into tensors, which autograd may need as they were before.
    """
    again = torch.is_grad_enabled()
    with ExitStack() as stack:
        stack.enter_context(torch.enable_grad())
        stack.enter_context(dispatcher.inner_leaves())
        if writes and not dispatcher.is_transformed():  # torch.func has no such hooks
            stack.enter_context(dispatcher.saving_copies())
        stand_ins = [stand_in(t) for t in leaves]
        pairs = [(o, g) for o, g in zip(forward(*stand_ins), grads, strict=True) if o.requires_grad]
        if not pairs:
            return [None] * len(leaves)
        outputs, flowing = zip(*pairs, strict=True)
        return torch.autograd.grad(
            outputs, stand_ins, flowing, create_graph=again, allow_unused=True
        )

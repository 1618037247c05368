"""The Autograd key: what runs where a gradient can flow; elsewhere the native kernel goes on.

The gradients of an operator are computed by its backward operator, which autograd calls like any
other: it can be differentiated, transformed and compiled. A mutating operator calls its functional
twin, which autograd knows, and copies what that returns into the arguments; so views, lists and
several written arguments need nothing of their own, and what is saved is what was there before.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
from typing_extensions import assert_never

from opwright.kit.derive.facts import Gradient, SavedArgument, SavedOutput
from opwright.kit.derive.functional import functional_twin
from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import Binder, map_tensors, tensors_in
from opwright.kit.live.composite import composite_kernel, has_mixed_gradients
from opwright.kit.live.current import require_current
from opwright.kit.live.errors import (
    ForwardGradientError,
    NotDifferentiableError,
    OutGradientError,
    SavedOutputError,
)
from opwright.kit.live.live_operator import pack
from opwright.kit.shipped._internals import SingleLevelFunction, set_fwd_grad_enabled
from opwright.kit.shipped.autograd import (
    Nesting,
    Recorded,
    as_list,
    keep,
    pick,
    places_of,
    restored,
    zero,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from opwright.kit.derive.facts import Autograd, OperatorFacts
    from opwright.kit.live.arguments import Values
    from opwright.kit.live.live_operator import LiveOperator
    from opwright.kit.live.registration import Removable

__all__ = ["autograd_kernels"]


def autograd_kernels(live: LiveOperator) -> Iterator[Removable]:
    """Register what autograd does: record calls, and notice what is written. Yield the handles.

    Autograd sees through an operator that is made of others, but not through an opaque one.
    """
    if live.is_composite and not live.is_opaque:
        return
    from opwright.kit.live import _boxed  # noqa: PLC0415 - declarations can be used where it is not built

    space, name = live.namespace, live.facts.name
    places = differentiable_arguments(live)
    if places:
        yield _boxed.autograd(space, name, "Autograd", slow_path(live), places)
    written = [i for i, a in enumerate(live.facts.schema.arguments) if a.is_written]
    if written:
        yield _boxed.version_bump(space, name, written)


def differentiable_arguments(live: LiveOperator) -> list[int]:
    """Return which arguments can have a gradient, by their places in the schema.

    Without a backward these are all tensors, so that no gradient is lost silently.
    """
    names = live.autograd.inputs if live.autograd else None
    return [
        index
        for index, argument in enumerate(live.facts.schema.arguments)
        if argument.type.has_tensors and (names is None or argument.name in names)
    ]


def slow_path(live: LiveOperator) -> Callable[..., object]:
    """Return what the native kernel calls where a gradient can flow."""
    if live.facts.schema.is_out_variant:
        return refuse_out(live)
    if live.is_opaque:
        return of_opaque(live)
    if live.facts.functional_twin is not None:
        return through_twin(live, live.facts.functional_twin)
    return through_node(live)


def of_opaque(live: LiveOperator) -> Callable[..., object]:
    """Return what differentiates a gradient again: through its operations, if hooks work there."""
    recorded, through = through_node(live), composite_kernel(live)

    def run(*args: object, **kwargs: object) -> object:
        chosen = recorded if dispatcher.is_transformed() else through
        return chosen(*args, **kwargs)

    return run


def refuse_out(live: LiveOperator) -> Callable[..., object]:
    """Return what raises for an operator that writes into the caller's outputs."""

    def refuse(*_: object, **__: object) -> object:
        raise OutGradientError(where=live.name, got="an argument that requires grad")

    return refuse


def through_twin(live: LiveOperator, twin: str) -> Callable[..., object]:
    """Return what runs the functional twin and copies into the written arguments."""
    written = [argument.name for argument in live.facts.schema.mutated]
    saved = {
        a.name
        for a in (live.autograd.arguments if live.autograd else ())
        if isinstance(a, SavedArgument)
    }
    overwritten = [name for name in written if name in saved]
    of_set = live.set.operator(twin)
    if of_set is not None and of_set.role == "declared":
        # The author's own twin has other names for its results, in the same order.
        call = through_node(dataclasses.replace(live, facts=functional_twin(live.facts)))
    else:
        call = partial(dispatch, live, twin)

    def run(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        # autograd saves these copies, which nobody writes.
        given = {name: map_tensors(torch.clone, values[name]) for name in overwritten}
        results = as_list(live.binder.call(call, values | given))
        own = results[: len(results) - len(written)]
        for name, value in zip(written, results[len(own) :], strict=True):
            for target, source in zip(tensors_in(values[name]), tensors_in(value), strict=True):
                target.copy_(source)
        new = {o.name: r for o, r in zip(live.new_outputs, own, strict=True)}
        return live.results(new, values)

    return run


def dispatch(live: LiveOperator, name: str, *args: object, **kwargs: object) -> object:
    """Call another operator of the set."""
    return live.other(name)(*args, **kwargs)


def through_node(live: LiveOperator) -> Callable[..., object]:
    """Return what runs the operator and records it."""
    autograd = live.autograd
    backward = live.set.operator(autograd.operator) if autograd else None
    hidden = autograd.only_saved if autograd else ()
    nesting = Nesting()
    call_below = partial(nesting.call, run_below) if hidden else run_below
    constants = [place for place, o in enumerate(live.facts.outputs) if o.name in hidden]

    def forward(context: Any, call: Recorded, *_: torch.Tensor) -> tuple[torch.Tensor, ...]:  # noqa: ANN401 - autograd's own
        context.set_materialize_grads(False)
        results = call_below(live, call.values)
        named = dict(zip((o.name for o in live.facts.outputs), results, strict=True))
        call.outputs = places_of(named)
        flat: list[torch.Tensor] = []
        call.results = [map_tensors(partial(keep, flat), value) for value in results]
        call.zeros = [(t.shape, t.dtype, t.device) for t in flat]
        if autograd is not None:
            pairs = zip(flat, call.outputs, strict=True)
            known = (*autograd.outputs, *hidden)
            context.mark_non_differentiable(*(t for t, p in pairs if p[0] not in known))
            save(context, call, autograd, named)
        call.values = {}
        context.call = call
        return tuple(flat)

    def pull(context: Any, *grads: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:  # noqa: ANN401 - autograd's own
        if autograd is None or backward is None:
            raise NotDifferentiableError(where=live.where, got="a gradient of its result")
        call: Recorded = context.call
        if all(grad is None for grad in grads):
            return (None,) * (1 + len(call.places))
        if hidden:
            refuse_only_saved(live, hidden, call, grads)
        require_current(live, backward)
        arguments = backward_arguments(autograd, backward, call, context.saved_tensors, grads)
        returned = Binder.of(backward.schema).call(live.other(backward.name), arguments)
        results = returned if isinstance(returned, tuple) else (returned,)
        found = dict(zip(autograd.inputs, results, strict=True))
        needed = zip(call.places, context.needs_input_grad[1:], strict=True)
        return (None, *(pick(found, place) if needs else None for place, needs in needed))

    def push(*_: object) -> object:
        raise ForwardGradientError(where=live.name, got="a tensor with a forward gradient")

    members: dict[str, Callable[..., Any]] = {"forward": forward, "backward": pull, "jvp": push}
    # torch.autograd.Function's apply would hand over to torch.func, whose turn is over here.
    node = type(
        live.facts.schema.name.title().replace("_", ""),
        (SingleLevelFunction,),
        {name: staticmethod(function) for name, function in members.items()},
    )
    record = cast("Any", node).apply

    def run(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        if not any(output.type.has_tensors for output in live.facts.outputs):
            return pack(run_below(live, values))
        call = Recorded(values, places_of(values))
        with dispatcher.one_transformation():
            flat = record(call, *live.tensors(values))
        results = [restored(result, flat) for result in call.results]
        if constants and not nesting.is_inside:
            for place in constants:
                results[place] = map_tensors(torch.Tensor.detach, results[place])
        return pack(results)

    return run


# An output that is saved but not differentiable is a result of the node all the same: so what the
# backward makes of it has a way to the node, which then refuses. The caller's has no history.


def refuse_only_saved(
    live: LiveOperator,
    hidden: Sequence[str],
    call: Recorded,
    grads: Sequence[torch.Tensor | None],
) -> None:
    """Raise if a gradient came through an output that is saved but not differentiable.

    Raises
    ------
    SavedOutputError
        OPW-L025.
    """
    for (name, _), grad in zip(call.outputs, grads, strict=True):
        if grad is not None and name in hidden:
            raise SavedOutputError(
                where=f"{live.where}, output {name!r}",
                got="a gradient that is differentiated again",
            )


def run_below(live: LiveOperator, values: Values) -> list[Any]:
    """Run the operator without autograd of the transformation that runs."""
    # A node's forward runs without gradients, which outer transformations of torch.func need; they
    # also have to see tangents, of which the results would have none.
    with dispatcher.below_autograd(), torch.enable_grad(), set_fwd_grad_enabled(mode=True):
        return as_list(live.binder.call(live.overload(), values))


def save(context: Any, call: Recorded, autograd: Autograd, outputs: Values) -> None:  # noqa: ANN401 - autograd's own
    """Save what the backward operator takes besides gradients."""
    tensors: list[torch.Tensor] = []
    for argument in autograd.arguments:
        match argument:
            case Gradient():
                call.saved.append(None)
            case SavedArgument(name):
                call.saved.append(map_tensors(partial(keep, tensors), call.values[name]))
            case SavedOutput(name):
                call.saved.append(map_tensors(partial(keep, tensors), outputs[name]))
            case _:
                assert_never(argument)
    context.save_for_backward(*tensors)


def backward_arguments(
    autograd: Autograd,
    backward: OperatorFacts,
    call: Recorded,
    tensors: Sequence[torch.Tensor],
    grads: Sequence[torch.Tensor | None],
) -> Values:
    """Return the arguments of the backward operator."""
    given = dict(zip(call.outputs, zip(grads, call.zeros, strict=True), strict=True))
    asked = {a.output for a in autograd.arguments if isinstance(a, Gradient)}
    mixed = has_mixed_gradients(backward) and any(
        grad is not None for (name, _), (grad, _) in given.items() if name in asked
    )
    values: Values = {}
    for argument, saved, parameter in zip(
        autograd.arguments, call.saved, backward.schema.arguments, strict=True
    ):
        if not isinstance(argument, Gradient):
            values[parameter.name] = restored(saved, tensors)
            continue
        kind = parameter.type
        must = mixed or not (kind.optional_elements if kind.is_list else kind.optional)
        found = [
            zero(meta) if grad is None and must else grad
            for (name, _), (grad, meta) in given.items()
            if name == argument.output
        ]
        # A written argument that was None has no gradient.
        values[parameter.name] = found if kind.is_list else next(iter(found), None)
    return values

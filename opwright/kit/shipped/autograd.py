"""Autograd, version counters and functionalization in Python, where the stable ABI has none.

The gradients of an operator are computed by its backward operator, which autograd calls like any
other. A mutating operator calls its functional twin, which autograd knows, and copies what that
returns into the arguments.
"""
# ruff: noqa: SLF001, ANN401 - dispatcher and functionalization have no public names for this; values of any type pass through

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.autograd import forward_ad

from ._internals import (
    AutoDispatchBelowAutograd,
    DispatchKey,
    DispatchKeySet,
    ExcludeDispatchKeyGuard,
    SingleLevelFunction,
    after_ad_inplace_or_view_keyset,
    after_autograd_keyset,
    current_level,
    enable_single_level_autograd_function,
    from_functional_tensor,
    functionalize_commit_update,
    functionalize_replace,
    functionalize_sync,
    is_functional_tensor,
    set_fwd_grad_enabled,
    sync,
    to_functional_tensor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "Backward",
    "Differentiation",
    "Nesting",
    "Recorded",
    "as_list",
    "keep",
    "pick",
    "places_of",
    "restored",
    "zero",
]


NO_TANGENTS = (
    "has no forward-mode derivative; use reverse mode, for a Hessian "
    "torch.func.jacrev(torch.func.jacrev(f))"
)


def has_tangent(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has a forward gradient, which the results would lose."""
    unpack: Any = forward_ad.unpack_dual
    return unpack(tensor).tangent is not None


@dataclass(frozen=True, kw_only=True)
class Backward:
    """How the gradients of an operator are computed.

    Parameters
    ----------
    operator
        The backward operator.
    arguments
        What each of its arguments is: ("gradient", output), ("argument", name), ("output", name).
    inputs
        The differentiable inputs in the order of its results.
    outputs
        The differentiable outputs.
    materialize
        Whether it needs all gradients as soon as it needs one.
    """

    operator: str
    arguments: tuple[tuple[str, str], ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    materialize: bool = False

    @property
    def only_saved(self) -> tuple[str, ...]:
        """The outputs that are saved and not differentiable: it has no gradient of them."""
        saved = [name for kind, name in self.arguments if kind == "output"]
        return tuple(name for name in dict.fromkeys(saved) if name not in self.outputs)


@dataclass(slots=True)
class Recorded:
    """A call in autograd's graph: what forward learns and backward needs besides saved tensors.

    Parameters
    ----------
    values
        The arguments; dropped when forward has run.
    places
        Of each tensor among the arguments: the argument, and its place in a list.
    outputs
        Of each tensor among the results: the same.
    results
        The results, with places instead of tensors.
    zeros
        What makes a zero gradient of each tensor among the results.
    saved
        For each argument of the backward operator: the places of its saved tensors, or the value.
    """

    values: dict[str, Any]
    places: list[tuple[str, int | None]]
    outputs: list[tuple[str, int | None]] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    zeros: list[tuple[torch.Size, torch.dtype, torch.device]] = field(default_factory=list)
    saved: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Kept:
    """A place among kept tensors."""

    index: int


def keep(kept: list[torch.Tensor], tensor: torch.Tensor) -> Kept:
    """Keep a tensor."""
    kept.append(tensor)
    return Kept(len(kept) - 1)


class Differentiation:
    """Registers kernels in front of the others."""

    def __init__(self, registrar: Any) -> None:
        self.registrar = registrar
        self.library = registrar.library
        self.backwards: dict[str, Backward] = {}

    def autograd(self, name: str, slow: Callable[..., Any], inputs: Sequence[str] | None) -> None:
        """Register a kernel that goes on at once where no gradient can flow.

        Parameters
        ----------
        inputs
            The differentiable arguments; None for all tensors.
        """
        binder = self.registrar.binder(name)
        operator = binder.operator

        def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
            in_forward_mode = current_level() >= 0
            if torch.is_grad_enabled() or in_forward_mode:
                values = binder.bind(args, kwargs)
                considered = values if inputs is None else inputs
                given = [t for each in considered for t in tensors(values[each])]
                if in_forward_mode and any(map(has_tangent, given)):
                    message = f"{self.registrar.namespace}::{name} {NO_TANGENTS}"
                    raise NotImplementedError(message)
                if torch.is_grad_enabled() and any(t.requires_grad for t in given):
                    return slow(values)
            return operator.redispatch(keys & after_autograd_keyset, *args, **kwargs)

        self.library.impl(name, kernel, "Autograd", with_keyset=True)

    def refuse(self, name: str) -> None:
        """Register an operator that writes the caller's outputs, and so has no gradient."""

        def slow(_: Any) -> Any:
            message = (
                f"{self.registrar.namespace}::{name}: an operator with out= arguments has no "
                "gradient; call it under torch.no_grad()"
            )
            raise RuntimeError(message)

        self.autograd(name, slow, None)

    def through_twin(self, name: str, twin: str, inputs: Sequence[str] | None) -> None:
        """Register a mutating operator: its twin, then copies into the written arguments."""
        binder, functional = self.registrar.binder(name), self.registrar.binder(twin)

        def slow(values: dict[str, Any]) -> Any:
            backward = self.backwards.get(twin)
            saved = (
                {source for kind, source in backward.arguments if kind == "argument"}
                if backward
                else ()
            )
            written = binder.written
            # The backward gets these copies of what it needs as it was; nobody writes them.
            copies = {n: mapped(torch.clone, values[n]) for n in written if n in saved}
            results = as_list(functional.call(functional.operator, values | copies))
            own = results[: len(results) - len(written)]
            for each, value in zip(written, results[len(own) :], strict=True):
                for target, source in zip(tensors(values[each]), tensors(value), strict=True):
                    target.copy_(source)
            return binder.as_results(values, tuple(own) if len(own) != 1 else own[0])

        self.autograd(name, slow, inputs)

    def through_node(self, name: str, names: Sequence[str], backward: Backward | None) -> None:
        """Register an operator whose gradients a backward operator computes, or nothing does.

        Parameters
        ----------
        names
            Of its results.
        """
        if backward is not None:
            self.backwards[name] = backward
        hidden = backward.only_saved if backward else ()
        nesting = Nesting()
        node = make_node(self.registrar, name, names, backward, nesting)
        record = cast("Any", node).apply

        def slow(values: dict[str, Any]) -> Any:
            call = Recorded(values, places_of(values))
            given = [t for value in values.values() for t in tensors(value)]
            with enable_single_level_autograd_function():
                flat = record(call, *given)
            results = [restored(result, flat) for result in call.results]
            if hidden and not nesting.is_inside:
                results = [
                    mapped(torch.Tensor.detach, result) if each in hidden else result
                    for each, result in zip(names, results, strict=True)
                ]
            return results[0] if len(results) == 1 else tuple(results)

        self.autograd(name, slow, backward.inputs if backward else None)

    def count_versions(self, name: str) -> None:
        """Register a kernel that marks for autograd that arguments were written."""
        binder = self.registrar.binder(name)

        def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
            below = keys & after_ad_inplace_or_view_keyset
            result = binder.operator.redispatch(below, *args, **kwargs)
            values = binder.bind(args, kwargs)
            for each in binder.written:
                for tensor in tensors(values[each]):
                    if not tensor.is_inference():
                        torch.autograd.graph.increment_version(tensor)
            return result

        self.library.impl(name, kernel, "ADInplaceOrView", with_keyset=True)

    def functionalize(self, name: str, twin: str) -> None:
        """Register what calls the functional twin under functionalization."""
        binder, functional = self.registrar.binder(name), self.registrar.binder(twin)
        keys = DispatchKeySet(DispatchKey.Functionalize)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            values = binder.bind(args, kwargs)
            every = [t for value in values.values() for t in tensors(value)]
            with ExcludeDispatchKeyGuard(keys):
                if not any(map(is_functional_tensor, every)):
                    return binder.call(binder.operator, values)
                inner = {each: mapped(unwrapped, value) for each, value in values.items()}
                results = as_list(functional.call(functional.operator, inner))
            own = results[: len(results) - len(binder.written)]
            for each, value in zip(binder.written, results[len(own) :], strict=True):
                for target, source in zip(tensors(values[each]), tensors(value), strict=True):
                    replace(target, source)
            new = [mapped(to_functional_tensor, value) for value in own]
            return binder.as_results(values, tuple(new) if len(new) != 1 else new[0])

        self.library.impl(name, kernel, "Functionalize")


class Nesting(threading.local):
    """Notes whether an operator is called by the node of its own, for an outer transformation."""

    is_inside = False

    def call(self, operator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the operator for outer transformations of torch.func."""
        before = self.is_inside
        self.is_inside = True
        try:
            return operator(*args, **kwargs)
        finally:
            self.is_inside = before


def make_node(
    registrar: Any,
    name: str,
    names: Sequence[str],
    backward: Backward | None,
    nesting: Nesting,
) -> type[SingleLevelFunction]:
    """Return the class of an operator's nodes in autograd's graph.

    Not a torch.autograd.Function, whose apply hands over to torch.func: its turn is over here.

    An output that is saved but not differentiable is a result of the node all the same: so what
    the backward makes of it has a way to the node, which then refuses.
    """
    binder = registrar.binder(name)
    pulls = registrar.binder(backward.operator) if backward else None
    hidden = backward.only_saved if backward else ()
    called = partial(nesting.call, binder.operator) if hidden else binder.operator

    def forward(context: Any, call: Recorded, *_: torch.Tensor) -> tuple[torch.Tensor, ...]:
        context.set_materialize_grads(False)
        # A node's forward runs without gradients, which outer transformations of torch.func need;
        # they also have to see tangents, of which the results would have none.
        forward_mode = set_fwd_grad_enabled(mode=True)
        with AutoDispatchBelowAutograd(), torch.set_grad_enabled(mode=True), forward_mode:
            results = as_list(binder.call(called, call.values))
        named = dict(zip(names, results, strict=True))
        call.outputs = places_of(named)
        flat: list[torch.Tensor] = []
        call.results = [mapped(partial(keep, flat), value) for value in results]
        call.zeros = [(t.shape, t.dtype, t.device) for t in flat]
        if backward is not None:
            pairs = zip(flat, call.outputs, strict=True)
            known = (*backward.outputs, *hidden)
            context.mark_non_differentiable(*(t for t, p in pairs if p[0] not in known))
            save(context, call, backward, named)
        call.values = {}
        context.call = call
        return tuple(flat)

    def pull(context: Any, *grads: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        if backward is None or pulls is None:
            message = f"{registrar.namespace}::{name} has no backward"
            raise NotImplementedError(message)
        call: Recorded = context.call
        if all(grad is None for grad in grads):
            return (None,) * (1 + len(call.places))
        if hidden:
            refuse_only_saved(f"{registrar.namespace}::{name}", hidden, call, grads)
        values = backward_values(pulls.operator, backward, call, context.saved_tensors, grads)
        found = dict(zip(backward.inputs, as_list(pulls.call(pulls.operator, values)), strict=True))
        needed = zip(call.places, context.needs_input_grad[1:], strict=True)
        return (None, *(pick(found, place) if needs else None for place, needs in needed))

    members = {"forward": staticmethod(forward), "backward": staticmethod(pull)}
    title = "".join(word.capitalize() for word in name.replace(".", "_").split("_"))
    return type(f"{title}Backward", (SingleLevelFunction,), members)


def refuse_only_saved(
    name: str, hidden: Sequence[str], call: Recorded, grads: Sequence[torch.Tensor | None]
) -> None:
    """Raise if a gradient came through an output that is saved but not differentiable."""
    for (output, _), grad in zip(call.outputs, grads, strict=True):
        if grad is not None and output in hidden:
            message = (
                f"{name}, output '{output}': a gradient that depends on a saved output cannot be "
                "differentiated again; make it a differentiable output, or compute it again from "
                "the arguments in the backward; if it is a constant, detach() it there"
            )
            raise RuntimeError(message)


def save(context: Any, call: Recorded, backward: Backward, outputs: Mapping[str, Any]) -> None:
    """Save what the backward operator takes besides gradients."""
    kept: list[torch.Tensor] = []
    for kind, name in backward.arguments:
        source = {"gradient": {}, "argument": call.values, "output": outputs}[kind]
        call.saved.append(mapped(partial(keep, kept), source.get(name)))
    context.save_for_backward(*kept)


def backward_values(
    operator: Any,
    backward: Backward,
    call: Recorded,
    saved: Sequence[torch.Tensor],
    grads: Sequence[torch.Tensor | None],
) -> dict[str, Any]:
    """Return the arguments of the backward operator."""
    given = dict(zip(call.outputs, zip(grads, call.zeros, strict=True), strict=True))
    asked = {name for kind, name in backward.arguments if kind == "gradient"}
    some = any(grad is not None for (name, _), (grad, _) in given.items() if name in asked)
    values: dict[str, Any] = {}
    for (kind, name), value, parameter in zip(
        backward.arguments, call.saved, operator._schema.arguments, strict=True
    ):
        if kind != "gradient":
            values[parameter.name] = restored(value, saved)
            continue
        must = (backward.materialize and some) or "?" not in str(parameter.type).replace(
            "Optional", "?"
        )
        found = [
            zero(meta) if grad is None and must else grad
            for (output, _), (grad, meta) in given.items()
            if output == name
        ]
        is_list = "List" in str(parameter.type)
        # A written argument that was None has no gradient.
        values[parameter.name] = found if is_list else next(iter(found), None)
    return values


def zero(meta: tuple[torch.Size, torch.dtype, torch.device]) -> torch.Tensor:
    """Return the gradient of a result that nothing depends on."""
    shape, dtype, device = meta
    return torch.zeros(shape, dtype=dtype, device=device)


def restored(value: Any, kept: Sequence[torch.Tensor]) -> Any:
    """Return a value with its kept tensors."""
    if isinstance(value, Kept):
        return kept[value.index]
    return [restored(each, kept) for each in value] if isinstance(value, list | tuple) else value


def pick(found: Mapping[str, Any], place: tuple[str, int | None]) -> torch.Tensor | None:
    """Return the gradient of one tensor among the arguments."""
    name, index = place
    gradient: Any = found.get(name)
    picked: torch.Tensor | None = gradient if gradient is None or index is None else gradient[index]
    return picked


def places_of(named: Mapping[str, Any]) -> list[tuple[str, int | None]]:
    """Return the place of each tensor, in order: the name, and where it is in a list."""
    places: list[tuple[str, int | None]] = []
    for name, value in named.items():
        if isinstance(value, torch.Tensor):
            places.append((name, None))
        elif isinstance(value, list | tuple):
            places += [(name, i) for i, t in enumerate(value) if isinstance(t, torch.Tensor)]
    return places


def tensors(value: object) -> list[torch.Tensor]:
    """Return the tensors of an argument or result."""
    items = value if isinstance(value, list | tuple) else [value]
    return [each for each in items if isinstance(each, torch.Tensor)]


def mapped(function: Callable[[torch.Tensor], Any], value: Any) -> Any:
    """Replace the tensors of an argument or result."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, list | tuple):
        return [function(each) if isinstance(each, torch.Tensor) else each for each in value]
    return value


def as_list(returned: Any) -> list[Any]:
    """Return the results of an operator as a list."""
    if returned is None:
        return []
    return list(returned) if isinstance(returned, tuple) else [returned]


def unwrapped(tensor: torch.Tensor) -> torch.Tensor:
    """Return the value that a tensor stands for under functionalization."""
    if not is_functional_tensor(tensor):
        return tensor
    sync(tensor)
    return from_functional_tensor(tensor)


def replace(wrapped: torch.Tensor, value: torch.Tensor) -> None:
    """Say that a tensor was overwritten with a value."""
    functionalize_replace(wrapped, value)
    functionalize_commit_update(wrapped)
    functionalize_sync(wrapped)

"""How a mutating operator enters a graph: as an operator that torch functionalizes by itself.

Its functional twin would do, but a compiler cannot undo that: each call would copy what is written,
and a second copy would bring the result back. So where torch.compile functionalizes, the operator
becomes its graph form, which writes the same arguments and returns nothing but new tensors. For
such operators torch has auto_functionalized_v2, and the compilers of torch and of torch_npu have
passes that turn it back into a call in place. torch.func.functionalize and torch.export take the
functional twin, for which there is a Functionalize kernel.
"""
# ruff: noqa: SLF001, ANN401 - registrations of a library object have no public names; values of any type pass through

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

from ._internals import (
    FakeTensor,
    FunctionalTensor,
    FunctionalTensorMode,
    register_fake,
    register_torch_dispatch_rule,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["register_graph_form"]

# Tags that promise something about results which the graph form does not have.
OF_RESULTS = frozenset({"inplace", "inplace_view", "out"})
PLAIN = (torch.Tensor, FunctionalTensor)
# Parameters of torch's own functions that get an operator's arguments by their names
# (auto_functionalize.py, _ops.py, post_grad.py): the graph form has other names for these.
TAKEN_NAMES = frozenset({"ctx", "dispatch_key", "interpreter", "match", "mode"})
QUOTED = re.compile(r'("(?:[^"\\]|\\.)*")')


def register_graph_form(library: Any, operator: Any, results: Sequence[str | None]) -> None:
    """Register the graph form of an operator: `_mutate_<name>`.

    Parameters
    ----------
    library
        Of the operator's namespace; what is registered stays as long as it does.
    operator
        The OpOverload.
    results
        For each of its results the written argument that it is; None for a new tensor.
    """
    tags = tuple(tag for tag in operator.tags if str(tag).rpartition(".")[2] not in OF_RESULTS)
    name = operator.name().partition("::")[2]
    form = f"_mutate_{name}"
    library.define(f"{form}{form_signature(operator, results)}", tags=tags)
    run = without_aliases(operator, results)
    library.impl(form, run, "CompositeExplicitAutograd")
    register_fake(library, form, run)
    packet, _, variant = form.partition(".")
    overload = getattr(getattr(getattr(torch.ops, library.ns), packet), variant or "default")
    rule = functionalization_rule(operator, overload, results)
    register_torch_dispatch_rule(library, name, FunctionalTensorMode, rule)


def form_name(argument: str) -> str:
    """Return the name of an argument in the graph form."""
    return f"{argument}_argument" if argument in TAKEN_NAMES else argument


def form_signature(operator: Any, results: Sequence[str | None]) -> str:
    """Return the arguments of an operator, and of its results those that are new."""
    parts = QUOTED.split(str(operator._schema))
    for name in TAKEN_NAMES:  # outside of strings, an argument's name follows a space
        parts[::2] = [re.sub(rf" {name}(?=[=,)])", f" {form_name(name)}", p) for p in parts[::2]]
    whole = "".join(parts)
    arguments, _, returned = whole[whole.index("(") :].rpartition(" -> ")
    texts = returned.removeprefix("(").removesuffix(")").split(", ")
    pairs = zip(texts, results, strict=False)  # no result is one empty text
    return f"{arguments} -> ({', '.join(text for text, name in pairs if name is None)})"


def without_aliases(operator: Any, results: Sequence[str | None]) -> Callable[..., Any]:
    """Return what calls an operator and returns its new tensors."""
    original = {form_name(each.name): each.name for each in operator._schema.arguments}

    def run(*args: Any, **kwargs: Any) -> Any:
        given = {original[name]: value for name, value in kwargs.items()}
        returned = as_list(operator(*args, **given))
        pairs = zip(returned, results, strict=True)
        return as_returned([value for value, name in pairs if name is None])

    return run


def functionalization_rule(
    operator: Any, form: Any, results: Sequence[str | None]
) -> Callable[..., Any]:
    """Return what runs instead of FunctionalTensorMode's own rule for an operator."""
    arguments = operator._schema.arguments
    names = [argument.name for argument in arguments]
    written = [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write]

    def rule(
        mode: FunctionalTensorMode,
        function: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        values = {**dict(zip(names, args, strict=False)), **given}
        takes_form = (
            not (mode.export or torch.compiler.is_exporting())
            and all(kind in PLAIN or issubclass(kind, FakeTensor) for kind in types)
            and all(is_functional(values.get(name)) for name in written)
        )
        if not takes_form:
            dispatch: Any = mode.__torch_dispatch__  # some releases of torch have no types for it
            return dispatch(function, types, args, given)
        with mode:
            inner = {form_name(name): value for name, value in given.items()}
            new = iter(as_list(form(*args, **inner)))
        return as_returned([next(new) if name is None else values[name] for name in results])

    return rule


def is_functional(value: object) -> bool:
    """Return whether functionalization follows all tensors of an argument."""
    items = value if isinstance(value, list | tuple) else [value]
    return all(isinstance(t, FunctionalTensor) for t in items if isinstance(t, torch.Tensor))


def as_list(returned: Any) -> list[Any]:
    """Return the results of an operator as a list."""
    if returned is None:
        return []
    return list(returned) if isinstance(returned, tuple) else [returned]


def as_returned(results: Sequence[Any]) -> Any:
    """Return results as an operator does."""
    if len(results) == 1:
        return results[0]
    return tuple(results) if results else None

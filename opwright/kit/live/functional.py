"""The Functionalize key: a mutating operator becomes its functional twin.

torch.export and torch.func.functionalize come here; so none of their graphs has a mutation of
ours. torch.compile takes the graph form (opwright.kit.shipped.graphs), which compilers can take
back; it comes here where that is not possible. (Operators without mutations need nothing: torch's
own fallback handles them.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import map_tensors, tensors_in
from opwright.kit.shipped.autograd import as_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.kit.live.live_operator import LiveOperator

__all__ = ["functionalize_kernel"]


def functionalize_kernel(live: LiveOperator, twin: str) -> Callable[..., object]:
    """Return the kernel that calls the functional twin and replaces what would be written."""
    written = [argument.name for argument in live.facts.schema.mutated]

    def kernel(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        if not any(dispatcher.is_functional(t) for t in live.tensors(values)):
            with dispatcher.below_key("Functionalize"):
                return live.binder.call(live.overload(), values)
        for name in written:
            if not all(dispatcher.is_functional(t) for t in tensors_in(values[name])):
                message = f"{live.name}: {name!r}, a constant of the traced function, is written"
                raise RuntimeError(message)
        inner = {name: map_tensors(unwrap, value) for name, value in values.items()}
        with dispatcher.below_key("Functionalize"):
            results = as_list(live.binder.call(live.other(twin), inner))
        own = results[: len(results) - len(written)]
        for name, value in zip(written, results[len(own) :], strict=True):
            for target, source in zip(tensors_in(values[name]), tensors_in(value), strict=True):
                dispatcher.replace_functional(target, source)
        new = {
            output.name: map_tensors(dispatcher.to_functional, value)
            for output, value in zip(live.new_outputs, own, strict=True)
        }
        return live.results(new, values)

    return kernel


def unwrap(tensor: object) -> object:
    """Return the value that a tensor stands for."""
    return dispatcher.from_functional(tensor) if dispatcher.is_functional(tensor) else tensor  # type: ignore[arg-type]  # map_tensors gives tensors

"""The FuncTorchBatched key: torch.vmap of an operator, whatever its arguments.

loop          one call for each element of the batch
batch first   one call, the batch as first axis of each tensor with `*` in its pattern, or without
              a pattern; where another tensor has a batch, the loop
a function    the author's: function(info, in_dims, *args, **keyword_only) -> (outputs, out_dims),
              where in_dims has an entry for each argument in the order of the schema
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch

from opwright.kit.declare.rules import Dims
from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import map_tensors, tensors_in
from opwright.kit.live.errors import VmapMutationError, VmapResultError
from opwright.kit.shipped.autograd import as_list

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.kit.live.arguments import Values
    from opwright.kit.live.live_operator import LiveOperator

__all__ = ["BatchInfo", "batching_kernel"]

# By argument: its batch axis, None without one; a list of these for a list.
Axes = dict[str, Any]


class BatchInfo(NamedTuple):
    """The first argument of a batching rule; the fields are those of torch's VmapInfo."""

    batch_size: int
    randomness: str


def batching_kernel(live: LiveOperator) -> Callable[..., object]:
    """Return the kernel for batched tensors."""
    rule = live.facts.operator.vmap if live.facts.role == "declared" else "loop"

    def kernel(*args: object, **kwargs: object) -> object:
        interpreter = dispatcher.outer_interpreter()
        level = interpreter.level()
        values, axes = split(live.binder.bind(args, kwargs), level)
        # Not interpreter.lower(): it leaves nested transformations without what they dispatch by.
        with dispatcher.below_key("FuncTorchBatched"):
            if all(no_axis(each) for each in axes.values()):
                return live.binder.call(live.overload(), values)
            check_written(live, values, axes)
            info = BatchInfo(interpreter.batch_size(), interpreter.randomness())
            if callable(rule):
                results, places = by_function(live, rule, info, values, axes)
            elif rule == "batch first" and can_batch_first(live, values, axes):
                results, places = batch_first(live, info.batch_size, values, axes)
            else:
                results, places = loop(live, info.batch_size, values, axes)
        wrapped = [
            join(result, place, level) for result, place in zip(results, places, strict=True)
        ]
        return give_back(live, wrapped, args, kwargs)

    return kernel


def split(values: Values, level: int) -> tuple[Values, Axes]:
    """Return the arguments without batches, and the axes that these now have."""
    inner: Values = {}
    axes: Axes = {}
    for name, value in values.items():
        pairs = [dispatcher.without_batch_axis(t, level) for t in tensors_in(value)]
        tensors, places = iter([t for t, _ in pairs]), iter([p for _, p in pairs])
        inner[name] = map_tensors(lambda _, tensors=tensors: next(tensors), value)  # type: ignore[misc]
        if isinstance(value, list | tuple):
            axes[name] = [next(places) if isinstance(t, torch.Tensor) else None for t in value]
        else:
            axes[name] = next(places) if isinstance(value, torch.Tensor) else None
    return inner, axes


def no_axis(axes: Any) -> bool:  # noqa: ANN401 - an entry of Axes
    """Return whether an argument has no batch."""
    return axes is None or (isinstance(axes, list) and all(axis is None for axis in axes))


def check_written(live: LiveOperator, values: Values, axes: Axes) -> None:
    """Raise if what is written has no batch.

    Raises
    ------
    VmapMutationError
        OPW-L030.
    """
    for argument in live.facts.schema.mutated:
        each = axes[argument.name]
        if values[argument.name] is None:
            continue
        if each is None or (isinstance(each, list) and None in each):
            got = f"{argument.name!r} without a batch, while another argument has one"
            raise VmapMutationError(where=live.name, got=got)


def give_back(
    live: LiveOperator, results: list[Any], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> object:
    """Return the results; written arguments are those of the caller."""
    values = live.binder.bind(args, kwargs)
    new = dict(
        zip(
            (o.name for o in live.facts.outputs if is_in_results(live, o.name)),
            results,
            strict=True,
        )
    )
    return live.results(new, values)


def is_in_results(live: LiveOperator, name: str) -> bool:
    """Return whether an output is returned and is not an argument of the caller."""
    output = live.facts.output(name)
    assert output is not None
    argument = live.facts.schema.argument(output.argument or "")
    return output.result is not None and (argument is None or not argument.is_written)


def own_results(live: LiveOperator, returned: object) -> list[Any]:
    """Return the results that are no written arguments."""
    flags = [
        is_in_results(live, output.name)
        for output in live.facts.outputs
        if output.result is not None
    ]
    return [each for each, own in zip(as_list(returned), flags, strict=True) if own]


def loop(live: LiveOperator, size: int, values: Values, axes: Axes) -> tuple[list[Any], list[Any]]:
    """Call the operator for each element of the batch; what is written is a view of the whole."""
    calls = [
        own_results(live, live.binder.call(live.overload(), element(values, axes, index)))
        for index in range(size)
    ]
    columns = list(zip(*calls, strict=True))
    results = [stack(column) for column in columns]
    return results, [map_places(result) for result in results]


def element(values: Values, axes: Axes, index: int) -> Values:
    """Return the arguments of one element."""

    def select(tensor: Any, axis: int | None) -> Any:  # noqa: ANN401 - a tensor or None
        return tensor if axis is None else tensor.select(axis, index)

    return {
        name: [select(t, a) for t, a in zip(value, axes[name], strict=True)]
        if isinstance(axes[name], list)
        else select(value, axes[name])
        for name, value in values.items()
    }


def stack(column: tuple[Any, ...]) -> Any:  # noqa: ANN401 - a tensor, a list of tensors, a number
    """Return one result for the whole batch."""
    first = column[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(column)
    if isinstance(first, list):
        return [torch.stack(each) for each in zip(*column, strict=True)]
    return first


def map_places(result: Any) -> Any:  # noqa: ANN401 - an entry of Axes
    """Return the first axis for each tensor."""
    return map_tensors(lambda _: 0, result) if isinstance(result, torch.Tensor | list) else None


def patterns(live: LiveOperator) -> dict[str, str]:
    """Return the shape patterns of the arguments."""
    rules = live.facts.operator.shapes.items()
    return {name: rule.text for name, rule in rules if isinstance(rule, Dims)}


def takes_batch(live: LiveOperator, name: str) -> bool:
    """Return whether an argument can have one more axis in front."""
    pattern = patterns(live).get(name)
    return pattern is None or pattern.strip().startswith("*")


def can_batch_first(live: LiveOperator, values: Values, axes: Axes) -> bool:
    """Return whether one more axis in front means the same for all tensors.

    A batch is of tensors that can have one more axis. Tensors without a pattern have one rank: the
    new axis would otherwise meet another one where they are broadcast.
    """
    known = patterns(live)
    ranks = {
        tensor.ndim - (axis is not None)
        for name, value in values.items()
        if name not in known
        for tensor, axis in zip(tensors_in(value), as_axes(axes[name], value), strict=True)
    }
    fits = all(no_axis(each) or takes_batch(live, name) for name, each in axes.items())
    return fits and len(ranks) <= 1


def as_axes(axes: Any, value: Any) -> list[int | None]:  # noqa: ANN401 - an entry of Axes, an argument
    """Return the batch axes of the tensors in an argument, in the order of `tensors_in`."""
    if isinstance(axes, list):
        return [a for a, t in zip(axes, value, strict=True) if isinstance(t, torch.Tensor)]
    return [axes] if isinstance(value, torch.Tensor) else []


def batch_first(
    live: LiveOperator, size: int, values: Values, axes: Axes
) -> tuple[list[Any], list[Any]]:
    """Call the operator once, with the batch as first axis."""

    def moved(tensor: Any, axis: int | None) -> Any:  # noqa: ANN401 - a tensor or None
        if not isinstance(tensor, torch.Tensor):
            return tensor
        if axis is not None:
            return tensor.movedim(axis, 0)
        return tensor.unsqueeze(0).expand(size, *tensor.shape)

    given = {}
    for name, value in values.items():
        if not takes_batch(live, name):
            given[name] = value
        elif isinstance(axes[name], list):
            given[name] = [moved(t, a) for t, a in zip(value, axes[name], strict=True)]
        else:
            given[name] = moved(value, axes[name])
    results = own_results(live, live.binder.call(live.overload(), given))
    return results, [map_places(result) for result in results]


def by_function(
    live: LiveOperator, rule: Callable[..., object], info: BatchInfo, values: Values, axes: Axes
) -> tuple[list[Any], list[Any]]:
    """Call the author's function.

    Raises
    ------
    VmapResultError
        OPW-L031.
    """
    returned = live.binder.call(
        lambda *args, **keyword_only: rule(info, tuple(axes.values()), *args, **keyword_only),
        values,
    )
    where = f"{live.where}, vmap {getattr(rule, '__name__', '')}"
    if not isinstance(returned, tuple) or len(returned) != 2:  # noqa: PLR2004 - outputs and their axes
        raise VmapResultError(where=where, got=type(returned).__name__)
    outputs, places = cast("tuple[object, object]", returned)
    count = len([o for o in live.facts.outputs if is_in_results(live, o.name)])
    single = count == 1
    results = [outputs] if single and not isinstance(outputs, tuple) else as_list(outputs)
    axes_of = [places] if single and not isinstance(places, tuple) else as_list(places)
    if isinstance(places, int) or places is None:
        axes_of = [places] * count
    if not len(results) == len(axes_of) == count:
        got = f"{len(results)} outputs and {len(axes_of)} axes"
        raise VmapResultError(where=where, got=got, allowed=[f"{count} of both"])
    return results, axes_of


def join(result: Any, place: Any, level: int) -> Any:  # noqa: ANN401 - a result and an entry of Axes
    """Return a result with its batch."""
    if isinstance(result, list | tuple):
        places = place if isinstance(place, list | tuple) else [place] * len(result)
        return [join(t, p, level) for t, p in zip(result, places, strict=True)]
    if place is None:
        return result
    return dispatcher.add_batch_axis(result, place, level)

"""A function that calls an operator, run eagerly and in another way: whether they agree."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.observe.program import Program, Ran, name_tensors, program_of
from opwright.check.row_context import EagerCallError
from opwright.check.subject import pack_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.observe.program import Shape
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = [
    "ALIASED_RESULT",
    "DIFFERENT_EACH_TIME",
    "cause_text",
    "gradients",
    "programs",
    "run",
    "run_eagerly",
    "select_few",
    "writable_results",
]

DIFFERENT_EACH_TIME = "two eager calls differ: see row determinism"
LONGEST = 8  # exceptions in a chain
# torch's words about a schema whose result is an argument.
ALIASED_RESULT = "whose output has alias annotations"
LOOKED_AT = 24  # samples among which those of another form are looked for


def select_few(context: RowContext, count: int) -> list[Sample]:
    """Return the first sample, and others that differ in which arguments they give.

    For rows that take long for each sample. One with distinct attributes comes last: graphs drop
    those that have their defaults, so that both have to be tried.
    """
    chosen: dict[object, Sample] = {}
    for sample in islice(context.samples.of({"presence", "length"}, 0), LOOKED_AT):
        chosen.setdefault(presence(context.arguments(sample, "cpu")), sample)
        if len(chosen) == count:
            break
    few = list(chosen.values())
    return few + [each.sample for each in context.samples.distinct if each.sample not in few]


def presence(values: Values) -> object:
    """Return which arguments a call gives."""
    return tuple(
        [each is None for each in value] if isinstance(value, list | tuple) else value is None
        for value in values.values()
    ).__repr__()


def run_eagerly(context: RowContext, program: Program, sample: Sample) -> Ran:
    """Run a program eagerly on fresh arguments.

    Raises
    ------
    EagerCallError
        It raised.
    """
    try:
        return run(context, program, program.function(context.subject.overload), sample)
    except Exception as error:
        raise EagerCallError(sample, error) from error


def run(context: RowContext, program: Program, function: Callable[..., Any], sample: Sample) -> Ran:
    """Run a function on fresh arguments, with the same random numbers each time."""
    given = program.given(context.arguments(sample))
    torch.manual_seed(0)
    context.calls += 1
    returned = function(*given)
    context.synchronize()
    return Ran.of(program, returned, given)


def gradients(
    context: RowContext, program: Program, function: Callable[..., Any], sample: Sample
) -> dict[str, torch.Tensor]:
    """Return the gradients of a function's floating arguments by name.

    What flows back are numbers that differ from element to element. Empty if no result depends on
    an argument in a way that can be differentiated.
    """
    given = program.given(context.arguments(sample))
    leaves = {
        f"{name}" if index is None else f"{name}[{index}]": value.requires_grad_()
        for (name, index), value in zip(program.parameters, given, strict=True)
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    }
    # A tensor that the operator writes cannot be a leaf.
    taken = [each.clone() if isinstance(each, torch.Tensor) else each for each in given]
    torch.manual_seed(0)
    context.calls += 1
    returned = name_tensors(function(*taken))
    results = [each for each in returned.values() if each.requires_grad]
    if not results or not leaves:
        return {}
    flowing = [ramp(each) for each in results]
    found: tuple[torch.Tensor | None, ...] = torch.autograd.grad(
        results, list(leaves.values()), flowing, allow_unused=True
    )
    context.synchronize()
    return {
        name: gradient
        for name, gradient in zip(leaves, found, strict=True)
        if gradient is not None  # a result does not depend on it
    }


def ramp(like: torch.Tensor) -> torch.Tensor:
    """Return numbers from 1 to 2 in the shape of a tensor."""
    count = max(like.numel(), 1)
    numbers = torch.arange(like.numel(), dtype=torch.float32) / count + 1
    return numbers.reshape(like.shape).to(device=like.device, dtype=like.dtype)


def programs(context: RowContext, sample: Sample, shapes: tuple[Shape, ...]) -> Iterator[Program]:
    """Yield the programs of some shapes that make sense for an operator."""
    values = context.arguments(sample)
    is_mutating = bool(context.subject.schema.mutated)
    for shape in shapes:
        if shape in {"views", "inside"} and not is_mutating:
            continue
        if shape == "written":
            results = writable_results(context, sample)
            if results:
                yield program_of(context.subject, values, shape, results)
            continue
        yield program_of(context.subject, values, shape)


def writable_results(context: RowContext, sample: Sample) -> tuple[int, ...]:
    """Return which results are new floating tensors that can be written."""
    schema = context.subject.schema
    if any(result.alias is not None for result in schema.results):
        return ()
    values = context.arguments(sample)
    unspecified = context.subject.unspecified(values)
    returned = pack_results(context.call(values, sample), len(schema.results))
    return tuple(
        index
        for index, (name, value) in enumerate(zip(schema.output_names(), returned, strict=True))
        if name not in unspecified
        and isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and has_own_elements(value)
    )


def has_own_elements(tensor: torch.Tensor) -> bool:
    """Return whether no two elements of a tensor have the same memory."""
    return all(
        stride != 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1
    )


def cause_text(error: BaseException) -> str:
    """Return what an exception and those that led to it say."""
    texts: list[str] = []
    current: BaseException | None = error
    while current is not None and len(texts) < LONGEST:
        texts.append(f"{type(current).__name__}: {current}")
        current = current.__cause__ or current.__context__
    return "\n".join(texts)

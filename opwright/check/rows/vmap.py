"""torch.vmap of the operator is a loop over it.

Each tensor argument is mapped alone, then all of them together, with the batch as first axis and as
last one, and once nested. What vmap gives is compared with calls of the operator on the elements of
the batch. Written arguments are mapped with every other one, and what is in the caller's tensor is
compared; without a batch of their own, vmap must refuse to write into them.

An operator of another library without a batching rule is called in a loop by torch, which warns;
that is not a fault as long as it is right. Where torch refuses instead, the row does not apply.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Kind
from opwright.check.observe.tensors import (
    base,
    copy_arguments,
    replace_tensors,
    roll,
    tensor_arguments,
    tensors_by_place,
)
from opwright.check.observe.tolerance import difference
from opwright.check.row import Row
from opwright.check.row_context import NotApplicableError
from opwright.check.subject import flat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["ROW"]

RAISES = Kind(
    "raises",
    "torch.vmap of the operator raises",
    'correct the batching rule, or leave it out: vmap="loop" calls the operator for each element',
)
WRONG = Kind(
    "wrong-values",
    "torch.vmap gives something else than a loop",
    "let the rule use the batch axis that it gets for each argument (in_dims, None for one "
    "without a batch), and return where the batch is in each result (out_dims)",
)
UNBATCHED = Kind(
    "unbatched-write",
    "under vmap the operator writes a batch into a tensor that has none",
    "raise in the batching rule where a written argument has no batch",
)

SIZE = 2


@dataclass(frozen=True, slots=True)
class Case:
    """The mapped arguments of a call.

    Parameters
    ----------
    names
        The arguments with a batch.
    axis
        Where it is: 0 or -1.
    depth
        How many vmaps there are.
    """

    names: tuple[str, ...]
    axis: int = 0
    depth: int = 1

    def __str__(self) -> str:
        nested = ", nested" if self.depth > 1 else ""
        return f"a batch of {' and '.join(self.names)}, in_dims {self.axis}{nested}"


class RefusedError(Exception):
    """torch has no way to map this operator."""


def needs(subject: Subject) -> str | None:
    """Say that nothing can be mapped."""
    if not any(argument.type.has_tensors for argument in subject.schema.arguments):
        return "the operator has no tensor arguments"
    if subject.is_seeded:
        return "the operator is random: a batch and a loop draw different numbers"
    return None


def run(context: RowContext) -> None:
    """Compare vmap with a loop."""
    refused: list[str] = []
    compared: list[Case] = []

    def examine(sample: Sample) -> Finding | None:
        names = tensor_arguments(context.subject.schema, context.arguments(sample))
        for case in cases(context.subject, names):
            try:
                found = compare(context, sample, case)
            except RefusedError as error:
                refused.append(str(error))
                continue
            compared.append(case)
            if found is not None:
                return found
        return examine_unbatched(context, sample, names)

    context.each(examine, vary={"presence", "length", "rank"}, examples=4)
    if refused and not compared and not context.findings:
        message = f"torch has no batching rule for it and refuses: {refused[0]}"
        raise NotApplicableError(message)


def cases(subject: Subject, names: list[str]) -> Iterator[Case]:
    """Yield what is mapped."""
    written = [argument.name for argument in subject.schema.mutated if argument.name in names]
    every = tuple(names)
    alone = [
        tuple(each for each in names if each == name or each in written)
        for name in names
        if name not in written
    ]
    if written:
        alone.append(tuple(written))
    for chosen in dict.fromkeys([*alone, every]):
        if chosen:
            yield Case(chosen)
            yield Case(chosen, axis=-1)
    if every:
        yield Case(every, depth=2)


def elements(values: Values, case: Case) -> list[Values]:
    """Return the arguments of each element of the batch."""

    def element(index: int) -> Values:
        return replace_tensors(
            copy_arguments(values), case.names, lambda _, each: vary(each, index)
        )

    return [element(index) for index in range(SIZE**case.depth)]


def vary(tensor: torch.Tensor, index: int) -> torch.Tensor:
    """Return a tensor in another order, and smaller where its values are not whole numbers.

    An order alone leaves sums and largest values as they are.
    """
    moved = roll(tensor, index)
    return moved * 0.5**index if tensor.is_floating_point() else moved


def stack(tensors: list[torch.Tensor], case: Case) -> torch.Tensor:
    """Return a batch of tensors."""
    whole = torch.stack(tensors)
    if case.depth > 1:
        return whole.reshape(*(SIZE,) * case.depth, *whole.shape[1:])
    return torch.stack(tensors, case.axis)


def compare(context: RowContext, sample: Sample, case: Case) -> Finding | None:
    """Compare one way to map with a loop.

    Raises
    ------
    RefusedError
        torch says that it cannot map the operator.
    """
    subject = context.subject
    values = context.arguments(sample)
    each = elements(values, case)
    by_place = [dict(tensors_by_place(one, case.names)) for one in each]
    batch = {place: stack([one[place] for one in by_place], case) for place in by_place[0]}
    wanted = [flat(subject.computed(context.call(one, sample), one)) for one in each]
    if any(
        [t.shape for t in one.values()] != [t.shape for t in wanted[0].values()] for one in wanted
    ):
        return None  # sizes that depend on values cannot be stacked
    expected = f"what a loop gives, for {case}"
    try:
        got = call_mapped(context, values, batch, case)
    except Exception as error:
        if subject.is_foreign and is_refusal(error):
            raise RefusedError(str(error).splitlines()[0]) from error
        return context.finding(
            RAISES,
            expected=expected,
            got=f"{type(error).__name__}: {error}",
            sample=sample,
            place=rule_place(subject),
            error=error,
            script=script(subject, values, case),
        )
    loose = subject.is_declared_nondeterministic
    for name, result in got.items():
        want = torch.stack([one[name] for one in wanted]).cpu()
        flat_result = result.detach().cpu()
        text = None
        if flat_result.shape != (*(SIZE,) * case.depth, *want.shape[1:]):
            text = f"shape {list(flat_result.shape[case.depth :])} of an element"
            text += f" instead of {list(want.shape[1:])}"
        elif not loose:
            text = difference(
                flat_result.reshape(want.shape), want, context.subject.operator.tolerances
            )
        if text is not None:
            return context.finding(
                WRONG,
                expected=f"{name}: {expected}",
                got=text,
                sample=sample,
                place=rule_place(subject),
                script=script(subject, values, case),
            )
    return None


def call_mapped(
    context: RowContext, values: Values, batch: dict[str, torch.Tensor], case: Case
) -> dict[str, torch.Tensor]:
    """Call the operator under vmap; return all that it computes, with the batch first."""
    subject = context.subject
    names: list[str] = []
    places = list(batch)
    given = copy_arguments(values)

    def function(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        parts = dict(zip(places, tensors, strict=True))
        one = replace_tensors(given, case.names, lambda place, _: parts[place])
        results = flat(subject.computed(subject.call(one), one))
        names[:] = list(results)
        return tuple(results.values()) or (tensors[0].clone(),)

    context.calls += 1
    axes = [case.axis] * len(places)
    whole: Any = torch.vmap(function, in_dims=tuple(axes), randomness="different")
    for _ in range(case.depth - 1):
        whole = torch.vmap(whole, in_dims=(0,) * len(places), randomness="different")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = whole(*batch.values())
    context.synchronize()
    found = dict(zip(names, results, strict=False))
    # A written argument is in the caller's tensor.
    written = {argument.name for argument in subject.schema.mutated}
    return {
        name: batch[name].movedim(case.axis, 0)
        if base(name) in written and name in batch
        else result
        for name, result in found.items()
    }


def is_refusal(error: Exception) -> bool:
    """Return whether torch says that it cannot map an operator."""
    text = str(error)
    return isinstance(error, RuntimeError | NotImplementedError) and (
        "Batching rule not implemented" in text or "vmap" in text
    )


def examine_unbatched(context: RowContext, sample: Sample, names: list[str]) -> Finding | None:
    """Map what is read, and not what is written."""
    subject = context.subject
    written = [argument.name for argument in subject.schema.mutated if argument.name in names]
    read = tuple(name for name in names if name not in written)
    if not written or not read:
        return None
    values = context.arguments(sample)
    case = Case(read)
    by_place = [dict(tensors_by_place(one, read)) for one in elements(values, case)]
    batch = {place: stack([one[place] for one in by_place], case) for place in by_place[0]}
    try:
        got = call_mapped(context, values, batch, case)
    except Exception:  # noqa: BLE001 - any error is what must come
        return None
    left = written[0]
    return context.finding(
        UNBATCHED,
        expected=f"an error: {left!r} has no batch, while {' and '.join(read)} have one",
        got=f"results: {', '.join(got)}",
        sample=sample,
        place=rule_place(subject),
    )


def rule_place(subject: Subject) -> str | None:
    """Return the line of the batching rule, if the declaration has one."""
    code = getattr(subject.operator.vmap, "__code__", None)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def script(subject: Subject, values: Values, case: Case) -> tuple[str, ...]:
    """Return lines that show the difference alone."""
    if case.depth > 1 or any(not isinstance(values[name], torch.Tensor) for name in case.names):
        return ()
    mutated = {argument.name for argument in subject.schema.mutated}
    if mutated:
        return ()
    return (
        "one = arguments('npu')",
        f"names = {list(case.names)!r}",
        "other = {n: one[n].reshape(-1).roll(1).reshape(one[n].shape) for n in names}",
        f"batch = [torch.stack([one[n], other[n]], {case.axis}) for n in names]",
        "def call(*tensors):",
        "    return operator(**(one | dict(zip(names, tensors))))",
        f"got = torch.vmap(call, in_dims={case.axis})(*batch)",
        "want = [call(*[one[n] for n in names]), call(*other.values())]",
        "if isinstance(got, torch.Tensor):",
        "    got, want = [got], [[each] for each in want]",
        "for result, *parts in zip(got, *want):",
        "    torch.testing.assert_close(result, torch.stack(parts))",
    )


ROW = Row(
    name="vmap",
    title="torch.vmap is a loop over the operator",
    kinds=(RAISES, WRONG, UNBATCHED),
    run=run,
    needs=needs,
)

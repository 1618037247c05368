"""One tensor given for two arguments, one of which the operator writes, against the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from opwright.check.observe.against_reference import compare
from opwright.check.row_context import EagerCallError
from opwright.check.subject import flat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.observe.deviation import Deviation
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["Clash", "find_clash"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """A result that is wrong where one tensor is given for two arguments.

    Parameters
    ----------
    written, read
        The arguments that the tensor is given for.
    result
        The name of the result, or of the argument as it is after the call.
    """

    written: str
    read: str
    result: str
    deviation: Deviation


def find_clash(context: RowContext, sample: Sample) -> Clash | None:
    """Return what is wrong where a written tensor is given for another argument as well.

    None if nothing is. Nothing says what is right where the reference gives another result than for
    a copy, an operator may refuse the call, and a sample that is wrong with a copy shows nothing.
    """
    for written, read in find_pairs(context, sample):
        want = compute_expected(context, sample, written, read)
        if want is None or not is_right_with_copy(context, sample, read, want, copied_from=written):
            continue
        values = context.arguments(sample)
        values[read] = values[written]
        try:
            got = flat(context.subject.computed(context.call(values, sample), values))
        except EagerCallError:
            continue
        for name, value in want.items():
            given = context.arguments(sample, "cpu")
            given[read] = given[written].clone()
            found = compare(context, got[name], value, name, given)
            if found.is_wrong:
                return Clash(written=written, read=read, result=name, deviation=found)
    return None


def find_pairs(context: RowContext, sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield a written argument and one that is read, where one tensor can be both."""
    values = context.arguments(sample, "cpu")
    for one in context.subject.schema.mutated:
        for other in context.subject.schema.arguments:
            left, right = values[one.name], values[other.name]
            if (
                not other.is_written
                and isinstance(left, torch.Tensor)
                and isinstance(right, torch.Tensor)
                and left.numel()
                and (left.shape, left.dtype) == (right.shape, right.dtype)
            ):
                yield one.name, other.name


def compute_expected(
    context: RowContext, sample: Sample, written: str, read: str
) -> dict[str, torch.Tensor] | None:
    """Return what the reference computes; None if that depends on whether it is one tensor."""
    together = context.arguments(sample, "cpu")
    together[read] = together[written]
    apart = context.arguments(sample, "cpu")
    apart[read] = apart[written].clone()
    try:
        results = [flat(context.subject.expected(values)) for values in (together, apart)]
    except Exception:  # noqa: BLE001 - the user's function refuses it
        return None
    is_same = all(torch.equal(value, results[1][name]) for name, value in results[0].items())
    return results[1] if is_same else None


def is_right_with_copy(
    context: RowContext,
    sample: Sample,
    read: str,
    want: dict[str, torch.Tensor],
    *,
    copied_from: str,
) -> bool:
    """Return whether the operator agrees with the reference if it is given a copy."""
    values = context.arguments(sample)
    values[read] = values[copied_from].clone()
    given: Values = context.arguments(sample, "cpu")
    given[read] = given[copied_from].clone()
    try:
        got = flat(context.subject.computed(context.call(values, sample), values))
    except EagerCallError:
        return False
    return not any(
        compare(context, got[name], value, name, given).is_wrong for name, value in want.items()
    )

"""Column `large`: Meta of tensors that are too large to be made."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from opwright.check.observe.deviation import write_pick
from opwright.check.observe.large_sizes import (
    enlarge_to_meta,
    large_shapes,
    reference_takes,
    write_large,
)
from opwright.check.observe.missing_meta import NO_META, is_missing_meta
from opwright.check.observe.watch import place_in_stack, silence_torch
from opwright.check.row_context import NotApplicableError
from opwright.check.rows.meta.kinds import OF_PROPERTY, RAISES
from opwright.check.subject import flat

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["run_large"]

Shapes = dict[str, tuple[int, ...]]


def run_large(context: RowContext) -> None:
    """Compare the shapes of Meta with those of rules or reference, for many elements.

    Raises
    ------
    NotApplicableError
        Neither says what they are, or the operator has no Meta.
    """
    compared = False

    def examine(sample: Sample) -> Finding | None:
        nonlocal compared
        values = enlarge_to_meta(context, sample)
        expected = None if values is None else large_shapes(context.subject, values)
        if values is None or not expected:
            return None
        context.calls += 1
        try:
            with silence_torch():
                returned = context.subject.call(values)
        except Exception as error:
            if is_missing_meta(error):
                raise NotApplicableError(NO_META) from error
            if context.subject.is_foreign or not reference_takes(context.subject, values):
                return None  # limits that nobody has declared
            compared = True
            return refused(context, sample, values, expected, error)
        compared = True
        got = flat(context.subject.computed(returned, values))
        return compare_shapes(
            context, sample, values, expected, {n: tuple(t.shape) for n, t in got.items()}
        )

    context.each(examine, vary={"rank", "presence"}, examples=0)
    if not compared:
        message = "nothing says what the shapes of results are for larger arguments"
        raise NotApplicableError(message)


def refused(
    context: RowContext, sample: Sample, values: Values, expected: Shapes, error: Exception
) -> Finding:
    """Return that Meta raises for sizes that the reference accepts."""
    return context.finding(
        RAISES,
        expected=f"results of the shapes {expected}",
        got=f"for {write_sizes(values)}: {type(error).__name__}: {error}",
        sample=sample,
        place=place_in_stack(traceback.extract_tb(error.__traceback__), __file__),
        error=error,
        script=write_large(context, sample, values),
    )


def compare_shapes(
    context: RowContext, sample: Sample, values: Values, expected: Shapes, got: Shapes
) -> Finding | None:
    """Return the first result whose shape by Meta is another one."""
    for name, shape in expected.items():
        if got.get(name, shape) == shape:
            continue
        result = write_pick(context.subject.schema, name)
        return context.finding(
            OF_PROPERTY["shape"],
            expected=f"{name}: shape {list(shape)}, for {write_sizes(values)}",
            got=f"{name}: shape {list(got[name])}",
            sample=sample,
            script=(
                *write_large(context, sample, values),
                f"assert tuple({result}.shape) == {shape}, {result}.shape",
            ),
        )
    return None


def write_sizes(values: Values) -> str:
    """Return the shapes of all tensors among the arguments, by name."""
    return ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in flat(values).items())

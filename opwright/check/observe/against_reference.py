"""Comparison of a call's results with those of the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.check.observe.deviation import deviation, picked
from opwright.check.subject import flat
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from opwright.check.finding import Finding, Kind
    from opwright.check.observe.deviation import Deviation
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["RANDOM", "compared", "is_random", "wrong_result"]

WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float64,
}
RANDOM = "the reference gives something else each time: its values cannot be compared"


def compared(
    context: RowContext,
    got: torch.Tensor,
    want: torch.Tensor,
    name: str,
    values: Values,
    *,
    scale: float = 1.0,
) -> Deviation:
    """Compare a result with the reference, and where that is not exact enough with a wider one.

    Parameters
    ----------
    values
        Fresh arguments on the CPU.
    """
    tolerances = context.subject.operator.tolerances
    found = deviation(got, want, tolerances, scale=scale)
    declared = str(want.dtype).removeprefix("torch.") in tolerances
    if not found.wrong or declared or want.dtype not in WIDER:
        return found
    wide = wider_result(context.subject, name, values)
    if wide is None or wide.shape != want.shape:
        return found
    second = deviation(got, wide.to(want.dtype), tolerances, scale=scale)
    return found if second.is_wrong else second


def wider_result(subject: Subject, name: str, values: Values) -> torch.Tensor | None:
    """Return what the reference computes in wider dtypes; None if it does not take them."""

    def widened(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(WIDER.get(tensor.dtype, tensor.dtype))

    try:
        return flat(subject.expected({n: map_tensors(widened, v) for n, v in values.items()}))[name]
    except Exception:  # noqa: BLE001 - the user's function, with dtypes that it need not take
        return None


def is_random(context: RowContext, sample: Sample) -> bool:
    """Return whether the reference gives something else each time."""
    one, other = flat(context.expected(sample)), flat(context.expected(sample))
    return any(deviation(other[name], value, {}).is_wrong for name, value in one.items())


def wrong_result(
    context: RowContext,
    kind: Kind,
    sample: Sample,
    name: str,
    found: Deviation,
    device: str,
    *,
    change: tuple[str, ...] = (),
    got: str = "",
) -> Finding:
    """Return the finding of a wrong result.

    Parameters
    ----------
    change
        Lines of the script that change `values` before the call.
    got
        What to say before the deviation.
    """
    return context.finding(
        kind,
        expected=f"{name} of the reference",
        got=f"{got}{found}",
        sample=sample,
        script=(
            f"values = arguments({device!r})",
            *change,
            "returned = operator(**values)",
            *found.line(picked(context.subject.schema, name)),
        ),
    )

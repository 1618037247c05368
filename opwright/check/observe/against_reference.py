"""Compare results with those of the reference, and recognise results that are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opwright.check.observe.deviation import deviation, write_pick
from opwright.check.observe.seeds import seed_generators
from opwright.check.row_context import EagerCallError
from opwright.check.samples.specs import element_count
from opwright.check.subject import flat
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.check.finding import Finding, Kind
    from opwright.check.observe.deviation import Deviation
    from opwright.check.row_context import RowContext
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = [
    "RANDOM",
    "compare",
    "differs_by_itself",
    "is_ill_conditioned",
    "is_random",
    "report_wrong_result",
]

WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float64,
}
RANDOM = "the operator draws random numbers: its values cannot be compared"
# Two draws of a few bits are often equal: so many are compared, of the largest sample as well.
DRAWS = 8
SEED = 5


def compare(
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
    wide = compute_wider_result(context.subject, name, values)
    if wide is None or wide.shape != want.shape:
        return found
    second = deviation(got, wide.to(want.dtype), tolerances, scale=scale)
    return found if second.is_wrong else second


def is_ill_conditioned(
    context: RowContext, want: torch.Tensor, name: str, values: Values, *, scale: float = 1.0
) -> bool:
    """Return whether the reference is itself off: rounding its arguments changes its result.

    Parameters
    ----------
    want
        What it computes.
    values
        Fresh arguments on the CPU.
    """
    if want.dtype not in WIDER:
        return False
    wide = compute_wider_result(context.subject, name, values)
    if wide is None or wide.shape != want.shape:
        return False
    tolerances = context.subject.operator.tolerances
    return deviation(want, wide.to(want.dtype), tolerances, scale=scale).is_wrong


def compute_wider_result(subject: Subject, name: str, values: Values) -> torch.Tensor | None:
    """Return what the reference computes in wider dtypes; None if it does not take them."""

    def widened(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(WIDER.get(tensor.dtype, tensor.dtype))

    try:
        return flat(subject.expected({n: map_tensors(widened, v) for n, v in values.items()}))[name]
    except Exception:  # noqa: BLE001 - the user's function, with dtypes that it need not take
        return None


def is_random(context: RowContext, sample: Sample) -> bool:
    """Return whether the operator's values are drawn, so that none of them is wrong.

    Ask for wrong values alone (`Deviation.wrong`): sizes and dtypes are not drawn.
    Its schema or a tag says so; else the reference is asked, and the operator itself where it is
    declared with `deterministic=False`: one that differs by mistake must not excuse itself. What
    differs after equal seeds as well is not drawn: memory that nobody has written, for example.
    """
    subject = context.subject
    if subject.is_seeded:
        return True
    if context.draws is None:
        asked: list[Callable[[Sample], dict[str, Any]]] = []
        if subject.reference is not None:
            asked.append(context.expected)
        if subject.is_declared_nondeterministic or not asked:
            asked.append(context.run)
        context.draws = any(
            differs_by_itself(context, each, sample)
            and not differs_by_itself(context, seeded(each), sample)
            for each in asked
        )
    return context.draws


def seeded(call: Callable[[Sample], dict[str, Any]]) -> Callable[[Sample], dict[str, Any]]:
    """Return a call before which all generators get the same seed."""

    def call_with_seed(sample: Sample) -> dict[str, Any]:
        with torch.random.fork_rng(devices=[]):
            seed_generators(SEED)
            return call(sample)

    return call_with_seed


def differs_by_itself(
    context: RowContext, call: Callable[[Sample], dict[str, Any]], sample: Sample
) -> bool:
    """Return whether equal calls differ by more than rounding, for this sample or a large one."""
    largest = max(context.samples.of({"size"}, 0), key=element_count, default=sample)
    for each in dict.fromkeys((sample, largest)):
        try:
            first = flat(call(each))
            for _ in range(DRAWS - 1):
                other = flat(call(each))
                if any(deviation(other[name], value, {}).is_wrong for name, value in first.items()):
                    return True
        except EagerCallError:  # the row's own call of it reports this
            continue
    return False


def report_wrong_result(
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
            *found.line(write_pick(context.subject.schema, name)),
        ),
    )

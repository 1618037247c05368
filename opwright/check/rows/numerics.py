"""Results on the NPU are those of the reference, for each dtype.

The operator runs on the NPU and the reference on the CPU, on samples that differ in dtype, sizes
and values. All that the operator computes is compared: new results, and what it writes.
|got - want| <= atol + rtol * |want| with the declared tolerances, or those of torch.testing for the
dtype; NaN equals NaN, integers are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.check.bench import EagerCallError
from opwright.check.finding import Kind
from opwright.check.row import Row
from opwright.check.subject import flat
from opwright.check.tolerance import difference

if TYPE_CHECKING:
    from opwright.check.bench import Bench
    from opwright.check.finding import Finding
    from opwright.check.subject import Subject
    from opwright.declare.sample import Sample

__all__ = ["ROW"]

RAISES = Kind(
    "raises",
    "the operator raises for arguments that it must accept",
    "correct the kernel, or state in the declaration that these arguments are refused",
)
WRONG = Kind(
    "wrong-values",
    "the operator computes something else than the reference",
    "correct the kernel or the reference; if both are right, state how exact it is: tolerances=",
)


def needs(subject: Subject) -> str | None:
    """Say that there is nothing to compare with."""
    return None if subject.reference is not None else "the operator has no reference function"


def run(bench: Bench) -> None:
    """Compare the operator with the reference."""

    def examine(sample: Sample) -> Finding | None:
        try:
            got = flat(bench.run(sample))
        except EagerCallError as error:
            return bench.finding(
                RAISES,
                expected="results",
                got=str(error),
                sample=sample,
                error=error.error,
                script=("operator(**arguments('npu'))", "torch.npu.synchronize()"),
            )
        want = flat(bench.expected(sample))
        for name, value in want.items():
            text = difference(got[name], value, bench.subject.operator.tolerances)
            if text is not None:
                return bench.finding(
                    WRONG, expected=f"{name} of the reference", got=text, sample=sample
                )
        return None

    bench.each(examine, vary={"dtype", "size", "rank", "presence", "length", "value"})


ROW = Row(
    name="numerics",
    title="results are those of the reference",
    kinds=(RAISES, WRONG),
    run=run,
    needs=needs,
)

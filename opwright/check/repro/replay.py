"""A cell again, on one sample: what a script of `--repro` runs if no shorter one is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.check.examine import examine_cell
from opwright.check.known.failures import failures
from opwright.check.report.terminal import failures_text
from opwright.check.rows import row
from opwright.check.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from opwright.check.samples import Aspect
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample

__all__ = ["replayed"]


class OneSample(Samples):
    """One sample of an operator, and no other."""

    def __init__(self, subject: Subject, sample: Sample) -> None:
        super().__init__(subject)
        self.sample = sample

    def of(self, vary: Collection[Aspect], examples: int) -> Iterator[Sample]:
        """Yield the sample."""
        del vary, examples
        yield self.sample

    def shrink(self, sample: Sample, fails: Callable[[Sample], bool]) -> Sample:
        """Return the sample: it is small already."""
        del fails
        return sample


def replayed(
    subject: Subject, row_name: str, column: str, *, sample: Sample | None = None, seed: int = 0
) -> str:
    """Examine a cell again; return what fails, or nothing.

    Parameters
    ----------
    sample
        The sample that showed the fault; where it does not by itself, all samples are run.
    """
    tries = [Samples(subject, seed=seed)]
    if sample is not None:
        tries.insert(0, OneSample(subject, sample))
    for samples in tries:
        outcome = examine_cell(subject, row(row_name), column, samples=samples)
        text = failures_text(failures([outcome])).plain
        if text:
            return text
    return ""

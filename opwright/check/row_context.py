"""A row's tools: the operator, its samples, counted calls, and where it reports."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.finding import Finding
from opwright.check.samples import ALL, Samples, arguments, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from opwright.check.finding import Kind
    from opwright.check.row import Row
    from opwright.check.samples import Aspect
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["EagerCallError", "NotApplicableError", "RowContext"]

SHOWN = 8  # samples that an outcome lists


class EagerCallError(Exception):
    """The operator raised in an eager call with arguments that it must accept."""

    def __init__(self, sample: Sample, error: Exception) -> None:
        self.sample = sample
        self.error = error
        super().__init__(f"{type(error).__name__}: {error}")


class NotApplicableError(Exception):
    """A row found while it ran that it says nothing of this operator; the text says why."""


class RowContext:
    """One cell while it is examined.

    Parameters
    ----------
    column
        The way to run.
    device
        The device of the arguments: `npu` but in tests.
    watch
        Called with each sample before it is used, so that it is known should the process end.

    Attributes
    ----------
    draws
        Whether equal calls were found to differ; None as long as nobody had to ask.
    """

    def __init__(
        self,
        subject: Subject,
        row: Row,
        column: str,
        *,
        samples: Samples,
        device: str = "npu",
        watch: Callable[[Sample], None] | None = None,
    ) -> None:
        self.subject = subject
        self.row = row
        self.column = column
        self.samples = samples
        self.device = device
        self.watch = watch or ignore
        self.draws: bool | None = None
        self.calls = 0
        self.ran: list[str] = []
        self.findings: list[Finding] = []
        self.details: dict[str, str] = {}

    def device_of_column(self) -> str:
        """Return where the arguments of a column are: `cpu` has a column of this name.

        Raises
        ------
        NotApplicableError
            The operator has no kernel for the CPU.
        """
        if self.column != "cpu":
            return self.device
        if not self.subject.runs_on_cpu:
            message = "the operator has no kernel for the CPU"
            raise NotApplicableError(message)
        return "cpu"

    def arguments(self, sample: Sample, device: str | None = None) -> Values:
        """Return fresh arguments; those of one sample have the same values on all devices."""
        self.watch(sample)
        return arguments(self.subject.operator, sample, device or self.device)

    def call(self, values: Values, sample: Sample) -> Any:  # noqa: ANN401 - what the schema says
        """Call the operator eagerly and wait for the device.

        Raises
        ------
        EagerCallError
            The operator raised.
        """
        self.calls += 1
        try:
            returned = self.subject.call(values)
            self.synchronize()
        except Exception as error:
            raise EagerCallError(sample, error) from error
        return returned

    def run(self, sample: Sample, device: str | None = None) -> dict[str, Any]:
        """Call the operator eagerly on fresh arguments; return all that it computes by name."""
        values = self.arguments(sample, device)
        return self.subject.computed(self.call(values, sample), values)

    def expected(self, sample: Sample, device: str = "cpu") -> dict[str, Any]:
        """Run the reference on fresh arguments; return all that it computes by name."""
        return self.subject.expected(self.arguments(sample, device))

    def synchronize(self) -> None:
        """Wait for the device: errors of kernels are raised here."""
        if self.device != "cpu":
            torch.get_device_module(self.device).synchronize()

    def each(
        self,
        examine: Callable[[Sample], Finding | None],
        *,
        vary: Collection[Aspect] = ALL,
        examples: int = 20,
        samples: Iterable[Sample] | None = None,
    ) -> None:
        """Examine samples until one shows a fault; report the smallest that shows the same kind.

        Parameters
        ----------
        examine
            Returns what is wrong with one sample. It makes its own arguments.
        vary
            What differs between the samples that are solved; the rest is as in the simplest one.
        examples
            How many random samples follow the explicit ones and the corner cases.
        samples
            Instead of all that: these alone.
        """
        given = self.samples.of(vary, examples) if samples is None else samples
        for sample in given:
            found = self.examine(examine, sample)
            if found is None:
                continue
            smaller = self.samples.shrink(
                sample,
                lambda other: is_same_kind(self.examine(examine, other), found),  # noqa: B023 - called now
            )
            again = found if smaller == sample else examine(smaller)
            self.findings.append(again or found)
            return
        if not self.calls and not self.ran:
            message = self.samples.why_none() or "no sample has what this row looks at"
            raise NotApplicableError(message)

    def examine(
        self, examine: Callable[[Sample], Finding | None], sample: Sample
    ) -> Finding | None:
        """Examine one sample and note that it was run."""
        self.watch(sample)
        found = examine(sample)
        text = describe(sample)
        if len(self.ran) < SHOWN and text not in self.ran:
            self.ran.append(text)
        return found

    def finding(
        self,
        kind: Kind,
        *,
        expected: str,
        got: str,
        sample: Sample | None = None,
        place: str | None = None,
        fix: str | None = None,
        script: Sequence[str] = (),
        error: BaseException | None = None,
    ) -> Finding:
        """Make a finding; the place is that of the declaration unless another is known better."""
        return Finding(
            kind=kind,
            expected=expected,
            got=got,
            place=place or self.subject.place,
            fix=fix or kind.fix,
            sample=sample,
            script=tuple(script),
            trace="" if error is None else "".join(traceback.format_exception(error)),
        )

    def report(self, kind: Kind, **facts: Any) -> None:  # noqa: ANN401 - those of `finding`
        """Report a fault that needs no search for a smaller sample; see `finding`."""
        self.findings.append(self.finding(kind, **facts))


def is_same_kind(one: Finding | None, other: Finding) -> bool:
    """Return whether a finding is of the kind of another."""
    return one is not None and one.kind == other.kind


def ignore(sample: Sample) -> None:
    """Watch nothing."""
    del sample

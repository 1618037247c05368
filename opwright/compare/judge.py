"""Records of runs -> verdicts: the first operator whose inputs agree and whose results do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, TypeAlias

from opwright.check.observe.deviation import Deviation, deviation
from opwright.compare.modes import is_compiled
from opwright.compare.tensors import load_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from opwright.compare.modes import Mode
    from opwright.compare.record import Failure, OperatorCall, Record, StepCall, Value

__all__ = ["Difference", "Kind", "Run", "Verdict", "find_other_arguments", "judge"]

# operator   its inputs agree and its results do not
# constant   the same, and a number of the call is another one than in eager
# input      an input that no operator of the step computes is another one than in eager
# order      another operator is called than in eager
# prefix     an operator's graph agrees only as long as all of its results are kept
# tracing    no operator of the graphs computes what one computes in eager
# result     results of the step differ, and no operator is found to
# memory     results of a captured graph differ, and not where all that is in it is kept
Kind: TypeAlias = Literal[
    "operator", "constant", "input", "order", "prefix", "tracing", "result", "memory"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of the program, with the folder of its tensors."""

    record: Record
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first difference of a mode.

    Parameters
    ----------
    call, number, count
        The call of the step, from 1; the operator in it, from 1, and how many it has.
    operator
        The operator in the mode; None where the results of the step are all that differs.
    eager
        The operator in eager, where both run the same ones.
    name, text
        The tensor that differs, and how.
    """

    kind: Kind
    call: int
    number: int = 0
    count: int = 0
    operator: OperatorCall | None = None
    eager: OperatorCall | None = None
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of comparing a mode with eager.

    Parameters
    ----------
    compared
        How many calls of operators were compared, in all calls of the step.
    largest
        The largest difference of two numbers that were compared and agree.
    drawn
        Operators that draw random numbers: their results are not compared in compiled modes, nor
        are those of the step.
    """

    mode: Mode
    calls: int
    compared: int
    largest: float
    difference: Difference | None = None
    failure: Failure | None = None
    drawn: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the mode computes what eager computes."""
        return self.difference is None and self.failure is None


@dataclass(slots=True)
class Comparison:
    """Compares tensors of two runs, and keeps the largest difference of those that agree."""

    got: Run
    want: Run
    largest: float = 0.0
    compared: int = 0
    known: dict[tuple[str, str], Deviation] = field(default_factory=dict)

    def compare(self, got: Value, want: Value, *, of_one_run: bool = False) -> Deviation:
        """Compare two tensors; those without elements agree.

        Parameters
        ----------
        of_one_run
            Whether `want` is of the run that is judged: what eager mode computes beside a graph.
        """
        if got.file == want.file or not (got.file and want.file):
            return Deviation()
        key = got.file, want.file
        if key not in self.known:
            folder = self.got.folder if of_one_run else self.want.folder
            found = deviation(load_tensor(self.got.folder, got), load_tensor(folder, want), {})
            if not found.is_wrong:
                self.largest = max(self.largest, found.error)
            self.known[key] = found
        return self.known[key]

    def find_first(
        self, got: Sequence[Value], want: Sequence[Value], *, of_one_run: bool = False
    ) -> tuple[str, str] | None:
        """Return name and text of the first two tensors that differ; None if all agree."""
        for one, other in zip_longest(got, want):
            if one is None or other is None:
                return (one or other).name, "a tensor that only one of the two has"
            found = self.compare(one, other, of_one_run=of_one_run)
            if found.is_wrong:
                return one.name, str(found)
        return None


def find_other_arguments(got: Record, want: Record) -> str | None:
    """Name the first tensor that the first call of the step is given, and that differs."""
    if not got.calls or not want.calls:
        return None
    pairs = zip_longest(got.calls[0].arguments, want.calls[0].arguments)
    return next(
        (
            f"{(one or other).name}, {one or other}"
            for one, other in pairs
            if one is None or other is None or one.file != other.file
        ),
        None,
    )


def judge(mode: Mode, got: Run, eager: Run, whole: Run | None = None) -> Verdict:
    """Compare a mode with eager.

    Parameters
    ----------
    whole
        Of captured: the run whose graph has no copies of the operators' tensors.
    """
    comparison = Comparison(got, eager)
    judge_call = judge_compiled if is_compiled(mode) else judge_captured
    difference = None
    pairs = zip(got.record.calls, eager.record.calls, strict=False)
    for number, (one, other) in enumerate(pairs, start=1):
        difference = judge_call(comparison, number, one, other)
        if difference is not None:
            break
    failure = got.record.failure
    if difference is None and failure is None and whole is not None:
        difference, failure = judge_whole(whole, eager), whole.record.failure
    drawn = {
        f"{each.operator}, {each.source}"
        for call in got.record.calls
        for each in call.operators
        if each.is_random
    }
    return Verdict(
        mode=mode,
        calls=len(got.record.calls),
        compared=comparison.compared,
        largest=comparison.largest,
        difference=difference,
        failure=failure if difference is None else None,
        drawn=tuple(sorted(drawn)),
    )


def judge_captured(
    comparison: Comparison, number: int, got: StepCall, want: StepCall
) -> Difference | None:
    """Return the first difference of a replay: both have the same operators, one after another."""
    count = len(got.operators)
    pairs = zip_longest(got.operators, want.operators)
    for place, (one, other) in enumerate(pairs, start=1):
        found = judge_pair(comparison, one, other)
        if found is not None:
            kind, name, text = found
            return Difference(
                kind=kind,
                call=number,
                number=place,
                count=count,
                operator=one or other,
                eager=other,
                name=name,
                text=text,
            )
        comparison.compared += 1
    return judge_results(comparison, number, got, want)


def judge_pair(
    comparison: Comparison, one: OperatorCall | None, other: OperatorCall | None
) -> tuple[Kind, str, str] | None:
    """Return how an operator differs from the one in its place in eager; None if it does not."""
    if one is None or other is None or one.operator != other.operator:
        names = [each.operator if each else "no operator" for each in (one, other)]
        return "order", "", f"{names[0]}, where eager calls {names[1]}"
    # Whatever an earlier operator computes agrees, or that one would have been returned.
    if (found := comparison.find_first(one.inputs, other.inputs)) is not None:
        return "input", *found
    if (found := comparison.find_first(one.outputs, other.outputs)) is not None:
        return "operator" if one.text == other.text else "constant", *found
    return None


def judge_compiled(
    comparison: Comparison, number: int, got: StepCall, want: StepCall
) -> Difference | None:
    """Return the first difference of a call: each operator has what eager answers beside it."""
    for place, each in enumerate(got.operators, start=1):
        if not each.expected:
            continue
        found = comparison.find_first(each.outputs, each.expected, of_one_run=True)
        if found is not None:
            return Difference(
                kind="prefix" if each.graph else "operator",
                call=number,
                number=place,
                count=len(got.operators),
                operator=each,
                name=found[0],
                text=found[1],
            )
        comparison.compared += 1
    if any(each.is_random for each in (*got.operators, *want.operators)):
        return None
    found_result = judge_results(comparison, number, got, want)
    if found_result is None:
        return None
    return find_untraced(comparison, number, got, want) or found_result


def judge_results(
    comparison: Comparison, number: int, got: StepCall, want: StepCall
) -> Difference | None:
    """Return how the results of a call differ."""
    found = comparison.find_first(got.results, want.results)
    if found is None:
        return None
    return Difference(kind="result", call=number, name=found[0], text=found[1])


def judge_whole(whole: Run, eager: Run) -> Difference | None:
    """Return how the graph that a user would capture differs, though the one with copies agrees."""
    comparison = Comparison(whole, eager)
    pairs = zip(whole.record.calls, eager.record.calls, strict=False)
    for number, (one, other) in enumerate(pairs, start=1):
        found = comparison.find_first(one.results, other.results)
        if found is not None:
            return Difference(kind="memory", call=number, name=found[0], text=found[1])
    return None


def find_untraced(
    comparison: Comparison, number: int, got: StepCall, want: StepCall
) -> Difference | None:
    """Return the first operator of eager that nothing in the graphs stands for.

    The graphs have other operators than eager: they are decomposed, do not write in place, and
    return no result that nobody uses. But of each operator of eager some result is there, unless
    tracing has changed what is computed.
    """
    present = [*values_of(got.operators), *got.arguments]
    # Tensors that agree here by chance are no part of the comparison.
    comparison = Comparison(comparison.got, comparison.want)
    for place, each in enumerate(want.operators, start=1):
        is_present = [is_among(comparison, value, present) for value in each.outputs]
        is_known = all(is_among(comparison, value, present) for value in each.inputs)
        if each.inputs and is_known and is_present and not any(is_present):
            return Difference(
                kind="tracing",
                call=number,
                number=place,
                count=len(want.operators),
                operator=each,
                eager=each,
                name=each.outputs[0].name,
                text=f"{each.outputs[0]}, which no operator of the compiled graphs computes",
            )
    return None


def values_of(operators: Iterable[OperatorCall]) -> Iterator[Value]:
    """Yield all tensors of operators."""
    for each in operators:
        yield from (*each.inputs, *each.outputs)


def is_among(comparison: Comparison, wanted: Value, present: Iterable[Value]) -> bool:
    """Return whether one of the tensors of a mode agrees with a tensor of eager."""
    alike = [each for each in present if (each.dtype, each.shape) == (wanted.dtype, wanted.shape)]
    if any(each.file == wanted.file for each in alike):
        return True
    return any(not comparison.compare(each, wanted).is_wrong for each in alike)

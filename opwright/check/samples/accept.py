"""Whether an operator must accept a sample.

The declared rules say so, and the reference: what it refuses is no sample. An operator without a
reference says so itself, on the CPU if it has a kernel for it, else on the device.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from opwright.check.samples.made import arguments
from opwright.kit.live.arguments import Binder, tensors_in
from opwright.kit.live.reference import new_results

if TYPE_CHECKING:
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample
    from opwright.kit.live.arguments import Values

__all__ = ["Refusal", "refusal"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Who refuses a sample: "rules", "reference" or "operator", and what it says."""

    by: str
    text: str


def refusal(
    subject: Subject, sample: Sample, *, device: str, is_declared: bool, is_tried: bool = False
) -> Refusal | None:
    """Say who refuses a sample; None if it must be accepted.

    Parameters
    ----------
    device
        Where an operator runs that nothing else can judge.
    is_declared
        Whether nothing was guessed. Where something was, results that do not follow the rules
        show that the guess was wrong.
    is_tried
        Whether the operator may refuse what its reference accepts.
    """
    by = "rules"
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            check_rules(subject, sample)
            if subject.reference is not None:
                by = "reference"
                check_reference(subject, sample, is_declared=is_declared)
            if subject.reference is None or is_tried:
                by = "operator"
                where = device if is_tried else judge(subject, device)
                subject.call(arguments(subject.operator, sample, where))
                if device != "cpu":
                    torch.get_device_module(device).synchronize()
    except Exception as error:  # noqa: BLE001 - whatever it is, the sample is refused
        return Refusal(by, f"{type(error).__name__}: {error}")
    return None


def judge(subject: Subject, device: str) -> str:
    """Return where an operator without a reference says what it accepts."""
    return "cpu" if subject.runs_on_cpu else device


def check_rules(subject: Subject, sample: Sample) -> None:
    """Raise unless the rules accept the arguments, and all sizes of results are possible."""
    rules = subject.rules
    if rules is None:
        return
    values = arguments(subject.operator, sample, "meta")
    rules.check(values)
    for output in rules.facts.outputs:
        if output.is_new and output.shape is not None and not output.type.is_list:
            shape = rules.shape(output, values)
            if any(size < 0 for size in shape):
                message = f"{output.name} has the shape {shape}"
                raise ValueError(message)


def check_reference(subject: Subject, sample: Sample, *, is_declared: bool) -> None:
    """Raise unless the reference accepts the arguments, and returns what the rules say."""
    values = arguments(subject.operator, sample, "cpu")
    assert subject.reference is not None
    returned = Binder.of(subject.schema).call(subject.reference, values)
    if not is_declared:
        results = new_results(subject.operator, returned, values, where=subject.where)
        check_results(subject, results, arguments(subject.operator, sample, "meta"))


def check_results(subject: Subject, results: Values, values: Values) -> None:
    """Raise unless results have the shapes and dtypes of the rules."""
    rules = subject.rules
    for output in () if rules is None else rules.facts.outputs:
        if not output.is_new or output.dtype is None or output.type.is_list:
            continue
        assert rules is not None
        for tensor in tensors_in(results[output.name]):
            if tuple(tensor.shape) != tuple(rules.shape(output, values)) or (
                tensor.dtype != rules.dtype(output, values)
            ):
                message = f"{output.name} is not what its rules say"
                raise ValueError(message)

"""Checks of operators."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import torch
import torch_npu
from torch.utils import _pytree as pytree

from tests.conformance.cases import DTYPES, operators
from tests.conformance.checks.execution import (
    CPU,
    Arguments,
    RefusedError,
    expected_result,
    gradients,
    has_gradient,
    is_determined,
)
from tests.conformance.comparison import expect_close

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch.testing._internal.opinfo.core import OpInfo, SampleInput

    from tests.conformance.case import Case

# Their results are memory as it is.
UNINITIALISED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}

# Without `device=`, their results are on the CPU, also those of tensors on another device.
FACTORIES = {"arange", "linspace", "logspace"}


class WrongMemoryError(AssertionError):
    """A result of the right shape was not written where `out=` is."""

    def __init__(self) -> None:
        super().__init__("out= has the right shape, but got other memory")


class AcceptedError(AssertionError):
    """Arguments that the CPU refuses gave a result."""

    def __init__(self, message: str) -> None:
        super().__init__(f"got a result, but must be refused, as on the CPU with: {message}")


def forward(case: Case, device: torch.device) -> int:
    """Same values, shapes, dtypes."""
    info = operators()[case.entry]
    return count(samples_of(info, case), lambda sample: compare(info, sample, device))


def noncontiguous(case: Case, device: torch.device) -> int:
    """The same with strided arguments."""
    info = operators()[case.entry]
    return count(samples_of(info, case), lambda sample: compare(info, strided(sample), device))


def strided(sample: SampleInput) -> SampleInput:
    """Return a sample whose tensors have gaps."""
    try:
        changed: SampleInput = sample.noncontiguous()  # type: ignore[no-untyped-call]
    except RuntimeError as error:  # a sparse layout has no strides
        raise RefusedError from error
    return changed


def count(samples: Iterable[SampleInput], compare_sample: Callable[[SampleInput], None]) -> int:
    """Compare all samples that the CPU takes; return their number."""
    compared = 0
    for sample in samples:
        with contextlib.suppress(RefusedError):
            compare_sample(sample)
            compared += 1
    return compared


def compare(info: OpInfo, sample: SampleInput, device: torch.device) -> None:
    """Compare one sample."""
    arguments = Arguments.of(sample)
    expected, wide = expected_result(lambda one: one.call(info.op), arguments)
    actual = arguments.on(device).call(info.op)
    place = CPU if info.name in FACTORIES and "device" not in arguments.kwargs else device
    expect_close(actual, expected, wide, device=place, values=has_values(info, arguments))


def out(case: Case, device: torch.device) -> int:
    """`out=` of the right shape is written where it is."""
    info = operators()[case.entry]
    return count(
        samples_of(info, case), lambda sample: write_out(info, sample, device, resized=False)
    )


def resize(case: Case, device: torch.device) -> int:
    """An empty `out=` is resized."""
    info = operators()[case.entry]
    return count(
        samples_of(info, case), lambda sample: write_out(info, sample, device, resized=True)
    )


def write_out(info: OpInfo, sample: SampleInput, device: torch.device, *, resized: bool) -> None:
    """Write a sample's result to `out=`."""
    arguments = Arguments.of(sample)
    expected, wide = expected_result(lambda one: one.call(info.op), arguments)
    require_out(info, arguments, expected)
    into = pytree.tree_map(lambda leaf: place(leaf, device, resized=resized), expected)
    addresses = [leaf.data_ptr() for leaf in pytree.tree_leaves(into)]
    here = arguments.on(device)
    here.into(into).call(info.op)
    expect_close(into, expected, wide, device=device, values=has_values(info, arguments))
    if not resized and addresses != [leaf.data_ptr() for leaf in pytree.tree_leaves(into)]:
        raise WrongMemoryError


def require_out(info: OpInfo, arguments: Arguments, expected: object) -> None:
    """Refuse a sample whose results the CPU does not write to an empty `out=`."""
    if not all(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(expected)):
        raise RefusedError
    into = pytree.tree_map(lambda leaf: place(leaf, CPU, resized=True), expected)
    here = arguments.on(CPU).into(into)
    try:
        here.call(info.op)
    # TypeError: a schema whose out= is spelled otherwise.
    except (RuntimeError, TypeError) as error:
        raise RefusedError from error


def place(expected: torch.Tensor, device: torch.device, *, resized: bool) -> torch.Tensor:
    """Return a tensor to write to: of the right shape with stale values, or empty."""
    if resized:
        return torch.empty(0, dtype=expected.dtype, device=device)
    return torch.full_like(
        expected, 1, device=device, requires_grad=False, memory_format=torch.contiguous_format
    )


def inplace(case: Case, device: torch.device) -> int:
    """The in-place variant writes its first argument and returns it, wherever the CPU does."""
    info = operators()[case.entry]
    return count(samples_of(info, case), lambda sample: write_in_place(info, sample, device))


def write_in_place(info: OpInfo, sample: SampleInput, device: torch.device) -> None:
    """Compare the in-place variant on one sample."""
    arguments = Arguments.of(sample)
    expected, wide = expected_result(lambda one: one.call(info.inplace_variant), arguments)
    here = arguments.on(device)
    result = here.call(info.inplace_variant)
    values = has_values(info, arguments)
    expect_close(result, expected, wide, device=device, values=values)
    expect_close(here.args[0], expected, wide, device=device, values=values)


def backward(case: Case, device: torch.device) -> int:
    """The same gradients of all differentiable arguments."""
    info = operators()[case.entry]
    samples = samples_of(info, case, requires_grad=True)
    return count(samples, lambda sample: compare_gradients(info, sample, device))


def compare_gradients(info: OpInfo, sample: SampleInput, device: torch.device) -> None:
    """Compare the gradients of one sample."""
    arguments = Arguments.of(sample)
    differentiate = differentiation(info.op, sample.output_process_fn_grad)
    expected, wide = expected_result(differentiate, arguments)
    if not has_gradient(expected):
        raise RefusedError
    actual = differentiate(arguments.on(device))
    expect_close(actual, expected, wide, device=device, values=has_values(info, arguments))


def differentiation(
    function: Callable[..., object], finish: Callable[[object], object]
) -> Callable[[Arguments], list[torch.Tensor | None]]:
    """Return the function from arguments to their gradients."""
    return lambda arguments: gradients(finish(arguments.call(function)), arguments.tensors())


def errors(case: Case, device: torch.device) -> int:
    """Arguments that the CPU refuses are refused."""
    info, refused = operators()[case.entry], 0
    for wrong in info.error_inputs("cpu"):  # type: ignore[no-untyped-call]
        arguments = Arguments.of(wrong.sample_input)
        if not refuses(info, arguments, CPU):
            continue
        if not refuses(info, arguments, device):
            raise AcceptedError(wrong.error_regex)
        refused += 1
    return refused


def refuses(info: OpInfo, arguments: Arguments, device: torch.device) -> bool:
    """Return whether arguments lead to an error on a device."""
    here = arguments.on(device)
    try:
        here.call(info.op)
        torch_npu.npu.synchronize()
    except Exception:  # noqa: BLE001 - any refusal is one; a crash ends the process
        return True
    return False


def samples_of(info: OpInfo, case: Case, *, requires_grad: bool = False) -> Iterator[SampleInput]:
    """Yield the samples of a case, made on the CPU."""
    dtype = DTYPES[case.dtype]
    yield from info.sample_inputs("cpu", dtype, requires_grad)  # type: ignore[no-untyped-call]


def has_values(info: OpInfo, arguments: Arguments) -> bool:
    """Return whether results can be compared: not random, not uninitialised."""
    return info.name not in UNINITIALISED and is_determined(info.op, arguments)

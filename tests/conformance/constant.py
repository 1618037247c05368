"""A function without a gradient, and what the checks of operators make of it.

It imports the databases of torch, which change settings: only isolated tests may import it.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch.testing._internal.opinfo.core import SampleInput

from tests.conformance.checks import operators
from tests.conformance.checks.execution import Arguments, RefusedError

__all__ = ["RefusedError", "compare_gradients", "refuses"]


def constant(_: torch.Tensor) -> torch.Tensor:
    return torch.ones(2)


def as_it_is(result: object) -> object:
    return result


INFO: Any = SimpleNamespace(name="constant", op=constant)


def compare_gradients() -> None:
    """Compare the gradients of the function, on the CPU."""
    sample = SampleInput(torch.ones(2, requires_grad=True))  # type: ignore[no-untyped-call]  # torch's
    sample.output_process_fn_grad = as_it_is
    operators.compare_gradients(INFO, sample, torch.device("cpu"))


def refuses() -> None:
    """Ask whether a device that is not there refuses the function."""
    arguments = Arguments((torch.ones(2, requires_grad=True),), {})
    operators.refuses(INFO, arguments, torch.device("cuda"))

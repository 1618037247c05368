"""The checks: each runs all samples of one entry on the CPU and on the device, and compares.

A check takes a case and a device, returns the number of samples that it compared, and raises what
went wrong. A new check is a function in the file of its database, a row below, and a name in
`cases.operator_checks`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
import torch_npu

from tests.conformance.checks import modules, operators, optimizers
from tests.conformance.checks.execution import SEED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.case import Case

CHECKS: dict[str, Callable[[Case, torch.device], int]] = {
    "forward": operators.forward,
    "noncontiguous": operators.noncontiguous,
    "out": operators.out,
    "resize": operators.resize,
    "inplace": operators.inplace,
    "backward": operators.backward,
    "errors": operators.errors,
    "module": modules.forward,
    "module_backward": modules.backward,
    "optimizer": partial(optimizers.steps, implementation=None),
    "optimizer_foreach": partial(optimizers.steps, implementation="foreach"),
    "optimizer_fused": partial(optimizers.steps, implementation="fused"),
}


def run(case: Case, device: torch.device) -> int:
    """Run a case; return the number of samples compared."""
    torch.manual_seed(SEED)
    try:
        return CHECKS[case.check](case, device)
    finally:
        # An operator's error may come with a later one: it belongs to this case, not to the next.
        torch_npu.npu.synchronize(device)

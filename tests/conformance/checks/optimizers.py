"""Checks of optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tests.conformance.cases import optimizers
from tests.conformance.checks.execution import CPU, SEED
from tests.conformance.comparison import expect_close

if TYPE_CHECKING:
    from torch.testing._internal.common_optimizers import OptimizerInfo

    from tests.conformance.case import Case

STEPS = 5


def steps(case: Case, device: torch.device, *, implementation: str | None) -> int:
    """Five steps move parameters as on the CPU, with every configuration."""
    info, count = optimizers()[case.entry], 0
    choice = {} if implementation is None else {implementation: True}
    for sample in info.optim_inputs_func(device="cpu"):
        options = {name: value for name, value in sample.kwargs.items() if name != "capturable"}
        expected = optimize(info, options, CPU)
        expect_close(optimize(info, {**options, **choice}, device), expected, device=device)
        count += 1
    return count


def optimize(
    info: OptimizerInfo, options: dict[str, object], device: torch.device
) -> list[torch.Tensor]:
    """Return the parameters of a small regression after some steps."""
    generator = torch.Generator().manual_seed(SEED)
    # Matrices, because Muon takes nothing else.
    parameters = [
        torch.randn(shape, generator=generator).to(device).requires_grad_()
        for shape in ((5, 4), (1, 5), (1, 5))
    ]
    weight, bias, last = parameters
    inputs = torch.randn(7, 4, generator=generator).to(device)
    optimizer = info.optim_cls(parameters, **options)  # type: ignore[operator]

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.tanh(inputs @ weight.T + bias).matmul(last.T).square().mean()
        torch.autograd.backward(loss)
        return loss

    for _ in range(STEPS):
        optimizer.step(closure)
    return [parameter.detach() for parameter in parameters]

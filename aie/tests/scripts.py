"""Operations of the tests on modules of TorchScript."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn


def traced(module: nn.Module, tensors: Sequence[torch.Tensor]) -> torch.jit.ScriptModule:
    """Trace a module as it is used for inference."""
    module.eval().requires_grad_(requires_grad=False)
    script: torch.jit.ScriptModule
    script = torch.jit.trace(module, tuple(tensors))  # type: ignore[no-untyped-call]
    return script


def engines_of(module: torch.jit.ScriptModule) -> int:
    """Return how many engines the compiled module calls."""
    return str(module.graph).count("torch_aie::execute_engine")

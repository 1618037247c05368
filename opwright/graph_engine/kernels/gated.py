"""Activation functions of one half of a tensor that gate the other half."""

from __future__ import annotations

from typing import cast

import torch
from torch.nn import functional

from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.table import kernel

aten = torch.ops.aten
APPROXIMATIONS = {0: "none", 1: "tanh"}  # of GeGluV2


@kernel("GLU", source="ops-nn:activation/glu/op_graph/glu_proto.h")
def glu(x: torch.Tensor, *, dim: int = -1) -> torch.Tensor:
    """First half times the sigmoid of the second."""
    return functional.glu(x, dim)


@kernel("GLUGrad", source="ops-nn:activation/glu_grad/op_graph/glu_grad_proto.h")
def glu_grad(y_grad: torch.Tensor, x: torch.Tensor, *, dim: int = -1) -> torch.Tensor:
    """Gradient of GLU."""
    return cast("torch.Tensor", aten.glu_backward(y_grad, x, dim))


@kernel("SwiGlu", source="ops-nn:activation/swi_glu/op_graph/swi_glu_proto.h")
def swi_glu(x: torch.Tensor, *, dim: int = -1) -> torch.Tensor:
    """First half's silu times the second half."""
    gate, linear = widen(x).chunk(2, dim)
    return (functional.silu(gate) * linear).to(x.dtype)


@kernel("SwiGluGrad", source="ops-nn:activation/swi_glu_grad/op_graph/swi_glu_grad_proto.h")
def swi_glu_grad(y_grad: torch.Tensor, x: torch.Tensor, *, dim: int = -1) -> torch.Tensor:
    """Gradient of SwiGlu."""
    gate, linear = widen(x).chunk(2, dim)
    grad = widen(y_grad)
    by_gate = aten.silu_backward(grad * linear, gate)
    return torch.cat([by_gate, grad * functional.silu(gate)], dim).to(x.dtype)


@kernel("GeGluV2", source="ops-nn:activation/ge_glu_v2/op_graph/ge_glu_v2_proto.h")
def ge_glu_v2(
    x: torch.Tensor, *, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """One half times the gelu of the other; also that gelu."""
    first, second = widen(x).chunk(2, dim)
    linear, gate = (second, first) if activate_left else (first, second)
    activated = functional.gelu(gate, approximate=APPROXIMATIONS[approximate])
    return (linear * activated).to(x.dtype), activated.to(x.dtype)

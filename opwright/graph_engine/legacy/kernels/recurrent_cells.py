"""LSTM layers whose weights for input and state come apart: torch_npu's LSTM cell."""

from __future__ import annotations

import torch

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.legacy.kernels.recurrent import (
    IFJO,
    IJFO,
    Tensors,
    dynamic_rnn,
    dynamic_rnn_grad,
    require_no_mask,
)
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

# The candidate is called c here; in CANN's own default (ijfo) and in gradients it is j.
ORDERS = {IFJO: IFJO, "ifco": IFJO, IJFO: IJFO, "icfo": IJFO}


def order_of(gate_order: str) -> str:
    """Return the order of the gates in DynamicRNN's letters."""
    require_one_of("gate_order", gate_order, *ORDERS)
    return ORDERS[gate_order]


def sequence(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor of a single step as a sequence."""
    return tensor.unsqueeze(0) if tensor.dim() == 2 else tensor  # noqa: PLR2004


@legacy_kernel("DynamicRNNV2", source="ops-nn:rnn/dynamic_rnnv2/op_graph/dynamic_rnnv2_proto.h")
def dynamic_rnn_v2(
    x: torch.Tensor,
    weight_input: torch.Tensor,
    weight_hidden: torch.Tensor,
    b: torch.Tensor | None = None,
    seq_length: torch.Tensor | None = None,
    init_h: torch.Tensor | None = None,
    init_c: torch.Tensor | None = None,
    *,
    direction: str = "UNIDIRECTIONAL",
    use_peephole: bool = False,
    cell_clip: float = -1.0,
    num_proj: int = 0,
    forget_bias: float = 0.0,
    gate_order: str = "ijfo",
) -> Tensors:
    """Answer results, states, and the gates that the gradient needs."""
    w = torch.cat([weight_input, weight_hidden])
    return dynamic_rnn(
        sequence(x),
        w,
        w.new_zeros(w.shape[1]) if b is None else b,
        seq_length,
        init_h,
        init_c,
        direction=direction,
        use_peephole=use_peephole,
        cell_clip=cell_clip,
        num_proj=num_proj,
        forget_bias=forget_bias,
        gate_order=order_of(gate_order),
    )


@legacy_kernel("DynamicRNNV2Grad", source="op-plugin:op_plugin/ops/aclops/LstmCellKernelNpu.cpp")
def dynamic_rnn_v2_grad(
    x: torch.Tensor,
    w_x: torch.Tensor,
    w_h: torch.Tensor,
    y: torch.Tensor,
    init_h: torch.Tensor,
    init_c: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    dy: torch.Tensor,
    dh: torch.Tensor,
    dc: torch.Tensor,
    i: torch.Tensor,
    j: torch.Tensor,
    f: torch.Tensor,
    o: torch.Tensor,
    tanhct: torch.Tensor,
    seq_length: torch.Tensor | None = None,
    wci: torch.Tensor | None = None,
    wcf: torch.Tensor | None = None,
    wco: torch.Tensor | None = None,
    mask: torch.Tensor | None = None,
    *,
    direction: str = "UNIDIRECTIONAL",
    use_peephole: bool = False,
    cell_clip: float = -1.0,
    num_proj: int = 0,
    gate_order: str = "ijfo",
    activation: str = "tanh",
    recurrent_activation: str = "sigmoid",
) -> Tensors:
    """Gradients of DynamicRNNV2: of both weights, the bias, x and the two initial states."""
    del wci, wcf, wco  # of peepholes, which are refused
    require_no_mask(mask)
    require_one_of("activation", activation, "tanh")
    require_one_of("recurrent_activation", recurrent_activation, "sigmoid")
    w = torch.cat([w_x, w_h])
    by_w, *others = dynamic_rnn_grad(
        sequence(x),
        w,
        w[0],
        y,
        init_h,
        init_c,
        sequence(h),
        sequence(c),
        sequence(dy),
        dh,
        dc,
        sequence(i),
        sequence(j),
        sequence(f),
        sequence(o),
        sequence(tanhct),
        seq_length,
        direction=direction,
        use_peephole=use_peephole,
        cell_clip=cell_clip,
        num_proj=num_proj,
        gate_order=order_of(gate_order),
    )
    return (by_w[: len(w_x)], by_w[len(w_x) :], *others)

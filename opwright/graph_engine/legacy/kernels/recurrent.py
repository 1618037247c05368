"""LSTM and GRU layers of one direction, and their gradients.

A sequence is [time, batch, features]. torch_npu passes PyTorch's weights as they are, so the gates
stand in PyTorch's order: input, forget, candidate, output, and reset, update, new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Tensors = tuple[torch.Tensor, ...]

IFJO, IJFO = "ifjo", "ijfo"  # where the candidate (j) stands among the gates


def steps(x: torch.Tensor, direction: str) -> Iterator[int]:
    """Yield the steps in the order in which a layer takes them."""
    require_one_of("direction", direction, "UNIDIRECTIONAL", "REDIRECTIONAL")
    yield from range(len(x)) if direction == "UNIDIRECTIONAL" else reversed(range(len(x)))


def sequence_mask(seq_length: torch.Tensor | None, x: torch.Tensor) -> torch.Tensor | None:
    """Return a mask [time, batch, ...] of the steps that count; None if all do.

    It is given as lengths, or as a mask already.
    """
    if seq_length is None or seq_length.dim() == 0:
        return None
    if seq_length.dim() == 1:
        return torch.arange(len(x)).view(-1, 1, 1) < seq_length.view(1, -1, 1)
    return seq_length.reshape(len(x), x.shape[1], -1) != 0


def state(given: torch.Tensor | None, x: torch.Tensor, hidden: int) -> torch.Tensor:
    """Return an initial state [batch, hidden]."""
    if given is None:
        return torch.zeros(x.shape[1], hidden)
    return widen(given).reshape(x.shape[1], hidden)


def hold_ended(
    mask: torch.Tensor | None, step: int, new: torch.Tensor, old: torch.Tensor
) -> torch.Tensor:
    """Return the new state where a sequence goes on, the old one where it has ended."""
    return new if mask is None else torch.where(mask[step], new, old)


def cut(mask: torch.Tensor | None, values: torch.Tensor) -> torch.Tensor:
    """Return the values with zeros where a sequence has ended."""
    return values if mask is None else values * mask


def split_gates(gates: torch.Tensor, order: str) -> list[torch.Tensor]:
    """Split into input, candidate, forget and output gate."""
    require_one_of("gate_order", order, IJFO, IFJO)
    parts = gates.chunk(4, -1)
    return [parts[order.index(gate)] for gate in IJFO]


def plain(
    cell_clip: float, *, use_peephole: bool = False, num_proj: int = 0, reset_after: bool = True
) -> None:
    """Refuse what torch_npu never asks for."""
    if cell_clip > 0 or use_peephole or num_proj or not reset_after:
        message = (
            f"cell_clip {cell_clip}, use_peephole {use_peephole}, num_proj {num_proj}, reset_after "
            f"{reset_after}; allowed: no clipping, no peepholes, no projection, reset after"
        )
        raise NotImplementedError(message)


def require_no_mask(mask: torch.Tensor | None) -> None:
    """Refuse dropout; torch_npu gives a mask without axes, which says nothing."""
    if mask is not None and mask.dim():
        message = f"a mask of shape {list(mask.shape)} is not available"
        raise NotImplementedError(message)


@legacy_kernel("DynamicRNN", source="ops-nn:rnn/dynamic_rnn/op_graph/dynamic_rnn_proto.h")
def dynamic_rnn(
    x: torch.Tensor,
    w: torch.Tensor,
    b: torch.Tensor,
    seq_length: torch.Tensor | None = None,
    init_h: torch.Tensor | None = None,
    init_c: torch.Tensor | None = None,
    *,
    direction: str = "UNIDIRECTIONAL",
    use_peephole: bool = False,
    cell_clip: float = -1.0,
    num_proj: int = 0,
    forget_bias: float = 0.0,
    gate_order: str = IJFO,
) -> Tensors:
    """Answer results, states, and the gates that the gradient needs."""
    plain(cell_clip, use_peephole=use_peephole, num_proj=num_proj)
    wide, hidden, mask = widen(x), w.shape[1] // 4, sequence_mask(seq_length, x)
    h, c = state(init_h, x, hidden), state(init_c, x, hidden)
    by_input, by_state = widen(w)[: x.shape[2]], widen(w)[x.shape[2] :]
    from_input = wide @ by_input + widen(b)
    kinds = ("y", "h", "c", "i", "j", "f", "o", "tanhc")
    made = {kind: torch.empty(*x.shape[:2], hidden) for kind in kinds}
    for step in steps(x, direction):
        i, j, f, o = split_gates(from_input[step] + h @ by_state, gate_order)
        i, j, f, o = i.sigmoid(), j.tanh(), (f + forget_bias).sigmoid(), o.sigmoid()
        c = hold_ended(mask, step, f * c + i * j, c)
        squashed = c.tanh()
        h = hold_ended(mask, step, o * squashed, h)
        for kind, value in zip(kinds, (h, h, c, i, j, f, o, squashed), strict=True):
            made[kind][step] = value
    made["y"] = cut(mask, made["y"])
    return tuple(made[kind].to(x.dtype) for kind in kinds)


def shift_states(states: torch.Tensor, first: torch.Tensor, direction: str) -> torch.Tensor:
    """Return the states as they were before each step."""
    if direction == "UNIDIRECTIONAL":
        return torch.cat([first.unsqueeze(0), states[:-1]])
    return torch.cat([states[1:], first.unsqueeze(0)])


def flat_product(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the product summed over time and batch."""
    return first.flatten(0, 1).t() @ second.flatten(0, 1)


@legacy_kernel("DynamicRNNGrad", source="graphengine:third_party/fwkacllib/inc/ops/rnn.h")
def dynamic_rnn_grad(
    x: torch.Tensor,
    w: torch.Tensor,
    b: torch.Tensor,
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
    mask: torch.Tensor | None = None,
    wci: torch.Tensor | None = None,
    wcf: torch.Tensor | None = None,
    wco: torch.Tensor | None = None,
    *,
    direction: str = "UNIDIRECTIONAL",
    use_peephole: bool = False,
    cell_clip: float = -1.0,
    num_proj: int = 0,
    gate_order: str = IJFO,
) -> Tensors:
    """Gradients of DynamicRNN: of w, b, x and the two initial states."""
    del b, y, wci, wcf, wco  # of peepholes, which are refused
    require_no_mask(mask)
    plain(cell_clip, use_peephole=use_peephole, num_proj=num_proj)
    hidden, valid = w.shape[1] // 4, sequence_mask(seq_length, x)
    gates = [widen(each) for each in (i, j, f, o)]
    squashed, weight = widen(tanhct), widen(w)
    h_before = shift_states(widen(h), state(init_h, x, hidden), direction)
    c_before = shift_states(widen(c), state(init_c, x, hidden), direction)
    next_h, next_c = state(dh, x, hidden), state(dc, x, hidden)
    from_y = cut(valid, widen(dy))
    by_gates = torch.empty(*x.shape[:2], 4 * hidden)
    for step in reversed([*steps(x, direction)]):
        into, candidate, forget, output = (each[step] for each in gates)
        by_h = from_y[step] + next_h
        by_c = by_h * output * (1 - squashed[step].square()) + next_c
        by_kind = {
            "i": by_c * candidate * into * (1 - into),
            "j": by_c * into * (1 - candidate.square()),
            "f": by_c * c_before[step] * forget * (1 - forget),
            "o": by_h * squashed[step] * output * (1 - output),
        }
        by_step = torch.cat([by_kind[gate] for gate in gate_order], -1)
        by_step = by_step if valid is None else by_step * valid[step]
        by_gates[step] = by_step
        next_h = hold_ended(valid, step, by_step @ weight[x.shape[2] :].t(), next_h)
        next_c = hold_ended(valid, step, by_c * forget, next_c)
    by_w = flat_product(torch.cat([widen(x), h_before], -1), by_gates)
    by_x = by_gates @ weight[: x.shape[2]].t()
    results = (by_w, by_gates.sum((0, 1)), by_x, next_h, next_c)
    return tuple(each.to(x.dtype) for each in results)


def gru_gates(values: torch.Tensor, order: str) -> Sequence[torch.Tensor]:
    """Split into reset, update and new gate."""
    parts = values.chunk(3, -1)
    return [parts[place] for place in gru_places(order)]


def gru_places(order: str) -> list[int]:
    """Return where reset, update and new gate stand."""
    require_one_of("gate_order", order, "rzh", "zrh")
    return [order.index(gate) for gate in "rzh"]


@legacy_kernel("DynamicGRUV2", source="graphengine:third_party/fwkacllib/inc/ops/rnn.h")
def dynamic_gru(
    x: torch.Tensor,
    weight_input: torch.Tensor,
    weight_hidden: torch.Tensor,
    bias_input: torch.Tensor | None = None,
    bias_hidden: torch.Tensor | None = None,
    seq_length: torch.Tensor | None = None,
    init_h: torch.Tensor | None = None,
    *,
    direction: str = "UNIDIRECTIONAL",
    cell_clip: float = -1.0,
    num_proj: int = 0,
    gate_order: str = "zrh",
    reset_after: bool = True,
) -> Tensors:
    """Answer results, states, and update, reset, new gate and the new gate's part of the state."""
    plain(cell_clip, num_proj=num_proj, reset_after=reset_after)
    hidden, mask = weight_hidden.shape[0], sequence_mask(seq_length, x)
    h = state(init_h, x, hidden)
    nothing = torch.zeros(())
    from_input = widen(x) @ widen(weight_input)
    from_input = from_input + (nothing if bias_input is None else widen(bias_input))
    bias, weight = nothing if bias_hidden is None else widen(bias_hidden), widen(weight_hidden)
    kinds = ("y", "h", "update", "reset", "new", "hidden_new")
    made = {kind: torch.empty(*x.shape[:2], hidden) for kind in kinds}
    for step in steps(x, direction):
        reset, update, new = gru_gates(from_input[step], gate_order)
        reset_h, update_h, hidden_new = gru_gates(h @ weight + bias, gate_order)
        reset, update = (reset + reset_h).sigmoid(), (update + update_h).sigmoid()
        new = (new + reset * hidden_new).tanh()
        h = hold_ended(mask, step, (1 - update) * new + update * h, h)
        for kind, value in zip(kinds, (h, h, update, reset, new, hidden_new), strict=True):
            made[kind][step] = value
    made["y"] = cut(mask, made["y"])
    return tuple(made[kind].to(x.dtype) for kind in kinds)


@legacy_kernel("DynamicGRUV2Grad", source="graphengine:third_party/fwkacllib/inc/ops/rnn.h")
def dynamic_gru_grad(
    x: torch.Tensor,
    weight_input: torch.Tensor,
    weight_hidden: torch.Tensor,
    y: torch.Tensor,
    init_h: torch.Tensor,
    h: torch.Tensor,
    dy: torch.Tensor,
    dh: torch.Tensor,
    update: torch.Tensor,
    reset: torch.Tensor,
    new: torch.Tensor,
    hidden_new: torch.Tensor,
    seq_length: torch.Tensor | None = None,
    mask: torch.Tensor | None = None,
    *,
    direction: str = "UNIDIRECTIONAL",
    cell_clip: float = -1.0,
    num_proj: int = 0,
    gate_order: str = "zrh",
    reset_after: bool = True,
) -> Tensors:
    """Gradients of DynamicGRUV2: of both weights, both biases, x and the initial state."""
    del y
    require_no_mask(mask)
    plain(cell_clip, num_proj=num_proj, reset_after=reset_after)
    hidden, valid = weight_hidden.shape[0], sequence_mask(seq_length, x)
    gates = [widen(each) for each in (reset, update, new, hidden_new)]
    h_before = shift_states(widen(h), state(init_h, x, hidden), direction)
    from_y, next_h = cut(valid, widen(dy)), state(dh, x, hidden)
    weight, places = widen(weight_hidden), gru_places(gate_order)
    by_input = torch.empty(*x.shape[:2], 3 * hidden)
    by_state = torch.empty_like(by_input)
    for step in reversed([*steps(x, direction)]):
        r, z, n, part = (each[step] for each in gates)
        by_h = from_y[step] + next_h
        by_z = by_h * (h_before[step] - n) * z * (1 - z)
        by_n = by_h * (1 - z) * (1 - n.square())
        by_r = by_n * part * r * (1 - r)
        for target, last in ((by_input, by_n), (by_state, by_n * r)):
            for place, value in zip(places, (by_r, by_z, last), strict=True):
                target[step].chunk(3, -1)[place].copy_(value)
        if valid is not None:
            by_input[step] *= valid[step]
            by_state[step] *= valid[step]
        next_h = hold_ended(valid, step, by_state[step] @ weight.t() + by_h * z, next_h)
    results = (
        flat_product(widen(x), by_input),
        flat_product(h_before, by_state),
        by_input.sum((0, 1)),
        by_state.sum((0, 1)),
        by_input @ widen(weight_input).t(),
        next_h,
    )
    return tuple(each.to(x.dtype) for each in results)

"""Rotary position embeddings: x * cos + rotate(x) * sin, computed in float32 for half precision."""

from __future__ import annotations

import torch

from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.table import kernel

HALF, INTERLEAVE, QUARTER, INTERLEAVE_HALF = range(4)
NAMES = {"half": HALF, "interleave": INTERLEAVE, "quarter": QUARTER}


def rotate_quarter(x: torch.Tensor, mode: int) -> torch.Tensor:
    """Turn each pair of the last axis by 90 degrees: (a, b) -> (-b, a)."""
    if mode == INTERLEAVE:
        pairs = torch.unflatten(x, -1, (-1, 2))
        return torch.stack([-pairs[..., 1], pairs[..., 0]], -1).flatten(-2)
    if mode == QUARTER:
        return torch.cat([rotate_quarter(part, HALF) for part in x.chunk(2, -1)], -1)
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], -1)


def halves(x: torch.Tensor) -> torch.Tensor:
    """Move the first of each two neighbours to the first half, the second to the second."""
    return torch.unflatten(x, -1, (-1, 2)).transpose(-1, -2).flatten(-2)


def neighbours(x: torch.Tensor) -> torch.Tensor:
    """Undo `halves`."""
    return torch.unflatten(x, -1, (2, -1)).transpose(-1, -2).flatten(-2)


def embed(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mode: int = HALF) -> torch.Tensor:
    """Return x with its pairs turned by the angles."""
    wide = widen(x)
    if mode == INTERLEAVE_HALF:
        wide, mode = halves(wide), HALF
    return (wide * widen(cos) + rotate_quarter(wide, mode) * widen(sin)).to(x.dtype)


def gradients(
    grad: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, x: torch.Tensor | None, mode: int
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """Return the gradients of `embed` by x, cos and sin."""
    wide = widen(grad)
    inner = HALF if mode == INTERLEAVE_HALF else mode
    by_x = wide * widen(cos) - rotate_quarter(wide * widen(sin), inner)
    if mode == INTERLEAVE_HALF:
        by_x = neighbours(by_x)
    if x is None:
        return by_x.to(grad.dtype), None, None
    taken = halves(widen(x)) if mode == INTERLEAVE_HALF else widen(x)
    by_cos = (wide * taken).sum_to_size(cos.shape)
    by_sin = (wide * rotate_quarter(taken, inner)).sum_to_size(sin.shape)
    return by_x.to(grad.dtype), by_cos.to(cos.dtype), by_sin.to(sin.dtype)


@kernel("RotaryMul", source="torch_npu:_op_plugin_docs.py:npu_rotary_mul")
def rotary_mul(x: torch.Tensor, r1: torch.Tensor, r2: torch.Tensor) -> torch.Tensor:
    """Answer x * r1 + rotate(x) * r2."""
    return embed(x, r1, r2)


@kernel(
    "RotaryMulGrad",
    source="ops-transformer:posembedding/rotary_position_embedding_grad/docs/aclnnRotaryPositionEmbeddingGrad.md",
)
def rotary_mul_grad(
    x: torch.Tensor,
    r1: torch.Tensor,
    r2: torch.Tensor,
    dy: torch.Tensor,
    *,
    need_backward: bool = True,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of RotaryMul; those of r1 and r2 are zeros if they are not needed."""
    by_x, by_cos, by_sin = gradients(dy, r1, r2, x if need_backward else None, HALF)
    return (
        by_x,
        torch.zeros_like(r1) if by_cos is None else by_cos,
        torch.zeros_like(r2) if by_sin is None else by_sin,
    )


@kernel(
    "RotaryPositionEmbedding",
    source="ops-transformer:posembedding/rotary_position_embedding/op_graph/rotary_position_embedding_proto.h",
)
def rotary_position_embedding(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    rotate: torch.Tensor | None = None,
    *,
    mode: int = 0,
) -> torch.Tensor:
    """Answer x * cos + rotate(x) * sin; a matrix takes the place of the mode."""
    if rotate is None:
        return embed(x, cos, sin, mode)
    wide = widen(x)
    return (wide * widen(cos) + wide @ widen(rotate) * widen(sin)).to(x.dtype)


@kernel(
    "RotaryPositionEmbeddingGrad",
    source="ops-transformer:posembedding/rotary_position_embedding_grad/op_graph/rotary_position_embedding_grad_proto.h",
)
def rotary_position_embedding_grad(
    dy: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    x: torch.Tensor | None = None,
    *,
    mode: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of RotaryPositionEmbedding; zeros for cos and sin if there is no x."""
    by_x, by_cos, by_sin = gradients(dy, cos, sin, x, mode)
    return (
        by_x,
        torch.zeros_like(cos) if by_cos is None else by_cos,
        torch.zeros_like(sin) if by_sin is None else by_sin,
    )


@kernel(
    "ApplyRotaryPosEmb",
    source="ops-transformer:posembedding/apply_rotary_pos_emb/op_graph/apply_rotary_pos_emb_proto.h",
)
def apply_rotary_pos_emb(
    query: torch.Tensor,
    key: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    *,
    layout: int = 1,
    rotary_mode: str = "half",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Embed query and key where they lie; the shapes of cos and sin say the layout."""
    del layout
    mode = NAMES[rotary_mode]
    return (
        query.copy_(embed(query, cos, sin, mode)),
        key.copy_(embed(key, cos, sin, mode)),
    )


@kernel(
    "InterleaveRope",
    source="ops-transformer:posembedding/interleave_rope/op_graph/interleave_rope_proto.h",
)
def interleave_rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Move neighbours into halves, then embed."""
    return embed(x, cos, sin, INTERLEAVE_HALF)

"""Linear algebra, distances and norms."""

from __future__ import annotations

from typing import cast

import torch

from opwright.graph_engine.graph.model import Node
from opwright.graph_engine.kernels.precision import widen
from opwright.graph_engine.legacy.kernels.table import legacy_kernel

aten = torch.ops.aten

Two = tuple[torch.Tensor, torch.Tensor]
Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]

NO_DIM = -65530  # the prototype's default
INFINITE = 2**31 - 1  # what torch_npu passes for the norms of largest and smallest


@legacy_kernel("Cross", source="ops-math:math/cross/op_graph/cross_proto.h")
def cross(x1: torch.Tensor, x2: torch.Tensor, *, dim: int = NO_DIM) -> torch.Tensor:
    """Vector product along an axis of three elements."""
    return torch.cross(x1, x2, dim=x1.shape.index(3) if dim == NO_DIM else dim)


@legacy_kernel("Dot", source="ops-math:math/dot/op_graph/dot_proto.h")
def dot(input_x: torch.Tensor, input_y: torch.Tensor) -> torch.Tensor:
    """Scalar product of two vectors."""
    if input_x.dtype in (torch.float16, torch.bfloat16):
        return torch.dot(input_x.float(), input_y.float()).to(input_x.dtype)
    return torch.dot(input_x, input_y)


@legacy_kernel("Diag", source="ops-math:conversion/diag/op_graph/diag_proto.h")
@legacy_kernel("DiagPart", source="ops-math:math/diag_part/op_graph/diag_part_proto.h")
def diag(x: torch.Tensor, *, diagonal: int = 0) -> torch.Tensor:
    """Matrix with a diagonal, or the diagonal of a matrix."""
    return torch.diag(x, diagonal)


@legacy_kernel("Trace", source="ops-math:math/trace/op_graph/trace_proto.h")
def trace(x: torch.Tensor) -> torch.Tensor:
    """Sum of the diagonal."""
    return x.diagonal().sum()


@legacy_kernel("FillDiagonal", source="op-plugin:op_plugin/ops/aclops/FillDiagonalKernelNpu.cpp")
def fill_diagonal(x: torch.Tensor, *, fill_value: float, wrap: bool = False) -> torch.Tensor:
    """Write one value on the diagonal."""
    value = fill_value if x.is_floating_point() else int(fill_value)
    return x.clone().fill_diagonal_(value, wrap=wrap)


@legacy_kernel(
    "LogMatrixDeterminant", source="graphengine:third_party/fwkacllib/inc/ops/linalg_ops.h"
)
def log_matrix_determinant(x: torch.Tensor) -> Two:
    """Sign and logarithm of determinants."""
    sign, log = torch.linalg.slogdet(x)
    return sign, log


@legacy_kernel("MatrixInverse", source="graphengine:third_party/fwkacllib/inc/ops/linalg_ops.h")
def matrix_inverse(x: torch.Tensor, *, adjoint: bool = False) -> torch.Tensor:
    """Inverse of matrices."""
    return cast("torch.Tensor", torch.linalg.inv(x.mH if adjoint else x))


@legacy_kernel(
    "MatrixTriangularSolve", source="graphengine:third_party/fwkacllib/inc/ops/linalg_ops.h"
)
def matrix_triangular_solve(
    matrix: torch.Tensor, rhs: torch.Tensor, *, lower: bool = True, adjoint: bool = False
) -> torch.Tensor:
    """Solve for triangular matrices."""
    triangle = matrix.tril() if lower else matrix.triu()
    upper = lower if adjoint else not lower
    solved = torch.linalg.solve_triangular(triangle.mH if adjoint else triangle, rhs, upper=upper)
    return cast("torch.Tensor", solved)


@legacy_kernel("Qr", source="graphengine:third_party/fwkacllib/inc/ops/linalg_ops.h")
def qr(x: torch.Tensor, *, full_matrices: bool = False) -> Two:
    """Orthogonal and triangular factor."""
    q, r = torch.linalg.qr(x, "complete" if full_matrices else "reduced")
    return q, r


@legacy_kernel("Svd", source="graphengine:third_party/fwkacllib/inc/ops/linalg_ops.h")
def svd(
    x: torch.Tensor, *, compute_uv: bool = True, full_matrices: bool = False, node: Node
) -> Three:
    """Singular values, and the vectors of both sides in columns."""
    if not compute_uv:
        u, v = (torch.zeros(spec.shape or (), dtype=x.dtype) for spec in node.outputs[1:3])
        return torch.linalg.svdvals(x), u, v
    u, sigma, vh = torch.linalg.svd(x, full_matrices=full_matrices)
    return sigma, u, vh.transpose(-1, -2).conj().resolve_conj().contiguous()


def distances(x1: torch.Tensor, x2: torch.Tensor, p: float) -> torch.Tensor:
    """Return norms of differences over the last axis; p = -1 stands for the largest."""
    order = torch.inf if p < 0 else p
    norm = torch.linalg.vector_norm(widen(x1) - widen(x2), order, -1)
    return cast("torch.Tensor", norm.to(x1.dtype))


@legacy_kernel("Cdist", source="ops-math:math/cdist/op_graph/cdist_proto.h")
def cdist(x1: torch.Tensor, x2: torch.Tensor, *, p: float = 2.0) -> torch.Tensor:
    """Distances of rows; torch_npu spreads them over each other before."""
    return distances(x1, x2, p)


@legacy_kernel("CdistGrad", source="op-plugin:op_plugin/ops/aclops/CdistBackwardKernelNpu.cpp")
def cdist_grad(
    grad: torch.Tensor,
    x1: torch.Tensor,
    x2: torch.Tensor,
    cdist: torch.Tensor,
    *,
    p: float = 2.0,
    node: Node,
) -> torch.Tensor:
    """Gradient of Cdist by the first operand; its columns are those of the second.

    x1 and x2 [..., P, R, M], grad and cdist the same or [..., P, R]. Where p = -1 stands for the
    largest difference, one counts that is not below the distance, which half precision has rounded
    (inferred from op-plugin's test).
    """
    difference, outer, distance = widen(x1) - widen(x2), widen(grad), widen(cdist)
    if outer.dim() < difference.dim():
        outer, distance = outer.unsqueeze(-1), distance.unsqueeze(-1)
    size = difference.abs()
    if p < 0:
        share = (size >= distance).to(size.dtype)
    else:
        share = (size / distance) ** (p - 1) if p else torch.zeros_like(size)
    share = torch.where((distance == 0) | (size == 0), 0.0, share * difference.sign())
    found = outer * share
    shape = node.outputs[0].shape or ()
    return found.sum_to_size(shape) if found.dim() == len(shape) else found.sum(-2)


@legacy_kernel("Pdist", source="ops-math:math/pdist/docs/aclnnPdist.md")
def pdist(x: torch.Tensor, *, p: float = 2.0) -> torch.Tensor:
    """Distances of all pairs of rows."""
    return cast("torch.Tensor", aten._pdist_forward(x, p))  # noqa: SLF001 - its name


@legacy_kernel("LpNormReduceV2", source="op-plugin:op_plugin/ops/aclops/NormKernelNpu.cpp")
def lp_norm_reduce_v2(
    x: torch.Tensor,
    *,
    p: float = 2.0,
    axes: list[int] = (),  # type: ignore[assignment]
    keepdim: bool = False,
    epsilon: float = 1e-12,
) -> torch.Tensor:
    """Sum of powers, of which LpNormUpdateV2 takes the root; or the largest or smallest size."""
    del epsilon
    dims = list(axes) or list(range(x.dim()))
    size = x.abs()
    if p >= INFINITE:
        return size.amax(dims, keepdim=keepdim)
    if p <= -INFINITE:
        return size.amin(dims, keepdim=keepdim)
    if p == 0:
        return (x != 0).to(x.dtype).sum(dims, keepdim=keepdim)
    return size.pow(p).sum(dims, keepdim=keepdim)


@legacy_kernel(
    "LpNormUpdateV2", source="ops-nn:norm/lp_norm_update_v2/op_graph/lp_norm_update_v2_proto.h"
)
def lp_norm_update_v2(x: torch.Tensor, *, p: float = 2.0, epsilon: float = 1e-12) -> torch.Tensor:
    """Root of LpNormReduceV2, not below epsilon."""
    root = x if p == 0 or abs(p) >= INFINITE else x.pow(1 / p)
    return root.clamp_min(epsilon)


@legacy_kernel("Renorm", source="ops-nn:norm/renorm/docs/aclnnRenorm&aclnnInplaceRenorm.md")
def renorm(x: torch.Tensor, *, p: float, dim: int, maxnorm: float) -> torch.Tensor:
    """Answer by what each slice along an axis has to be multiplied."""
    others = [axis for axis in range(x.dim()) if axis != dim % x.dim()]
    norm = torch.linalg.vector_norm(widen(x), p, others, keepdim=True)
    return torch.where(norm > maxnorm, maxnorm / (norm + 1e-7), torch.ones_like(norm))

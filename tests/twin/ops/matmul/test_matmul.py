"""Products of matrices and linear algebra: native/opapi/ops/matmul/matmul.cpp, linalg.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.aclnn_calls import Scalar, call
from tests.twin.ops.compare import (
    FLOATS,
    agree,
    check,
    check_in_place,
    check_out,
    rejects,
    run_on_npu,
)
from tests.twin.ops.samples import some

SHAPES = (
    ((3, 4), (4, 5)),
    ((4,), (4,)),
    ((3, 4), (4,)),
    ((4,), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((6, 1, 3, 4), (2, 4, 5)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((2, 3, 4), (2, 4, 0)),
)
WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32, torch.int64, torch.complex64], ids=str)
@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...], dtype: torch.dtype) -> None:
    a, b = some(left, dtype), some(right, dtype)
    check(torch.matmul, a, b)
    check_out(torch.matmul, a, b)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_layouts_of_matrices(dtype: torch.dtype) -> None:
    a, b = some((4, 3), dtype).t(), some((4, 10), dtype)[:, ::2]
    check(torch.mm, a, b)
    check_out(torch.mm, a, b)
    check(torch.bmm, some((3, 2, 4), dtype).transpose(0, 1), some((2, 5, 4), dtype).transpose(1, 2))
    check(torch.bmm, some((1, 3, 4), dtype).expand(2, 3, 4), some((2, 4, 5), dtype))
    check(
        torch.matmul,
        some((2, 4, 3, 8), dtype)[..., ::2],
        some((4, 5, 2, 4), dtype).permute(2, 0, 3, 1),
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("rows", [1, 3])
def test_permuted_products(rows: int, dtype: torch.dtype) -> None:
    """Of [rows, batches, K]: what compilers make of transpose, bmm, transpose."""
    x, weight = some((rows, 4, 16), dtype), some((4, 16, 32), dtype)
    product = torch.bmm(x.transpose(0, 1), weight)
    permuted = torch_npu.npu_transpose_batchmatmul
    agree(run_on_npu(permuted, x, weight, perm_x1=[1, 0, 2]), product.transpose(0, 1))
    agree(run_on_npu(permuted, x.transpose(0, 1), weight), product.transpose(0, 1))
    halves = product.transpose(0, 1).flatten(1).chunk(2, 1)
    cut = run_on_npu(permuted, x, weight, perm_x1=[1, 0, 2], batch_split_factor=2)
    agree(cut, torch.stack(halves))


def test_permuted_products_are_not_quantised() -> None:
    x, weight = some((4, 3, 16), torch.float16), some((4, 16, 16), torch.float16)
    scale = torch.ones(64, dtype=torch.int64)
    rejects("'scale'", torch_npu.npu_transpose_batchmatmul, x, weight, scale=scale)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_added_products(dtype: torch.dtype) -> None:
    for bias in (some((3, 5), dtype), some((5,), dtype), some((3, 1), dtype), some((), dtype)):
        check(torch.addmm, bias, some((3, 4), dtype), some((4, 5), dtype), beta=0.5, alpha=2)
        check(torch.addbmm, bias, some((2, 3, 4), dtype), some((2, 4, 5), dtype), beta=0.5, alpha=2)
        check(
            torch.baddbmm, bias, some((2, 3, 4), dtype), some((2, 4, 5), dtype), beta=0.5, alpha=2
        )
    check(torch.addmv, some((3,), dtype), some((3, 4), dtype), some((4,), dtype), beta=0.5, alpha=3)
    check(torch.addr, some((3, 4), dtype), some((3,), dtype), some((4,), dtype), beta=0.5, alpha=3)
    check(torch.mv, some((4, 3), dtype).t(), some((8,), dtype)[::2])
    check(torch.dot, some((4,), dtype), some((8,), dtype)[::2])
    nan = torch.full((3, 5), torch.nan, dtype=dtype)
    check(torch.addmm, nan, some((3, 4), dtype), some((4, 5), dtype), beta=0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_added_in_place(dtype: torch.dtype) -> None:
    out, a, b = some((3, 10), dtype)[:, ::2], some((3, 4), dtype), some((4, 5), dtype)
    batches = some((2, 3, 4), dtype), some((2, 4, 5), dtype)
    check_in_place(torch.Tensor.addmm_, out, a, b, beta=0.5, alpha=2)
    check_in_place(torch.Tensor.addbmm_, out, *batches, beta=0.5, alpha=2)
    check_in_place(torch.Tensor.baddbmm_, some((2, 3, 5), dtype), *batches, beta=0.5, alpha=2)
    check_in_place(torch.Tensor.addmv_, some((3,), dtype), a, some((4,), dtype), beta=0.5, alpha=2)
    check_in_place(torch.Tensor.addr_, out, some((3,), dtype), some((5,), dtype), beta=0.5, alpha=2)


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_wider_output(dtype: torch.dtype) -> None:
    a, b = some((3, 4), dtype), some((4, 5), dtype)
    actual = torch.mm(a.to("npu"), b.to("npu"), out_dtype=torch.float32).cpu()
    torch.testing.assert_close(actual, a.float() @ b.float())


def test_weight_in_blocks_has_the_same_mathematics() -> None:
    a, b, bias = some((3, 4), torch.float32), some((4, 5), torch.float32), some((5,), torch.float32)
    one = Scalar(1)
    out = torch.empty(3, 5).to("npu")
    call("aclnnMatmulWeightNz", a.to("npu"), b.to("npu"), out, 0)
    torch.testing.assert_close(out.cpu(), a @ b)
    call("aclnnAddmmWeightNz", bias.to("npu"), a.to("npu"), b.to("npu"), one, one, out, 0)
    torch.testing.assert_close(out.cpu(), bias + a @ b)
    batch = torch.empty(2, 3, 5).to("npu")
    call(
        "aclnnBatchMatMulWeightNz",
        a.expand(2, 3, 4).to("npu"),
        b.expand(2, 4, 5).to("npu"),
        batch,
        0,
    )
    torch.testing.assert_close(batch.cpu(), (a @ b).expand(2, 3, 5))


def test_one_matrix_for_all_of_a_batch() -> None:
    a, b, out = (
        some((1, 3, 4), torch.float32),
        some((2, 4, 5), torch.float32),
        torch.empty(2, 3, 5).to("npu"),
    )
    call("aclnnBatchMatMul", a.to("npu"), b.to("npu"), out, 0)
    torch.testing.assert_close(out.cpu(), a @ b)


def test_gradients_of_a_linear_layer() -> None:
    def gradients(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> object:
        leaves = [tensor.detach().requires_grad_() for tensor in (x, weight, bias)]
        return torch.autograd.grad(functional.linear(*leaves).square().sum(), leaves)

    shapes = ((2, 5, 4), (3, 4), (3,))
    check(gradients, *(some(shape, torch.float32) for shape in shapes))


def positive_definite(dtype: torch.dtype) -> torch.Tensor:
    root = some((2, 4, 4), torch.float64)
    return (root @ root.mT + 4 * torch.eye(4)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_decompositions(dtype: torch.dtype) -> None:
    matrix = positive_definite(dtype)
    check(torch.linalg.cholesky, matrix)
    check(torch.linalg.cholesky, matrix.mT, upper=True)
    check(torch.inverse, matrix)
    check(torch.slogdet, matrix)
    for mode in ("reduced", "complete", "r"):
        check(torch.linalg.qr, some((5, 3), dtype), mode)
        check(torch.linalg.qr, some((2, 3, 5), dtype), mode)


@pytest.mark.parametrize("full", [False, True])
def test_singular_values(full: bool) -> None:  # noqa: FBT001
    for shape in ((5, 3), (2, 3, 5)):
        check(torch.linalg.svd, some(shape, torch.float32), full_matrices=full)
    check(torch.linalg.svdvals, some((4, 3), torch.float32))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_triangular_systems(upper: bool, left: bool) -> None:  # noqa: FBT001
    a = positive_definite(torch.float32)
    check(torch.linalg.solve_triangular, a, some((2, 4, 4), torch.float32), upper=upper, left=left)
    check(
        torch.linalg.solve_triangular,
        *(a[0], some((4, 4), torch.float32)),
        upper=upper,
        left=left,
        unitriangular=True,
    )


@pytest.mark.parametrize("transpose", [False, True])
def test_transposed_triangular_system(transpose: bool) -> None:  # noqa: FBT001
    a, b = positive_definite(torch.float32)[0].triu(), some((4, 2), torch.float32)
    x, m = torch.empty(4, 2).to("npu"), torch.empty(4, 4).to("npu")
    call("aclnnTriangularSolve", b.to("npu"), a.to("npu"), True, transpose, False, x, m)  # noqa: FBT003
    torch.testing.assert_close((a.mT if transpose else a) @ x.cpu(), b)
    torch.testing.assert_close(m.cpu(), a)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, torch.inf])
def test_distances(p: float) -> None:
    check(torch.cdist, some((2, 3, 4), torch.float32), some((2, 5, 4), torch.float32), p)
    a, b = some((3, 4), torch.float16), some((5, 4), torch.float16)  # no CPU kernel for these
    actual = torch.cdist(a.to("npu"), b.to("npu"), p).cpu()
    torch.testing.assert_close(actual, torch.cdist(a.float(), b.float(), p).half())
    check(functional.pdist, some((5, 4), torch.float32), p)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, torch.inf])
def test_gradient_of_distances(p: float) -> None:
    def gradient(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        distances = torch.cdist(x, y, p)
        return torch.autograd.grad(distances, x, torch.ones_like(distances))[0]

    x, y = some((3, 4), torch.float32), some((5, 4), torch.float32, 6, 9)
    check(gradient, x, y)
    check(gradient, x, torch.cat([y, x[:1]]))  # a distance of nothing
    check(gradient, torch.stack([x, x + 1]), torch.stack([y, y - 1]))


def test_gradient_of_rounded_distances() -> None:
    """The largest difference has no gradient where rounding has made the distance larger."""
    x, y = some((8, 16), torch.float16), some((5, 16), torch.float16, 6, 9)
    largest = (x.float().unsqueeze(1) - y.float()).abs()
    rounded = torch.cdist(x.float(), y.float(), torch.inf).half().float().unsqueeze(-1)
    sign = (x.float().unsqueeze(1) - y.float()).sign()
    expected = ((largest >= rounded) * sign).sum(1)
    on_npu = x.to("npu").requires_grad_()
    distances = torch.cdist(on_npu, y.to("npu"), torch.inf)
    (actual,) = torch.autograd.grad(distances, on_npu, torch.ones_like(distances))
    assert 0 < (largest >= rounded).any(2).sum() < 40
    torch.testing.assert_close(actual.cpu().float(), expected)


def test_cross_product() -> None:
    check(torch.linalg.cross, some((4, 3), torch.float32), some((4, 3), torch.float32).flip(0))
    check(torch.linalg.cross, some((3, 4), torch.float32), some((3, 1), torch.float32), dim=0)


def test_renorm_in_place() -> None:
    check_in_place(torch.Tensor.renorm_, some((3, 8), torch.float32)[:, ::2], 2, 0, 1.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("dim", [0, -1])
def test_renorm_by_the_number_of_elements_that_are_not_zero(dtype: torch.dtype, dim: int) -> None:
    x = torch.tensor([[1.0, 0, -2, 0], [0, 0, 4, 0], [8, 2, 6, 1]], dtype=dtype)
    counts = (x != 0).sum(1 if dim == 0 else 0, keepdim=True)
    expected = torch.where(counts > 1, x * (1.5 / counts), x).to(dtype)
    actual = run_on_npu(lambda y: torch.renorm(y, 0, dim, 1.5), x)
    torch.testing.assert_close(actual.cpu(), expected)  # type: ignore[attr-defined]
    actual = run_on_npu(lambda y: y.renorm_(0, dim, 1.5), x)
    torch.testing.assert_close(actual.cpu(), expected)  # type: ignore[attr-defined]
    rejects("aclnnRenorm", torch.renorm, x, -1, dim, 1.5)


def test_renorm_refuses_one_dimension() -> None:
    for p in (0, 2):
        rejects("aclnnRenorm", torch.renorm, torch.tensor([3.0, 4, 0, 5]), p, 0, 1.0)


def test_matmul_refuses_wrong_calls() -> None:
    rejects("aclnnLinalgCholesky", torch.linalg.cholesky, -torch.eye(3))
    rejects("aclnnMv", torch.mv, some((3, 4), torch.float32), some((5,), torch.float32))
    complex_vector = some((3,), torch.complex64)
    rejects("aclnnDot", torch.vdot, complex_vector, complex_vector)
    rejects("aclnnInverse", torch.inverse, torch.zeros(3, 3))

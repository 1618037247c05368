"""Reading and writing by index or mask: native/opapi/ops/shape/indexing.cpp, sparse.cpp."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import Scalar, call, launch, prepare
from tests.twin.ops.compare import (
    FLOATS,
    INTEGERS,
    agree,
    check,
    check_in_place,
    check_out,
    layouts,
    rejects,
    run_on_npu,
)
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import positions, some

if TYPE_CHECKING:
    from collections.abc import Callable

    Index = torch.Tensor | tuple[Any, ...]

DTYPES = (*FLOATS, *INTEGERS, torch.bool, torch.complex64)
NUMBERS = (*FLOATS, torch.int64, torch.int32)
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def put(tensor: torch.Tensor, index: Index, value: torch.Tensor | int) -> torch.Tensor:
    tensor[index] = value
    return tensor


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reading(dtype: torch.dtype) -> None:
    tensor = some((4, 10, 6), dtype)[:, ::2].transpose(0, 2)  # 6, 5, 4
    for index in (
        positions((3,), 4),
        positions((), 4),
        positions((0,), 4),
        positions((3,), 4, torch.int32),
    ):
        check(torch.index_select, tensor, -1, index)
    check(torch.gather, tensor, 1, positions((6, 2, 3), 5))
    check_out(torch.gather, tensor, 0, positions((2, 5, 4), 6))
    check(torch.take, tensor, positions((2, 7), tensor.numel()))
    check(torch.take_along_dim, tensor, positions((6, 5, 1), 4), 2)
    check(torch.masked_select, tensor, some((5, 4), torch.bool))
    check(torch.nonzero, tensor)
    check(torch.nonzero, tensor, as_tuple=True)


INDICES: tuple[Index, ...] = (
    positions((3,), 4),
    (positions((3,), 4), positions((3,), 5)),
    (positions((3, 1), 4), slice(None), positions((2,), 6)),
    (slice(None), positions((2, 2), 5)),
    (None, positions((3,), 4, torch.int32)),
    (Ellipsis, positions((3,), 6)),
    (slice(1, 3), positions((0,), 5)),
    positions((0,), 4),
    some((4,), torch.bool),
    some((4, 5), torch.bool),
    (slice(None), some((5,), torch.bool), 2),
    torch.zeros(4, dtype=torch.bool),
    (positions((), 4), positions((3,), 5)),
)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.int64, torch.int32, torch.bool], ids=str
)
@pytest.mark.parametrize("index", INDICES, ids=range(len(INDICES)))
def test_advanced_indexing(index: Index, dtype: torch.dtype) -> None:
    tensor = some((4, 5, 6), dtype)
    check(lambda tensor, index: tensor[index], tensor, index)
    check(
        lambda tensor, index: tensor[index],
        some((5, 6, 8), dtype)[..., ::2].permute(2, 0, 1),
        index,
    )
    values = some(tuple(tensor[index].shape), dtype)
    check(lambda tensor, index, value: put(tensor.clone(), index, value), tensor, index, values)
    check(lambda tensor, index: put(tensor.clone(), index, 1), tensor, index)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_index_put(dtype: torch.dtype) -> None:
    indices, values = (positions((9,), 4), positions((9,), 5)), some((9,), dtype)
    check_in_place(
        torch.Tensor.index_put_, some((4, 10), dtype)[:, ::2], indices, values, accumulate=True
    )
    for op in (torch.Tensor.put_, torch.Tensor.put):
        check(op, some((4, 5), dtype), positions((9,), 20), values, accumulate=True)
    check_in_place(
        torch.Tensor.put_, some((10, 4), dtype)[::2].t(), torch.tensor([3, 0, 7]), values[:3]
    )


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_writing_along_a_dim(dtype: torch.dtype) -> None:
    source = some((4, 3), dtype, 1, 3)
    index = torch.tensor([4, 0, 2])
    for tensor in (some((4, 5), dtype), some((5, 8), dtype)[:, ::2].t()):
        for places in (index, index.int()):
            check(torch.index_add, tensor, 1, places, source, alpha=2)
            check(torch.index_copy, tensor, 1, places.long(), source)
            check(torch.index_fill, tensor, 1, places.long(), 3)
        check(torch.index_fill, tensor, 1, index, torch.tensor(3, dtype=dtype))
        check(torch.index_add, tensor, 1, torch.zeros(3, dtype=torch.int64), source)
        check_in_place(torch.Tensor.index_add_, tensor, 1, index, source)
        check_in_place(torch.Tensor.index_copy_, tensor, 1, index, source)
        check_in_place(torch.Tensor.index_fill_, tensor, 1, index, 3)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_scatter(dtype: torch.dtype) -> None:
    index, source = positions((3, 5), 4), some((3, 5), dtype, 1, 3)
    unique = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 1]])
    for tensor in (some((4, 5), dtype), some((5, 8), dtype)[:, ::2].t()):
        check(torch.scatter, tensor, 0, unique, source[:2])
        check(torch.scatter, tensor, 0, index, 2)
        check_out(torch.scatter, tensor, 0, unique, source[:2])
        check(torch.scatter_add, tensor, 0, index, source)
        check_in_place(torch.Tensor.scatter_add_, tensor, 0, index, source)
        check_in_place(torch.Tensor.scatter_, tensor, 0, unique, source[:2])
        check_in_place(torch.Tensor.scatter_, tensor, 0, index, 2)
        for reduction in ("add", "multiply"):
            check(torch.scatter, tensor, 0, index, 2, reduce=reduction)


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter_reduce(reduction: str, include_self: bool) -> None:  # noqa: FBT001
    for dtype in (torch.float32, torch.float16, torch.int64):
        tensor, index, source = some((4, 5), dtype), positions((3, 5), 4), some((3, 5), dtype, 1, 3)
        check(torch.scatter_reduce, tensor, 0, index, source, reduction, include_self=include_self)
        check_out(
            torch.scatter_reduce, tensor, 0, index, source, reduction, include_self=include_self
        )
        check_in_place(
            torch.Tensor.scatter_reduce_,
            *(some((5, 8), dtype)[:, ::2].t(), 0, index, source, reduction),
            include_self=include_self,
        )


@pytest.mark.parametrize("code", range(6))
def test_codes_of_scatter(code: int) -> None:
    tensor, source, value = some((4, 3), torch.float32), some((2, 3), torch.float32, 1, 3), 2.0
    index = torch.tensor([[0, 1, 2], [1, 2, 3]])
    operations = (None, "sum", "prod", "amax", "amin", "mean")

    def expected(source: torch.Tensor) -> torch.Tensor:
        reduction = operations[code]
        if reduction is None:
            return tensor.scatter(0, index, source)
        return tensor.scatter_reduce(0, index, source, reduction)

    def run(function: str, *arguments: object) -> torch.Tensor:
        device = tensor.to("npu")
        call(f"aclnnInplace{function}", device, 0, index.to("npu"), *arguments)
        out = torch.empty(4, 3).to("npu")
        call(f"aclnn{function}", tensor.to("npu"), 0, index.to("npu"), *arguments, out)
        assert torch.equal(out.cpu(), device.cpu())
        return out.cpu()

    agree(run("ScatterReduce", source.to("npu"), code, True), expected(source))  # noqa: FBT003
    if code < len(("none", "add", "multiply")):
        agree(run("Scatter", source.to("npu"), code), expected(source))
        agree(run("ScatterValue", Scalar(value), code), expected(torch.full_like(source, value)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masks(dtype: torch.dtype) -> None:
    for tensor in layouts(lambda shape: some(shape, dtype)):
        mask = some(tuple(tensor.shape), torch.bool)
        check(torch.where, mask, tensor, tensor.flip(0) if tensor.dim() else tensor)
        check_out(torch.where, mask, tensor, tensor)
        check(torch.where, mask, tensor, 1)
        check(torch.masked_fill, tensor, mask, 1)
        check_in_place(torch.Tensor.masked_fill_, tensor, mask, 1)
        check_in_place(torch.Tensor.masked_fill_, tensor, mask, torch.tensor(1, dtype=dtype))
        check_in_place(torch.Tensor.masked_scatter_, tensor, mask, some((tensor.numel(),), dtype))
        check(torch.masked_select, tensor, mask)


def test_where_promotes_and_broadcasts() -> None:
    mask = some((3, 1), torch.bool)
    check(torch.where, mask, some((4,), torch.int32), some((3, 4), torch.float16))
    check(torch.where, mask, some((), torch.float32), some((3, 4), torch.float16))
    check(torch.where, mask, 2.5, some((3, 4), torch.float16))


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32, torch.bool], ids=str)
def test_repeat_interleave(dtype: torch.dtype) -> None:
    tensor = some((2, 3, 8), dtype)[..., ::2]
    for places in (
        torch.tensor([1, 0, 2]),
        torch.tensor([2]),
        torch.tensor(3),
        torch.tensor([1, 0, 2]).int(),
    ):
        check(torch.repeat_interleave, tensor, places, dim=1)
    check(torch.repeat_interleave, tensor, torch.arange(24))
    check(torch.repeat_interleave, tensor, torch.tensor([1, 2, 3]), dim=-2, output_size=6)
    check(torch.repeat_interleave, tensor, 3)
    for dim in (0, 1, -1):
        check(torch.repeat_interleave, tensor, 2, dim=dim)
    check(torch.repeat_interleave, tensor, 0, dim=1)
    check(torch.repeat_interleave, torch.tensor([3, 0, 1]))
    check(torch.repeat_interleave, torch.tensor([3, 0, 1], dtype=torch.int32))


def test_gradients() -> None:
    def gradient(
        op: Callable[[torch.Tensor], torch.Tensor],
    ) -> Callable[[torch.Tensor], torch.Tensor]:
        def run(tensor: torch.Tensor) -> torch.Tensor:
            tensor = tensor.detach().requires_grad_()
            return torch.autograd.grad(op(tensor).square().sum(), tensor)[0]

        return run

    tensor = some((4, 5), torch.float32)
    for op in (
        lambda x: torch.repeat_interleave(x, torch.tensor([2, 0, 1, 1, 3], device=x.device), dim=1),
        lambda x: x[torch.tensor([0, 0, 2], device=x.device)],
        lambda x: torch.gather(x, 1, torch.tensor([[1, 1], [2, 0]], device=x.device)),
        lambda x: torch.index_select(x, 0, torch.tensor([3, 3, 1], device=x.device)),
        lambda x: x.masked_fill(x > 0, 2.0),
        lambda x: torch.sort(x, dim=0)[0] * torch.arange(20, device=x.device).reshape(4, 5),
        lambda x: torch.cumsum(x, 1),
        lambda x: torch.where(x > 0, x, -x * 3),
    ):
        check(gradient(op), tensor)


def test_index_in_an_array() -> None:
    tensor = some((4, 5), torch.float32)
    expected = tensor.index_fill(1, torch.tensor([4, 0]), 3)
    out, device = torch.empty(4, 5).to("npu"), tensor.to("npu")
    call("aclnnIndexFillTensor", device, 1, [4, 0], Scalar(3), out)
    call("aclnnInplaceIndexFillTensor", device, 1, [4, 0], Scalar(3))
    assert torch.equal(out.cpu(), expected)
    assert torch.equal(device.cpu(), expected)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_coalesce(dtype: torch.dtype) -> None:
    indices, values = torch.tensor([[0, 2, 0, 2, 1], [1, 0, 1, 0, 3]]), some((5, 2), dtype)
    expected = torch.sparse_coo_tensor(indices, values, (3, 4, 2)).coalesce()
    actual = torch.sparse_coo_tensor(indices.to("npu"), values.to("npu"), (3, 4, 2)).coalesce()
    assert torch.equal(actual.indices().cpu(), expected.indices())
    torch.testing.assert_close(actual.values().cpu(), expected.values(), rtol=1e-2, atol=1e-2)


def test_indexing_refuses_wrong_calls() -> None:
    tensor = some((3, 4), torch.float32)
    rejects("aclnnIndexSelect", torch.index_select, tensor, 0, torch.tensor([3]))
    rejects("aclnnGather", torch.gather, tensor, 0, torch.tensor([[7]]))
    rejects("aclnnIndex", lambda x, i: x[i], tensor, torch.tensor([5]))
    rejects("aclnnInplaceScatterValue", torch.Tensor.scatter_, tensor, 0, torch.tensor([[5]]), 1.0)
    rejects(
        "aclnnInplaceMaskedScatter", torch.Tensor.masked_scatter_, tensor, tensor > -9, tensor[0]
    )
    room, mask = torch.empty(3), torch.ones(3, 4, dtype=torch.bool)
    rejects("aclnnMaskedSelect", partial(call, "aclnnMaskedSelect"), tensor, mask, room)
    put_value = partial(call, "aclnnInplaceScatterValue")
    rejects("reduce is 7", put_value, tensor, 0, torch.tensor([[1]]), Scalar(1.0), 7)


def gather_sparse_index(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = (
        torch_npu.npu_gather_sparse_index(x, index) if x.device.type == "npu" else x[index]
    )
    return result


def test_gather_sparse_index() -> None:
    for shape in ((5,), (2, 3)):
        check_gradients(gather_sparse_index, leaf((7, 4)), positions(shape, 7))
    for dtype in (torch.float16, torch.int64, torch.bool):
        x, index = some((7, 4, 2), dtype), positions((3, 2), 7, torch.int32)
        agree(run_on_npu(gather_sparse_index, x, index), x[index.long()])


def test_index_add() -> None:
    x, source, index = some((5, 4), torch.float32), some((3, 4), torch.float32), positions((3,), 5)
    op = torch.ops.npu._npu_index_add  # noqa: SLF001
    agree(run_on_npu(op, x, index.int(), source), x.index_add(0, index, source))
    rejects("does not look at it", op, x, index, source, alpha=2)


def test_bytes_select_too() -> None:
    """A function of C programs, whose task writes the shape into the descriptor of the output."""
    numbers, mask = torch.tensor([5.0, 6.0]).to("npu"), torch.tensor([0, 3]).byte().to("npu")
    selected = torch.zeros(2).to("npu")
    prepared = prepare("aclnnMaskedSelect", numbers, mask, selected)
    launch("aclnnMaskedSelect", replace(prepared, tensors=[]))
    assert selected.tolist() == [6, 0]

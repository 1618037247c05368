"""Joining, padding, repeating, rearranging: native/opapi/ops/shape/shaping.cpp."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch.nn import functional

from tests.twin.aclnn_calls import Scalar, call
from tests.twin.ops.compare import (
    FLOATS,
    INTEGERS,
    agree,
    check,
    check_out,
    layouts,
    rejects,
    run_on_npu,
)
from tests.twin.ops.samples import some

chunk_cat = torch._chunk_cat  # noqa: SLF001 - fully sharded training calls it

DTYPES = (*FLOATS, *INTEGERS, torch.bool, torch.complex64)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_join_and_split(dtype: torch.dtype) -> None:
    parts = [
        some((4, 3), dtype),
        some((5, 4), dtype).t(),
        some((4, 0), dtype),
        some((4, 8), dtype)[:, ::2],
    ]
    for op in (torch.cat, torch.hstack):
        check(op, parts) if op is torch.hstack else check(op, parts, 1)
    check_out(torch.cat, parts, 1)
    check(torch.cat, [some((0,), dtype), parts[0]], 0)
    same = [some((2, 3), dtype), some((3, 2), dtype).t(), some((2, 6), dtype)[:, ::2]]
    for dim in (0, 1, 2, -1):
        check(torch.stack, same, dim)
    check_out(torch.stack, same, 1)
    check(torch.split_with_sizes_copy, parts[3], [1, 3], 1)


def test_join_of_dtypes() -> None:
    check(torch.cat, [some((2,), torch.int32), some((3,), torch.float16)])
    check(torch.stack, [some((2,), torch.float32), some((2,), torch.float16)])


def test_many_splits_of_wide_rows() -> None:
    wide = some(
        (2, 40 * 2000), torch.float32
    )  # torch_npu takes the fused operator for such a shape
    outs = [torch.empty(2, 2000) for _ in range(40)]
    device = [out.to("npu") for out in outs]
    torch.split_with_sizes_copy(wide.to("npu"), [2000] * 40, 1, out=device)
    for place, out in enumerate(device):
        assert torch.equal(out.cpu(), wide[:, place * 2000 : (place + 1) * 2000])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_chunk_cat(dtype: torch.dtype) -> None:
    check(chunk_cat, [some((4, 3), dtype), some((5, 2), dtype)], 0, 2)
    if dtype != torch.float32:
        tensors = [some((4, 3), dtype), some((6, 2), dtype)]
        out = torch.empty(2, 12).to("npu")
        chunk_cat([tensor.to("npu") for tensor in tensors], 0, 2, out=out)
        assert torch.equal(out.cpu(), chunk_cat(tensors, 0, 2).float())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "pad", [(1, 2), (0, 0), (-1, 2), (-2, -1), (1, 2, 3, 0), (1, -1, 0, 2, 2, 1)], ids=str
)
def test_constant_padding(pad: tuple[int, ...], dtype: torch.dtype) -> None:
    for tensor in (some((3, 4, 5), dtype), some((5, 4, 6), dtype)[..., ::2].permute(2, 1, 0)):
        check(functional.pad, tensor, pad)
        check(functional.pad, tensor, pad, value=1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64], ids=str)
@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_padding_from_the_border(dims: int, mode: str, dtype: torch.dtype) -> None:
    def gradient(tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor.detach().requires_grad_()
        padded = functional.pad(tensor, pad, mode=mode)
        return torch.autograd.grad(padded, tensor, 2 * padded.detach())[0]

    pad = (1, 2, 2, 0, 1, 1)[: 2 * dims]
    for tensor in (
        some((2, 3, 4, 4, 5)[: dims + 2], dtype),
        some((3, 8, 8, 8)[: dims + 1], dtype)[..., ::2],
    ):
        check(functional.pad, tensor, pad, mode=mode)
        # ATen's CPU rounds half precision after each sum.
        wide = tensor.float() if dtype == torch.float16 else tensor
        agree(run_on_npu(gradient, tensor), gradient(wide).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rearranging(dtype: torch.dtype) -> None:
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(torch.roll, tensor, 3)
        if not tensor.dim():
            continue
        check(torch.roll, tensor, -2, 1)
        check(torch.roll, tensor, (1, 9), (0, 1))
        check(torch.flip, tensor, [0])
        check(torch.flip, tensor, [0, -1])
        check(torch.tile, tensor, (2, 1, 3))
        check(torch.Tensor.repeat, tensor, *[2] * tensor.dim())
        check(torch.Tensor.repeat, tensor, 3, *[1] * tensor.dim())
    check(torch.Tensor.repeat, some((), dtype), 3, 2)
    check(torch.Tensor.repeat, some((2, 3), dtype), 0, 2)
    check(torch.rot90, some((3, 4), dtype))
    check(torch.channel_shuffle, some((2, 6, 3, 4), dtype), 3)
    check(torch.channel_shuffle, some((2, 3, 6, 8), dtype)[..., ::2].transpose(1, 2), 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.complex64], ids=str)
def test_columns_of_an_image(dtype: torch.dtype) -> None:
    for image in (
        some((2, 3, 6, 7), dtype),
        some((2, 6, 7, 3), dtype).permute(0, 3, 1, 2),
        some((3, 6, 7), dtype),
    ):
        check(functional.unfold, image, (2, 3), dilation=2, padding=1, stride=2)
        columns = functional.unfold(image, 2, padding=1)
        check(functional.fold, columns, (6, 7), 2, padding=1)


def test_gradient_of_windows() -> None:
    def gradient(tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor.detach().requires_grad_()
        return torch.autograd.grad(tensor.unfold(1, 3, 2).square().sum(), tensor)[0]

    check(gradient, some((4, 8), torch.float32))


@pytest.mark.parametrize("transpose_first", [False, True])
def test_transposition_and_new_shape(transpose_first: bool) -> None:  # noqa: FBT001
    tensor = some((2, 3, 4), torch.float32)
    expected = (
        tensor.permute(1, 0, 2).reshape(6, 4)
        if transpose_first
        else tensor.reshape(6, 4).permute(1, 0)
    )
    out = torch.empty(expected.shape).to("npu")
    call(
        "aclnnConfusionTranspose",
        tensor.to("npu"),
        [1, 0, 2] if transpose_first else [1, 0],
        [6, 4],
        transpose_first,
        out,
    )
    assert torch.equal(out.cpu(), expected)


def test_shaping_refuses_wrong_calls() -> None:
    tensor = some((2, 3, 4), torch.float32)
    rejects("aclnnReflectionPad1d", functional.pad, tensor, (5, 0), mode="reflect")
    name = "aclnnConstantPadNd"
    rejects(name, partial(call, name), tensor, [1, 1], Scalar(0.0), torch.empty(2, 3, 5))

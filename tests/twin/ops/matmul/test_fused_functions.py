"""Adapters of low rank, products with what follows them, gathering and scattering of torch_npu."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.ops.compare import agree, copied, rejects, run_on_npu
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import positions, some

if TYPE_CHECKING:
    from collections.abc import Callable

FUSED: dict[str, Callable[[torch.Tensor, torch.Tensor | None], torch.Tensor]] = {
    "": lambda x, _: x,
    "16cast32": lambda x, _: x,
    "add": lambda x, y: x + y if y is not None else x,
    "mul": lambda x, y: x * y if y is not None else x,
    "relu": lambda x, _: x.relu(),
    "gelu_erf": lambda x, _: functional.gelu(x),
    "gelu_tanh": lambda x, _: functional.gelu(x, approximate="tanh"),
}


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_fused_matmul(dtype: torch.dtype, name: str) -> None:
    left, right = some((4, 7), dtype), some((5, 7), dtype).t()
    operand = some((4, 5), dtype) if name in ("add", "mul") else None
    product = left.double() @ right.double()
    bias = None if name.startswith("gelu") else some((5,), dtype)
    if bias is not None:
        product = product + bias.double()
    expected = FUSED[name](product, None if operand is None else operand.double())
    out = torch.float32 if name == "16cast32" else dtype
    agree(
        run_on_npu(
            torch_npu.npu_fused_matmul, left, right, bias=bias, x3=operand, fused_op_type=name
        ),
        expected.to(out),
    )


def test_fused_matmul_broadcasts_and_refuses() -> None:
    left, right = some((3, 1, 4, 7), torch.float32), some((2, 7, 5), torch.float32)
    product = torch_npu.npu_fused_matmul
    expected = (left @ right).relu()
    agree(run_on_npu(product, left, right, fused_op_type="relu"), expected)
    left, right = left[0, 0], right[0]
    rejects("fusedOpType is 'sub'", product, left, right, fused_op_type="sub")
    rejects("x3 is null", product, left, right, fused_op_type="add")


@pytest.mark.parametrize("with_a", [False, True])
def test_batch_gather_matmul(with_a: bool) -> None:  # noqa: FBT001
    rank, inputs, outputs = 16, 32, 48
    x = some((5, inputs if with_a else rank), torch.float16, -1, 2)
    y = some((5, 64), torch.float16)
    a = some((3, 2, rank, inputs), torch.float16, -1, 2) / 4 if with_a else None
    b = some((3, 2, outputs, rank), torch.float16, -1, 2) / 4
    indices = torch.tensor([2, 0, 2, 1, -1], dtype=torch.int32)
    expected = y.double()
    for row, adapter in enumerate(indices.tolist()):
        if adapter < 0:
            continue
        value = x[row].double()
        if a is not None:
            value = a[adapter, 1].double() @ value
        expected[row, 8:56] += 0.5 * (b[adapter, 1].double() @ value)
    device = copied(y, "npu")
    on_npu = [None if tensor is None else tensor.to("npu") for tensor in (x, b, indices, a)]
    torch_npu.npu_batch_gather_matmul_(
        device, *on_npu, layer_idx=1, scale=0.5, y_offset=8, y_slice_size=outputs
    )
    torch.testing.assert_close(device.cpu().double(), expected, rtol=5e-3, atol=5e-3)
    rejects(
        "yOffset is 40", torch_npu.npu_batch_gather_matmul_, y, x, b, indices, a, 1, 0.5, 40, 48
    )


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dim", [-1, 1])
def test_clipped_swiglu(dim: int, interleaved: bool) -> None:  # noqa: FBT001
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = some((3, 4, 6), dtype, -12, 12)
        rows = x.double().reshape((3, -1) if dim == 1 else (12, -1))
        groups = torch.tensor([1, 1])
        half = rows.size(1) // 2
        gate = (rows[:, ::2] if interleaved else rows[:, :half]).clamp(max=7)
        factor = (rows[:, 1::2] if interleaved else rows[:, half:]).clamp(-7, 7)
        expected = gate * torch.sigmoid(1.702 * gate) * (factor + 1)
        shape = (3, 2, 6) if dim == 1 else (3, 4, 3)
        run = torch_npu.npu_clipped_swiglu
        actual = run_on_npu(run, x, dim=dim, interleaved=interleaved)
        agree(actual, expected.reshape(shape).to(dtype))
        expected[2:] = 0
        actual = run_on_npu(run, x, group_index=groups, dim=dim, interleaved=interleaved)
        agree(actual, expected.reshape(shape).to(dtype))


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


@pytest.mark.parametrize("axis", [-2, -1])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8])
def test_scatter_list(dtype: torch.dtype, axis: int) -> None:
    tensors = [some((4, 6, 5), dtype) for _ in range(3)]
    indices, mask = torch.tensor([0, 3, 2]), torch.tensor([1, 0, 1], dtype=torch.uint8)
    updates = some((3, 4, 2, 5) if axis == -2 else (3, 4, 6, 2), dtype, 5, 9)
    expected = [tensor.clone() for tensor in tensors]
    for i in (0, 2):
        expected[i].narrow(axis, int(indices[i]), 2).copy_(updates[i])
    actual = run_on_npu(torch_npu.npu_scatter_list, tensors, indices, updates, mask, "update", axis)
    agree(actual, expected)
    devices = [tensor.to("npu") for tensor in tensors]
    torch_npu.npu_scatter_list_(
        devices, indices.int().to("npu"), updates.to("npu"), None, "update", axis
    )
    expected[1].narrow(axis, 3, 2).copy_(updates[1])
    agree(devices, expected)
    rejects(
        "allowed: update", torch_npu.npu_scatter_list, tensors, indices, updates, mask, "add", axis
    )

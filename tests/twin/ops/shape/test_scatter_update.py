"""Updates at indices: native/opapi/ops/shape/scatter_update.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import agree, check_in_place, copied, rejects, run_on_npu
from tests.twin.ops.samples import some

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.bool)


def scatter_nd_update_(
    tensor: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor
) -> torch.Tensor:
    if tensor.device.type == "npu":
        torch_npu.npu_scatter_nd_update_(tensor, indices, updates)
    else:
        tensor[tuple(indices.long().unbind(-1))] = updates
    return tensor


@pytest.mark.parametrize("index_dtype", [torch.int64, torch.int32])
@pytest.mark.parametrize("dtype", DTYPES)
def test_scatter_nd_update(dtype: torch.dtype, index_dtype: torch.dtype) -> None:
    rows = torch.tensor([[0], [3]], dtype=index_dtype)
    points = torch.tensor([[[0, 1], [2, 2]], [[3, 0], [1, 1]]], dtype=index_dtype)
    for tensor in (some((4, 5), dtype), some((5, 4), dtype).t(), some((4, 10), dtype)[:, ::2]):
        check_in_place(scatter_nd_update_, tensor, rows, some((2, 5), dtype, 0, 3))
        check_in_place(scatter_nd_update_, tensor, points, some((2, 2), dtype, 0, 3))
    host = some((4, 5), dtype)
    actual = run_on_npu(torch_npu.npu_scatter_nd_update, host, rows, some((2, 5), dtype, 0, 3))
    agree(actual, scatter_nd_update_(host, rows, some((2, 5), dtype, 0, 3)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8])
@pytest.mark.parametrize("axis", [-2, -1, 2])
def test_scatter_update(axis: int, dtype: torch.dtype) -> None:
    data, starts = some((3, 2, 6, 5), dtype), torch.tensor([0, 3, 2])
    updates = some((3, 2, 2, 5) if axis in (-2, 2) else (3, 2, 6, 2), dtype, 5, 9)
    expected = data.clone()
    for batch, start in enumerate(starts.tolist()):
        dim = axis % 4 - 1
        expected[batch].narrow(dim, start, 2).copy_(updates[batch])
    agree(run_on_npu(torch_npu.scatter_update, data, starts, updates, axis), expected)
    device = copied(data, "npu")
    torch_npu.scatter_update_(device, starts.int().to("npu"), updates.to("npu"), axis)
    agree(device, expected)


def test_indices_outside_are_refused() -> None:
    data, updates = torch.ones(2, 3, 4), torch.ones(2, 1, 4)
    rejects("ScatterUpdate", torch_npu.scatter_update, data, torch.tensor([0, 3]), updates, -2)
    indices = torch.tensor([[7]])
    rejects("ScatterNdUpdate", torch_npu.npu_scatter_nd_update, data, indices, updates[:1, 0])


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

"""Fused products and adapters of low rank: native/opapi/ops/matmul/fused_matmul.cpp, lora.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.ops.compare import agree, copied, rejects, run_on_npu
from tests.twin.ops.samples import some

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

"""Deformable convolution (legacy operators): opwright/graph_engine/legacy/kernels/sampling.py."""

from __future__ import annotations

import torch
import torch_npu

from tests.twin.ops.samples import some

BATCH, CHANNELS, HEIGHT, WIDTH, GROUPS, KERNEL, OUT = 2, 4, 5, 6, 2, 3, 3
STRIDE, PAD, DILATION = 2, 1, 1
ROWS, COLUMNS = 3, 3


def pixel(x: torch.Tensor, row: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    """One bilinear sample of [channels, height, width]; pixels outside are 0."""
    total = torch.zeros(x.size(0))
    top, left = int(row.floor()), int(column.floor())
    for y in (top, top + 1):
        for z in (left, left + 1):
            if 0 <= y < HEIGHT and 0 <= z < WIDTH:
                total = total + x[:, y, z] * (1 - (row - y).abs()) * (1 - (column - z).abs())
    return total


def reference(x: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
    """Sum over taps; offsets are columns, rows, then factors, each [group, tap]."""
    split = offset.view(BATCH, 3, GROUPS, KERNEL, KERNEL, ROWS, COLUMNS)
    inputs = CHANNELS // GROUPS
    result = []
    for n in range(BATCH):
        for oh in range(ROWS):
            for ow in range(COLUMNS):
                total = torch.zeros(OUT)
                for g in range(GROUPS):
                    part = slice(g * inputs, (g + 1) * inputs)
                    for i in range(KERNEL):
                        for j in range(KERNEL):
                            across, down, factor = split[n, :, g, i, j, oh, ow]
                            row = oh * STRIDE - PAD + i * DILATION + down
                            column = ow * STRIDE - PAD + j * DILATION + across
                            sample = pixel(x[n, part], row, column) * factor
                            total = total + weight[:, part, i, j] @ sample
                result.append(total)
    return torch.stack(result).view(BATCH, ROWS, COLUMNS, OUT).permute(0, 3, 1, 2)


def test_forward_and_backward() -> None:
    x = some((BATCH, CHANNELS, HEIGHT, WIDTH), torch.float32)
    weight = some((OUT, CHANNELS, KERNEL, KERNEL), torch.float32)
    offset = some((BATCH, 3 * GROUPS * KERNEL * KERNEL, ROWS, COLUMNS), torch.float32, -1, 2)
    host = [tensor.clone().requires_grad_() for tensor in (x, weight, offset)]
    device = [tensor.to("npu").requires_grad_() for tensor in (x, weight, offset)]
    expected = reference(*host)
    actual, _ = torch_npu.npu_deformable_conv2d(
        *device,
        None,
        kernel_size=[KERNEL, KERNEL],
        stride=[1, 1, STRIDE, STRIDE],
        padding=[PAD] * 4,
        dilation=[1, 1, DILATION, DILATION],
        deformable_groups=GROUPS,
    )
    torch.testing.assert_close(actual.detach().cpu(), expected.detach(), rtol=1e-4, atol=1e-4)
    seed = some(tuple(expected.shape), torch.float32)
    for one, other in zip(
        torch.autograd.grad(actual, device, seed.to("npu")),
        torch.autograd.grad(expected, host, seed),
        strict=True,
    ):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-3, atol=1e-3)

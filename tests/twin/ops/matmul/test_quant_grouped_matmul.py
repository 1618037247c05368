"""Products of quantized matrices for groups: native/opapi/ops/matmul/quant_grouped_matmul.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call
from tests.twin.ops.low_bits import E4M3, microscaled, pairs
from tests.twin.ops.samples import some

ENDS = [2, 2, 7]


@pytest.mark.parametrize("static", [False, True])
def test_quantized_on_the_way(static: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x, weight = some((7, 16), torch.float16), some((3, 32, 16), torch.int8, -9, 10)
    scale, smooth = some((3, 32), torch.float32, 1, 3), some((16,), torch.float16, 1, 3)
    given = torch.tensor([0.05]) if static else None
    out = torch.zeros(7, 32, dtype=torch.float16).to("npu")
    call(
        "aclnnQuantGroupedMatmulDequant",
        x.to("npu"),
        weight.to("npu"),
        scale.to("npu"),
        torch.tensor(ENDS).to("npu"),
        None,
        None if given is None else given.to("npu"),
        None,
        smooth.to("npu"),
        "pertensor" if static else "pertoken",
        True,  # noqa: FBT003 - as C programs call it
        out,
    )
    values = x.float() * smooth.float()
    by = values.abs().amax(-1, keepdim=True) / 127 if given is None else given.expand(7, 1)
    whole = (values / by).round().clamp(-128, 127)
    begin = 0
    for index, end in enumerate(ENDS):
        part = whole[begin:end].double() @ weight[index].double().t() * scale[index]
        expected = (part * by[begin:end]).to(torch.float16)
        torch.testing.assert_close(out[begin:end].cpu(), expected, rtol=2e-3, atol=2e-3)
        begin = end


def test_microscaled_groups_of_the_summed_dimension() -> None:
    ends, k = [40, 40, 130], 130
    x1, x2 = (torch.randn(k, size).bfloat16() for size in (5, 6))
    expected = torch.ones(3, 5, 6)
    numbers, scales = [], []
    for x in (x1, x2):
        found = torch.zeros(k // 64 + 3, x.size(1), 2, dtype=torch.uint8)
        rows, begin = torch.zeros(k, x.size(1)), 0
        for index, end in enumerate(ends):
            if end > begin:
                rows[begin:end], codes = microscaled(x[begin:end], 0, E4M3)
                part = pairs(codes, 0)
                found[begin // 64 + index :][: part.size(0)] = part
            begin = end
        numbers.append(rows)
        scales.append(found)
    begin = 0
    for index, end in enumerate(ends):
        sides = []
        for rows, found in zip(numbers, scales, strict=True):
            first = begin // 64 + index
            codes = found[first : first + (end - begin + 63) // 64].movedim(2, 1).flatten(0, 1)
            factors = torch.exp2(codes.float() - 127).repeat_interleave(32, 0)[: end - begin]
            sides.append(rows[begin:end] * factors)
        expected[index] += sides[0].t() @ sides[1]
        begin = end
    device = torch.ones(3, 5, 6).to("npu")
    eight = [rows.to(torch.float8_e4m3fn).view(torch.uint8).to("npu") for rows in numbers]
    torch_npu.npu_add_quant_gmm_(
        device,
        eight[0].view(torch.float8_e4m3fn),
        eight[1].view(torch.float8_e4m3fn),
        scales[1].to("npu"),
        torch.tensor(ends).to("npu"),
        x1_scale=scales[0].to("npu"),
        x1_scale_dtype=torch_npu.float8_e8m0fnu,
        x2_scale_dtype=torch_npu.float8_e8m0fnu,
    )
    torch.testing.assert_close(device.cpu(), expected)


def test_scales_of_groups() -> None:
    ends = [10, 30]
    x1, x2 = (some((30, size), torch.float32).to(torch.float8_e5m2) for size in (5, 6))
    rows, columns = torch.rand(2) + 0.5, torch.rand(2, 6) + 0.5
    device = torch.ones(2, 5, 6).to("npu")
    torch_npu.npu_add_quant_gmm_(
        device,
        x1.view(torch.uint8).to("npu").view(torch.float8_e5m2),
        x2.view(torch.uint8).to("npu").view(torch.float8_e5m2),
        columns.to("npu"),
        torch.tensor([10, 20]).to("npu"),
        x1_scale=rows.to("npu"),
        group_list_type=1,
    )
    begin = 0
    for index, end in enumerate(ends):
        product = x1[begin:end].float().t() @ x2[begin:end].float()
        expected = product * columns[index] * rows[index] + 1
        torch.testing.assert_close(device[index].cpu(), expected)
        begin = end

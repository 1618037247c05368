"""More than products of quantized matrices: matmul/quant_matmul_functions.cpp."""

from __future__ import annotations

import ctypes

import pytest
import torch
import torch_npu

from tests.twin.aclnn_calls import call, int64s, nnopbase
from tests.twin.ops.compare import close, rejects, run_on_npu
from tests.twin.ops.low_bits import E2M1, E4M3, float4, microscaled
from tests.twin.ops.matmul.test_quant_matmul import product, whole
from tests.twin.ops.samples import some


def acl_float4(packed_pairs: torch.Tensor) -> ctypes.c_void_p:
    """An aclTensor that counts numbers, from bytes with two of them each."""
    rows, count = packed_pairs.shape
    handle = nnopbase.aclCreateTensor(
        int64s([rows, 2 * count]),
        ctypes.c_uint64(2),
        40,
        int64s([2 * count, 1]),
        ctypes.c_int64(0),
        2,
        int64s([2 * rows * count]),
        ctypes.c_uint64(1),
        ctypes.c_void_p(packed_pairs.data_ptr()),
    )
    return ctypes.c_void_p(handle)


@pytest.mark.parametrize("approximate", ["gelu_erf", "gelu_tanh"])
def test_with_gelu(approximate: str) -> None:
    x1, x2 = whole((5, 16)), whole((16, 8))
    rows, columns = some((5,), torch.float32, 1, 3) / 99, some((8,), torch.bfloat16, 1, 3)
    actual = run_on_npu(
        torch_npu.npu_quant_matmul_gelu, x1, x2, rows, columns, approximate=approximate
    )
    values = product(x1, x2) * columns.double() * rows[:, None]
    name = "tanh" if approximate == "gelu_tanh" else "none"
    close(actual, torch.nn.functional.gelu(values, approximate=name))


def test_sum_of_products() -> None:
    x1, x2 = whole((3, 5, 16)), whole((3, 16, 8))
    rows, columns = some((3, 5), torch.float32, 1, 3), some((8,), torch.bfloat16, 1, 3)
    out = torch.zeros(5, 8, dtype=torch.bfloat16).to("npu")
    call(
        "aclnnQuantMatmulReduceSumWeightNz",
        x1.to("npu"),
        x2.to("npu"),
        rows.to("npu"),
        columns.to("npu"),
        None,
        None,
        None,
        None,
        None,
        False,  # noqa: FBT003 - as C programs call it
        False,  # noqa: FBT003
        -1,
        [0],
        False,  # noqa: FBT003
        out,
    )
    close(out, (product(x1, x2) * rows[..., None]).sum(0) * columns.double())


def test_added_in_place() -> None:
    x1, x2 = torch.randn(64, 6).bfloat16(), torch.randn(64, 8).bfloat16()
    (y1, scale1), (y2, scale2) = (
        torch_npu.npu_dynamic_mx_quant(x.to("npu"), axis=0, dst_type=E4M3.code) for x in (x1, x2)
    )
    out = torch.ones(6, 8)
    device = out.to("npu")
    torch_npu.npu_add_quant_matmul_(
        device,
        y1.t(),
        y2,
        scale2,
        x1_scale=scale1.transpose(0, 1),
        x1_scale_dtype=torch_npu.float8_e8m0fnu,
        x2_scale_dtype=torch_npu.float8_e8m0fnu,
        group_sizes=[1, 1, 32],
    )
    left, right = (
        numbers.double() * torch.exp2(codes.double() - 127).repeat_interleave(32, 0)
        for numbers, codes in (microscaled(x, 0, E4M3) for x in (x1, x2))
    )
    close(device, out + left.t() @ right)


@pytest.mark.parametrize("split", [1, 2])
def test_transposed_batches(split: int) -> None:
    x1, x2 = torch.randn(5, 4, 64), torch.randn(4, 64, 8)
    left, right = x1.to(torch.float8_e4m3fn), x2.to(torch.float8_e4m3fn)
    rows, columns = torch.rand(5) + 0.5, torch.rand(8) + 0.5
    actual = torch_npu.npu_transpose_quant_batchmatmul(
        left.view(torch.uint8).to("npu").view(torch.float8_e4m3fn),
        right.view(torch.uint8).to("npu").view(torch.float8_e4m3fn),
        dtype=torch.bfloat16,
        x1_scale=rows.to("npu"),
        x2_scale=columns.to("npu"),
        perm_x1=[1, 0, 2],
        perm_x2=[0, 1, 2],
        perm_y=[1, 0, 2],
        batch_split_factor=split,
    )
    expected = torch.einsum("mbk,bkn->mbn", left.double(), right.double())
    expected = expected * rows[:, None, None] * columns
    if split > 1:
        expected = expected.reshape(5, split, -1).transpose(0, 1)
    close(actual, expected)


def test_microscaled_batches() -> None:
    x1, x2 = torch.randn(5, 4, 64).bfloat16(), torch.randn(4, 64, 8).bfloat16()
    left, scale1 = torch_npu.npu_dynamic_mx_quant(x1.to("npu"), dst_type=E4M3.code)
    right, scale2 = torch_npu.npu_dynamic_mx_quant(x2.to("npu"), axis=1, dst_type=E4M3.code)
    out = torch.zeros(5, 4, 8, dtype=torch.bfloat16).to("npu")
    e8m0 = torch.float8_e8m0fnu
    call(
        "aclnnTransposeQuantBatchMatMul",
        left,
        right,
        None,
        scale1.view(e8m0),
        scale2.view(e8m0),
        27,
        32,
        [1, 0, 2],
        [0, 1, 2],
        [1, 0, 2],
        1,
        out,
    )
    (a, codes1), (b, codes2) = microscaled(x1, -1, E4M3), microscaled(x2, 1, E4M3)
    a = a * torch.exp2(codes1.float() - 127).repeat_interleave(32, -1)
    b = b * torch.exp2(codes2.float() - 127).repeat_interleave(32, 1)
    close(out, torch.einsum("mbk,bkn->mbn", a.double(), b.double()))


ONE = torch.ones(1)


def reserved(count: int) -> list[tuple[torch.Tensor | None, ...]]:
    """Return lists of so many optional tensors, of which one after the other is given."""
    return [tuple(ONE if i == given else None for i in range(count)) for given in range(count)]


@pytest.mark.parametrize("function", ["aclnnFusedQuantMatmul", "aclnnFusedQuantMatmulWeightNz"])
def test_reserved_operands_of_gelu(function: str) -> None:
    x1, x2 = whole((5, 16)), whole((16, 8))
    first, out = (x1, x2, torch.ones(5), torch.ones(8)), torch.zeros(5, 8).half()
    names = ("yScale", "x1Offset", "x2Offset", "yOffset", "x3")
    for name, (y_scale, offset1, offset2, y_offset, x3) in zip(names, reserved(5), strict=True):
        operands = (*first, y_scale, offset1, offset2, y_offset, None, x3)
        rejects(f"'{name}' is given", call, function, *operands, "gelu_erf", 0, out)
    none = (None,) * 6
    rejects("'groupSize' is 32", call, function, *first, *none, "gelu_erf", 32, out)


def test_reserved_operands_of_sums() -> None:
    x1, x2 = whole((3, 5, 16)), whole((3, 16, 8))
    out = torch.zeros(5, 8, dtype=torch.bfloat16)
    first = (x1, x2, torch.ones(3, 5), torch.ones(8).bfloat16())
    function = "aclnnQuantMatmulReduceSumWeightNz"
    names = ("yScale", "x1Offset", "x2Offset", "yOffset", "bias")
    for name, operands in zip(names, reserved(5), strict=True):
        last = (False, False, 0, [0], False, out)
        rejects(f"'{name}' is given", call, function, *first, *operands, *last)
    last = (False, False, 32, [0], False, out)
    rejects("'groupSize' is 32", call, function, *first, *(None,) * 5, *last)


@pytest.mark.parametrize("function", ["aclnnQuantMatmulV5", "aclnnQuantMatmulWeightNz"])
def test_reserved_offset(function: str) -> None:
    out, none = torch.zeros(5, 8).half(), None
    operands = (whole((5, 16)), whole((16, 8)), none, torch.ones(8), none, ONE, none, none, none)
    rejects("'x1Offset' is given", call, function, *operands, False, False, 0, out)  # noqa: FBT003


def test_a_type_that_is_not_that_of_the_output() -> None:
    x, scale = torch.ones(5, 4, 64).to(torch.float8_e4m3fn), torch.ones(8)
    right, out = torch.ones(4, 64, 8).to(torch.float8_e4m3fn), torch.zeros(5, 4, 8).half()
    permutations = ([1, 0, 2], [0, 1, 2], [1, 0, 2])
    rejects(
        "'dtype' is bfloat16, but the output is float16; they must agree",
        call,
        "aclnnTransposeQuantBatchMatMul",
        *(x, right, None, torch.ones(5), scale, 27, 0, *permutations, 1, out),
    )


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("static", [False, True])
def test_quantized_on_the_way(smooth: bool, static: bool) -> None:  # noqa: FBT001
    x, weight = some((5, 16), torch.float16), whole((32, 16))
    scale = some((32,), torch.float32, 1, 3)
    factor = some((16,), torch.float16, 1, 3) if smooth else None
    given = torch.tensor([0.05]) if static else None
    out = torch.zeros(5, 32, dtype=torch.float16).to("npu")
    call(
        "aclnnQuantMatmulDequant",
        x.to("npu"),
        weight.to("npu"),
        scale.to("npu"),
        None,
        None if given is None else given.to("npu"),
        None,
        None if factor is None else factor.to("npu"),
        "pertensor" if static else "pertoken",
        True,  # noqa: FBT003 - as C programs call it
        out,
    )
    values = x.float() * (1 if factor is None else factor.float())
    by = values.abs().amax(-1, keepdim=True) / 127 if given is None else given
    integers = (values / by).round().clamp(-128, 127)
    close(out, product(integers, weight.t()) * scale * by)


def test_two_levels() -> None:
    x1, x2 = torch.randn(4, 1024).bfloat16(), torch.randn(8, 1024).bfloat16()
    (y1, outer1, inner1), (y2, outer2, inner2) = (
        torch_npu.npu_dynamic_dual_level_mx_quant(x.to("npu")) for x in (x1, x2)
    )
    out = torch.zeros(4, 8, dtype=torch.bfloat16).to("npu")
    e8m0 = torch.float8_e8m0fnu
    actual = [
        float4(y, E2M1).double()
        * torch.exp2(inner.cpu().view(torch.uint8).double() - 127)
        .flatten(-2)
        .repeat_interleave(32, -1)
        * outer.cpu().double().repeat_interleave(512, -1)
        for y, outer, inner in ((y1, outer1, inner1), (y2, outer2, inner2))
    ]
    call(
        "aclnnDualLevelQuantMatmulWeightNz",
        acl_float4(y1),
        acl_float4(y2),
        outer1,
        outer2,
        inner1.view(e8m0),
        inner2.view(e8m0),
        None,
        False,  # noqa: FBT003 - as C programs call it
        True,  # noqa: FBT003
        512,
        32,
        out,
    )
    close(out, actual[0] @ actual[1].t())


def test_quant_matmul_functions_refuses_wrong_calls() -> None:
    batched = torch_npu.npu_transpose_quant_batchmatmul
    left, right = (torch.zeros(2, 2, 64, dtype=torch.uint8) for _ in range(2))
    kinds = {"x1_dtype": torch_npu.hifloat8, "x2_dtype": torch_npu.hifloat8}
    rejects("permX1", batched, left, right, torch.bfloat16, perm_x1=[0, 1, 2], **kinds)

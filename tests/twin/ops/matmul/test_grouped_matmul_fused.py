"""Products of groups with what follows: grouped_matmul_fused.cpp, ffn.cpp, group_quantization."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, copied, rejects, run_on_npu
from tests.twin.ops.low_bits import pack_int4
from tests.twin.ops.matmul.groups import (
    SIZES,
    each_row,
    group_list,
    packed_scale,
    rounded_scale,
    rows_of_experts,
)
from tests.twin.ops.samples import positions, some

if TYPE_CHECKING:
    from collections.abc import Callable

INT8 = torch.int8
ROWS = sum(SIZES)


def by_row(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    left, right = values.float().chunk(2, 1)
    gated = functional.silu(left) * right
    scale = gated.abs().amax(1) / 127
    return (gated / scale[:, None]).round().to(INT8), scale


def nearly(actual: tuple[torch.Tensor, ...], expected: tuple[torch.Tensor, torch.Tensor]) -> None:
    """Compare codes, which may be apart by one, and scales."""
    codes = actual[0].cpu().int() - expected[0].int()
    assert int(codes.abs().max()) <= 1
    assert int((codes != 0).sum()) <= 1
    torch.testing.assert_close(actual[1].cpu(), expected[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("form", [0, 1])
def test_swiglu_quant(dtype: torch.dtype, form: int) -> None:
    x, weights = some((ROWS, 6), INT8, -128, 128), some((4, 6, 10), INT8, -128, 128)
    scale, token = some((4, 10), dtype, 0, 1) / 3000, some((ROWS,), torch.float32, 0, 1)
    expected = by_row(rows_of_experts(x, weights) * each_row(scale).double() * token[:, None])
    actual = run_on_npu(
        torch_npu.npu_grouped_matmul_swiglu_quant_v2,
        x,
        [weights],
        [scale],
        token,
        group_list(form),
        group_list_type=form,
    )
    assert isinstance(actual, tuple)
    nearly(actual, expected)
    if form == 0:
        first = run_on_npu(
            torch_npu.npu_grouped_matmul_swiglu_quant, x, weights, group_list(0), scale, token
        )
        assert isinstance(first, tuple)
        nearly(first, expected)


@pytest.mark.parametrize("smooth", [None, (4,), (4, 5)], ids=str)
def test_swiglu_quant_with_a_tensor_for_each_expert(smooth: tuple[int, ...] | None) -> None:
    x, weights = some((ROWS, 6), INT8, -128, 128), some((4, 6, 10), INT8, -128, 128)
    scale, token = some((4, 10), torch.float32, 0, 1) / 3000, some((ROWS,), torch.float32, 0, 1)
    factor = torch.ones(4, 1) if smooth is None else some(smooth, torch.float32, 1, 2).view(4, -1)
    values = rows_of_experts(x, weights) * each_row(scale).double() * token[:, None]
    left, right = values.float().chunk(2, 1)
    gated = functional.silu(left) * right * each_row(factor)
    largest = gated.abs().amax(1) / 127
    out = [torch.zeros(ROWS, 5, dtype=INT8).to("npu"), torch.zeros(ROWS).to("npu")]
    call(
        "aclnnGroupedMatmulSwigluQuantV2",
        *(x.to("npu"), [one.to("npu") for one in weights], [one.to("npu") for one in scale]),
        *(None, None, token.to("npu"), None if smooth is None else factor.view(smooth).to("npu")),
        *(group_list(0).to("npu"), 0, 0, 0, 0, None, *out),
    )
    nearly(tuple(out), ((gated / largest[:, None]).round().to(INT8), largest))


@pytest.mark.parametrize("blocks", [None, 2])
def test_swiglu_quant_of_four_bits(blocks: int | None) -> None:
    x, weights = some((ROWS, 16), INT8, -128, 128), some((4, 16, 16), INT8, -8, 8)
    scale = some((4, 16) if blocks is None else (4, blocks, 16), torch.float32, 0, 1) / 300
    token, factor = some((ROWS,), torch.float32, 0, 1), rounded_scale(scale)
    spread = factor[:, None] if blocks is None else factor.repeat_interleave(16 // blocks, 1)
    scaled = weights * spread
    actual = run_on_npu(
        torch_npu.npu_grouped_matmul_swiglu_quant_v2,
        x,
        [pack_int4(weights)],
        [packed_scale(scale)],
        token,
        group_list(0),
        weight_assist_matrix=[8 * scaled.sum(1)],
        dequant_mode=0 if blocks is None else 1,
    )
    assert isinstance(actual, tuple)
    nearly(actual, by_row(rows_of_experts(x, scaled) * token[:, None]))


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("shared", [False, True])
def test_finalize_routing(form: int, shared: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x, weights = some((ROWS, 6), INT8, -128, 128), some((4, 6, 5), INT8, -128, 128)
    scale, token = some((4, 5), torch.float32, 0, 1), some((ROWS,), torch.float32, 0, 1)
    logit, index = some((ROWS,), torch.float32, 0, 1), positions((ROWS,), 4)
    common = some((2, 5), torch.bfloat16) if shared else None
    product = rows_of_experts(x, weights) * each_row(scale) * token[:, None] * logit[:, None]
    expected = torch.zeros(4, 5, dtype=torch.float64).index_add(0, index, product)
    if common is not None:
        expected[1:3] += 0.5 * common.double()
    actual = run_on_npu(
        torch_npu.npu_grouped_matmul_finalize_routing,
        x,
        weights,
        group_list(form),
        scale=scale,
        pertoken_scale=token,
        shared_input=common,
        logit=logit,
        row_index=index,
        shared_input_weight=0.5,
        shared_input_offset=1,
        output_bs=4,
        group_list_type=form,
    )
    agree(actual, expected.float())


@pytest.mark.parametrize("shifted", [False, True])
def test_finalize_routing_of_four_bits(shifted: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """An offset is added to the weights, times their scale."""
    x, weights = some((ROWS, 16), INT8, -128, 128), some((4, 16, 8), INT8, -8, 8)
    scale, token = some((4, 1, 8), torch.float32, 0, 1), some((ROWS,), torch.float32, 0, 1)
    logit, index = some((ROWS,), torch.float32, 0, 1), torch.randperm(ROWS)
    offset = some((4, 1, 8), torch.float32, -1, 2) if shifted else None
    scaled = weights * rounded_scale(scale)
    whole = scaled if offset is None else scaled + offset
    product = rows_of_experts(x, whole) * token[:, None] * logit[:, None]
    actual = run_on_npu(
        torch_npu.npu_grouped_matmul_finalize_routing,
        x,
        pack_int4(weights),
        group_list(1),
        scale=packed_scale(scale),
        bias=8 * scaled.sum(1),
        offset=offset,
        pertoken_scale=token,
        logit=logit,
        row_index=index,
        output_bs=ROWS,
    )
    agree(actual, torch.zeros(ROWS, 8).index_add(0, index, product.float()))


# the feed-forward network

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "fastgelu": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": functional.silu,
}
GATED = {"reglu": "relu", "geglu": "gelu", "swiglu": "silu"}


def halves(dtype: torch.dtype, columns: int) -> tuple[torch.Tensor, ...]:
    """Return x, two weights of four experts, and two biases."""
    inner = columns // 2 if columns == 16 else columns
    return (
        some((ROWS, 6), dtype, -1, 2),
        some((4, 6, columns), dtype, -1, 2),
        some((4, inner, 6), dtype, -1, 2),
        some((4, columns), dtype, -1, 2),
        some((4, 6), dtype, -1, 2),
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("form", ["expert_tokens", "expert_tokens_index"])
def test_ffn_of_experts(dtype: torch.dtype, name: str, form: str) -> None:
    x, first, second, bias1, bias2 = halves(dtype, 8)
    if dtype == torch.bfloat16:
        bias1, bias2 = bias1.float(), bias2.float()
    inner = ACTIVATIONS[name](rows_of_experts(x, first, bias1).float()).to(dtype)
    tokens = group_list(1 if form == "expert_tokens" else 0).tolist()
    biases = {"bias1": bias1, "bias2": bias2}
    actual = run_on_npu(torch_npu.npu_ffn, x, first, second, name, **biases, **{form: tokens})
    agree(actual, rows_of_experts(inner, second, bias2).to(dtype))


@pytest.mark.parametrize("name", [*ACTIVATIONS, *GATED])
def test_ffn(name: str) -> None:
    x, first, second, *_ = halves(torch.float16, 16 if name in GATED else 8)
    values = x.double() @ first[0].double()
    if name in GATED:
        left, right = values.chunk(2, 1)
        inner = left * ACTIVATIONS[GATED[name]](right)
    else:
        inner = ACTIVATIONS[name](values)
    expected = (inner.half().double() @ second[0].double()).half()
    shaped = x.view(3, 3, 6)
    agree(run_on_npu(torch_npu.npu_ffn, shaped, first[0], second[0], name), expected.view(3, 3, 6))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_ffn_of_integers(dtype: torch.dtype) -> None:
    x = some((ROWS, 6), INT8, -128, 128)
    first, second = some((6, 8), INT8, -128, 128), some((8, 6), INT8, -128, 128)
    bias1, bias2 = some((8,), torch.int32, -90, 90), some((6,), torch.int32, -90, 90)
    deq1, deq2 = some((8,), torch.float32, 0, 1) / 3000, some((6,), torch.float32, 0, 1) / 900
    if dtype == torch.bfloat16:
        deq1, deq2 = deq1.bfloat16(), deq2.bfloat16()
    scale, offset = torch.tensor([20.0]), torch.tensor([-3.0])
    values = (x.long() @ first.long() + bias1).float() * deq1.float()
    if dtype == torch.float16:  # the first product is brought to it
        values, scale, offset = values.half(), scale.half(), offset.half()
    inner = (torch.relu(values) * scale + offset).round().clamp(-128, 127).long()
    expected = ((inner @ second.long() + bias2).float() * deq2.float()).to(dtype)
    actual = run_on_npu(
        torch_npu.npu_ffn,
        x,
        first,
        second,
        "relu",
        bias1=bias1,
        bias2=bias2,
        scale=scale,
        offset=offset,
        deq_scale1=deq1,
        deq_scale2=deq2,
        output_dtype=dtype,
    )
    agree(actual, expected)


def test_ffn_of_quantized_weights() -> None:
    x = some((ROWS, 6), torch.float16, -1, 2)
    first, second = some((6, 8), INT8, -8, 8), some((8, 6), INT8, -8, 8)
    named = {
        "antiquant_scale1": some((8,), torch.float16, 0, 1),
        "antiquant_scale2": some((6,), torch.float16, 0, 1),
        "antiquant_offset1": some((8,), torch.float16),
        "antiquant_offset2": some((6,), torch.float16),
    }

    def plain(weight: torch.Tensor, number: int) -> torch.Tensor:
        shifted = weight.half() + named[f"antiquant_offset{number}"]
        return (shifted * named[f"antiquant_scale{number}"]).double()

    inner = torch.relu(x.double() @ plain(first, 1)).half()
    expected = (inner.double() @ plain(second, 2)).half()
    agree(run_on_npu(torch_npu.npu_ffn, x, first, second, "relu", **named), expected)


# quantization of groups


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("four_bits", [False, True])
def test_group_quant(dtype: torch.dtype, four_bits: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x, scale, offset = some((ROWS, 8), dtype), some((4, 8), dtype, 1, 3), some((1,), dtype)
    actual = run_on_npu(
        torch_npu.npu_group_quant,
        x,
        scale,
        group_list(0).int(),
        offset=offset,
        dst_dtype=torch.quint4x2 if four_bits else torch.qint8,
    )
    values = (x.float() * each_row(scale.float()) + offset.float()).round()
    codes = values.clamp(-8, 7) if four_bits else values.clamp(-128, 127)
    agree(actual, pack_int4(codes) if four_bits else codes.to(INT8))


def test_grouped_matmul_fused_refuses_wrong_calls() -> None:
    x, first, second, *_ = halves(torch.float16, 8)
    rejects("activation", torch_npu.npu_ffn, x, first[0], second[0], "tanh")
    rejects("expertTokens", torch_npu.npu_ffn, x, first, second, "relu")
    rejects("expertTokens", torch_npu.npu_ffn, x, first, second, "relu", expert_tokens=[1, 2, 3])
    scale, index = some((4, 6), torch.float16), group_list(0)
    rejects("groupIndex", torch_npu.npu_group_quant, x[:8].contiguous(), scale, index)


def in_blocks(weights: torch.Tensor) -> torch.Tensor:
    """Return the blocks of 16 rows and 32 columns that a tensor of int8 is stored in."""
    experts, rows, columns = weights.shape
    whole = torch.zeros(experts, -(-rows // 16) * 16, -(-columns // 32) * 32, dtype=weights.dtype)
    whole[:, :rows, :columns] = weights
    split = whole.view(experts, whole.shape[1] // 16, 16, whole.shape[2] // 32, 32)
    return split.permute(0, 3, 1, 2, 4).contiguous()


def test_swiglu_quant_of_blocks() -> None:
    x, weights = some((ROWS, 20), INT8, -128, 128), some((4, 20, 40), INT8, -128, 128)
    scale, token = some((4, 40), torch.float32, 0, 1) / 9000, some((ROWS,), torch.float32, 0, 1)
    expected = by_row(rows_of_experts(x, weights) * each_row(scale) * token[:, None])
    actual = run_on_npu(
        torch_npu.npu_grouped_matmul_swiglu_quant,
        x,
        in_blocks(weights),
        group_list(0),
        scale,
        token,
    )
    assert isinstance(actual, tuple)
    nearly(actual, expected)


def test_swiglu_quant_of_blocks_of_four_bits() -> None:
    """Rows and weights have four bits; a block has 16 rows and 64 columns."""
    x, weights = some((ROWS, 32), INT8, -8, 8), some((4, 32, 128), INT8, -8, 8)
    scale, token = some((4, 128), torch.float32, 0, 1) / 300, some((ROWS,), torch.float32, 0, 1)
    smooth = some((4, 64), torch.float32, 1, 2)
    products = rows_of_experts(x, weights) * each_row(rounded_scale(scale)) * token[:, None]
    left, right = products.float().chunk(2, 1)
    gated = functional.silu(left) * right * each_row(smooth)
    largest = gated.abs().amax(1) / 127
    actual = run_on_npu(
        torch_npu.npu_grouped_matmul_swiglu_quant_v2,
        pack_int4(x),
        [pack_int4(weights.view(4, 2, 16, 2, 64).permute(0, 3, 1, 2, 4).contiguous())],
        [packed_scale(scale)],
        token,
        group_list(0),
        smooth_scale=smooth,
    )
    assert isinstance(actual, tuple)
    nearly(actual, ((gated / largest[:, None]).round().to(INT8), largest))


def test_other_entry_points() -> None:
    """The functions that torch_npu takes for a weight in blocks: the same results."""
    x, weights = some((ROWS, 6), INT8, -128, 128), some((4, 6, 10), INT8, -128, 128)
    scale, token = some((4, 10), torch.float32, 0, 1) / 3000, some((ROWS,), torch.float32, 0, 1)
    held = [copied(value, "npu") for value in (x, weights, scale, token, group_list(0))]
    out, out_scale = torch.zeros(ROWS, 5).to(INT8).to("npu"), torch.zeros(ROWS).to("npu")
    call(
        "aclnnGroupedMatmulSwigluQuantWeightNzV2",
        *(held[0], [held[1]], [held[2]], None, None, held[3], None, held[4]),
        *(0, 0, 0, 0, None, out, out_scale),
    )
    expected = by_row(rows_of_experts(x, weights) * each_row(scale) * token[:, None])
    nearly((out, out_scale), expected)


def test_swiglu_quant_of_a_cast_weight() -> None:
    """A weight that is cast to blocks has their sizes."""
    x, weights = some((ROWS, 32), INT8, -128, 128), some((4, 32, 64), INT8, -128, 128)
    scale, token = some((4, 64), torch.float32, 0, 1) / 9000, some((ROWS,), torch.float32, 0, 1)
    torch_npu.npu.config.allow_internal_format = True
    try:
        cast = torch_npu.npu_format_cast(weights.to("npu"), 29)
        actual = run_on_npu(
            torch_npu.npu_grouped_matmul_swiglu_quant, x, cast, group_list(0), scale, token
        )
    finally:
        torch_npu.npu.config.allow_internal_format = False
    assert isinstance(actual, tuple)
    expected = by_row(rows_of_experts(x, weights) * each_row(scale) * token[:, None])
    nearly(actual, expected)

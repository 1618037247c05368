"""Products of quantized matrices, products in groups, and feed-forward networks.

The twin's aclnn functions compute them, as in eager. Where a converter writes an empty tensor for
an operand that is not there, the function gets none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.calls.aclnn import New, Written, call_aclnn
from opwright.graph_engine.kernels.available import require_one_of
from opwright.graph_engine.kernels.quantization import trans_quant_param_v2
from opwright.graph_engine.table import kernel
from opwright.graph_engine.tensors.dtypes import from_runtime
from opwright.graph_engine.tensors.four_bits import INT4, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

# The attribute dtype of products in groups.
OF_GROUPS = {
    0: torch.float16,
    1: torch.bfloat16,
    2: torch.int32,
    3: torch.float32,
}
LIKE_X = -1
# Of split_item: one result for each x, or one for all.
SEPARATE, OF_GROUP_SIZES = 0, 1
BY_K = 2  # of group_type: the groups are parts of the summed axis


def drop_empty(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """Return the tensors that are not a converter's sign for none."""
    found = [tensor for tensor in tensors if tensor.numel()]
    return found or None


def transpose_if(x: torch.Tensor, *, on: bool) -> torch.Tensor:
    """Transpose the matrices if `on`."""
    return x.transpose(-1, -2) if on else x


def unpack_weight(weight: torch.Tensor, rows: int) -> torch.Tensor:
    """Return a weight, [rows, columns], of which eight 4-bit integers may be in each int32."""
    if weight.dtype != torch.int32:
        return weight
    if weight.shape[-2] == rows:
        return unpack(weight.contiguous().view(torch.uint8), INT4)
    return unpack(weight.t().contiguous().view(torch.uint8), INT4).t()


def product_shape(x1: torch.Tensor, x2: torch.Tensor) -> tuple[int, ...]:
    """Return the shape of x1 @ x2."""
    first, second = x1.shape[:-2], x2.shape[:-2]
    missing = len(first) - len(second)
    pairs = zip([1] * -missing + list(first), [1] * missing + list(second), strict=True)
    outer = [b if a == 1 else a for a, b in pairs]
    return (*outer, x1.shape[-2], x2.shape[-1])


@kernel(
    "QuantBatchMatmulV3",
    source="ops-nn:matmul/quant_batch_matmul_v3/op_graph/quant_batch_matmul_v3_proto.h",
)
def quant_batch_matmul_v3(
    x1: torch.Tensor,
    x2: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    pertoken_scale: torch.Tensor | None = None,
    *,
    dtype: int,
    transpose_x1: bool = False,
    transpose_x2: bool = False,
    group_size: int = 0,
) -> tuple[torch.Tensor, ...]:
    """x1 @ x2 of integers, brought to `dtype` by scales.

    As in eager mode, float32 scales are rounded to those of the matrix unit, unless rows have
    scales as well.
    """
    first, second = transpose_if(x1, on=transpose_x1), transpose_if(x2, on=transpose_x2)
    result = from_runtime(dtype, where="QuantBatchMatmulV3")
    rounded = scale.dtype == torch.float32 and result in (torch.float16, torch.int8)
    if rounded and pertoken_scale is None:
        (scale,) = trans_quant_param_v2(scale, offset)
    return call_aclnn(
        "QuantMatmulV5",
        *(first, second, pertoken_scale, scale, None, None, offset, None, bias),
        *(False, False, group_size),
        New(product_shape(first, second), result),
    )


@kernel(
    "QuantBatchMatmulV4",
    source="ops-nn:matmul/quant_batch_matmul_v4/op_graph/quant_batch_matmul_v4_proto.h",
)
def quant_batch_matmul_v4(  # noqa: PLR0913 -- the prototype's
    x1: torch.Tensor,
    x2: torch.Tensor,
    bias: torch.Tensor | None = None,
    x1_scale: torch.Tensor | None = None,
    x2_scale: torch.Tensor | None = None,
    y_scale: torch.Tensor | None = None,
    x1_offset: torch.Tensor | None = None,
    x2_offset: torch.Tensor | None = None,
    y_offset: torch.Tensor | None = None,
    x2_table: torch.Tensor | None = None,
    *,
    dtype: int,
    compute_type: int = -1,
    transpose_x1: bool = False,
    transpose_x2: bool = False,
    group_size: int = 0,
) -> tuple[torch.Tensor, ...]:
    """x1 @ x2 of quantized matrices, brought to `dtype` by scales."""
    require_one_of("compute_type", compute_type, -1)
    require_one_of("x2_table", x2_table, None)
    first, second = transpose_if(x1, on=transpose_x1), transpose_if(x2, on=transpose_x2)
    return call_aclnn(
        "QuantMatmulV5",
        *(first, second, x1_scale, x2_scale, y_scale, x1_offset, x2_offset, y_offset, bias),
        *(False, False, group_size),
        New(product_shape(first, second), from_runtime(dtype, where="QuantBatchMatmulV4")),
    )


@kernel(
    "FusedQuantMatMul",
    source="ops-nn:matmul/fused_quant_mat_mul/op_graph/fused_quant_mat_mul_proto.h",
)
def fused_quant_mat_mul(  # noqa: PLR0913, PLR0917 -- the prototype's
    x1: torch.Tensor,
    x2: torch.Tensor,
    bias: torch.Tensor | None = None,
    x1_scale: torch.Tensor | None = None,
    x2_scale: torch.Tensor | None = None,
    y_scale: torch.Tensor | None = None,
    x1_offset: torch.Tensor | None = None,
    x2_offset: torch.Tensor | None = None,
    y_offset: torch.Tensor | None = None,
    x2_table: torch.Tensor | None = None,
    x3: torch.Tensor | None = None,
    *,
    dtype: int,
    compute_type: int = -1,
    transpose_x1: bool = False,
    transpose_x2: bool = False,
    group_size: int = -1,
    fused_op_type: str = "",
) -> tuple[torch.Tensor, ...]:
    """Apply the function `fused_op_type` to x1 @ x2 of quantized matrices."""
    require_one_of("compute_type", compute_type, -1)
    require_one_of("x2_table", x2_table, None)
    first, second = transpose_if(x1, on=transpose_x1), transpose_if(x2, on=transpose_x2)
    return call_aclnn(
        "FusedQuantMatmul",
        *(first, second, x1_scale, x2_scale, y_scale, x1_offset, x2_offset, y_offset, bias),
        *(x3, fused_op_type, max(group_size, 0)),
        New(product_shape(first, second), from_runtime(dtype, where="FusedQuantMatMul")),
    )


@kernel(
    "QuantBatchMatmulInplaceAdd",
    source="ops-nn:matmul/quant_batch_matmul_inplace_add/docs/aclnnQuantBatchMatmulInplaceAdd.md",
)
def quant_batch_matmul_inplace_add(
    x1: torch.Tensor,
    x2: torch.Tensor,
    x2_scale: torch.Tensor,
    y: torch.Tensor,
    x1_scale: torch.Tensor | None = None,
    *,
    transpose_x1: bool = False,
    transpose_x2: bool = False,
    group_size: int = 0,
) -> torch.Tensor:
    """Add a product of quantized matrices to y."""
    (result,) = call_aclnn(
        "QuantBatchMatmulInplaceAdd",
        *(x1, x2, x1_scale, x2_scale, Written(y), transpose_x1, transpose_x2, group_size),
    )
    return y.copy_(result)


@kernel(
    "QuantGroupedMatmulInplaceAdd",
    source="ops-transformer:gmm/quant_grouped_matmul_inplace_add/docs/aclnnQuantGroupedMatmulInplaceAdd.md",
)
def quant_grouped_matmul_inplace_add(
    x1: torch.Tensor,
    x2: torch.Tensor,
    scale2: torch.Tensor,
    group_list: torch.Tensor,
    y: torch.Tensor,
    scale1: torch.Tensor | None = None,
    *,
    group_list_type: int = 0,
    group_size: int = 0,
) -> torch.Tensor:
    """Add products of quantized matrices in groups to y."""
    (result,) = call_aclnn(
        "QuantGroupedMatmulInplaceAdd",
        *(x1, x2, scale1, scale2, group_list, Written(y), group_list_type, group_size),
    )
    return y.copy_(result)


@kernel(
    "WeightQuantBatchMatmulV2",
    source="ops-nn:matmul/weight_quant_batch_matmul_v2/op_graph/weight_quant_batch_matmul_v2_proto.h",
)
def weight_quant_batch_matmul_v2(  # noqa: PLR0913 -- the prototype's
    x: torch.Tensor,
    weight: torch.Tensor,
    antiquant_scale: torch.Tensor,
    antiquant_offset: torch.Tensor | None = None,
    quant_scale: torch.Tensor | None = None,
    quant_offset: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    *,
    transpose_x: bool = False,
    transpose_weight: bool = False,
    antiquant_group_size: int = 0,
    dtype: int = LIKE_X,
    inner_precise: int = 0,
) -> tuple[torch.Tensor, ...]:
    """Multiply x with a quantized weight."""
    first = transpose_if(x, on=transpose_x)
    second = unpack_weight(transpose_if(weight, on=transpose_weight), first.shape[-1])
    result = torch.int8 if quant_scale is not None else x.dtype
    if dtype != LIKE_X:
        result = from_runtime(dtype, where="WeightQuantBatchMatmulV2")
    return call_aclnn(
        "WeightQuantBatchMatmulV3",
        *(first, second, antiquant_scale, antiquant_offset, quant_scale, quant_offset, bias),
        *(antiquant_group_size, inner_precise),
        New(product_shape(first, second), result),
    )


@kernel(
    "QuantMatmulReduceSum",
    source="ops-nn:matmul/quant_matmul_reduce_sum/op_graph/quant_matmul_reduce_sum_proto.h",
)
def quant_matmul_reduce_sum(  # noqa: PLR0913, PLR0917 -- the prototype's
    x1: torch.Tensor,
    x2: torch.Tensor,
    dims: list[int],
    bias: torch.Tensor | None = None,
    x1_scale: torch.Tensor | None = None,
    x2_scale: torch.Tensor | None = None,
    y_scale: torch.Tensor | None = None,
    x1_offset: torch.Tensor | None = None,
    x2_offset: torch.Tensor | None = None,
    y_offset: torch.Tensor | None = None,
    x2_table: torch.Tensor | None = None,
    *,
    dtype: int,
    compute_type: int = -1,
    transpose_x1: bool = False,
    transpose_x2: bool = False,
    group_size: int = -1,
    keep_dims: bool = False,
) -> tuple[torch.Tensor, ...]:
    """Sum products of quantized matrices over the batch."""
    require_one_of("compute_type", compute_type, -1)
    require_one_of("x2_table", x2_table, None)
    require_one_of("dims", dims, [0])
    first, second = transpose_if(x1, on=transpose_x1), transpose_if(x2, on=transpose_x2)
    shape = product_shape(first, second)[1:]
    return call_aclnn(
        "QuantMatmulReduceSumWeightNz",
        *(first, second, x1_scale, x2_scale, y_scale, x1_offset, x2_offset, y_offset, bias),
        *(False, False, group_size, dims, keep_dims),
        New((1, *shape) if keep_dims else shape, from_runtime(dtype, where="QuantMatmulReduceSum")),
    )


@kernel(
    "QuantMatmulDequant",
    source="ops-nn:matmul/quant_matmul_dequant/docs/aclnnQuantMatmulDequant.md",
)
def quant_matmul_dequant(
    x: torch.Tensor,
    quantized_weight: torch.Tensor,
    weight_scale: torch.Tensor,
    bias: torch.Tensor | None = None,
    x_scale: torch.Tensor | None = None,
    x_offset: torch.Tensor | None = None,
    smooth_scale: torch.Tensor | None = None,
    *,
    x_quant_mode: str = "pertoken",
    transpose_weight: bool = True,
) -> tuple[torch.Tensor, ...]:
    """Quantize x, multiply, and bring the product back to x's dtype."""
    return call_aclnn(
        "QuantMatmulDequant",
        *(x, quantized_weight, weight_scale, bias, x_scale, x_offset, smooth_scale),
        *(x_quant_mode, transpose_weight),
        New((x.shape[0], weight_scale.shape[0]), x.dtype),
    )


@kernel(
    "QuantGroupedMatmulDequant",
    source="ops-transformer:gmm/quant_grouped_matmul_dequant/op_graph/quant_grouped_matmul_dequant_proto.h",
)
def quant_grouped_matmul_dequant(
    x: torch.Tensor,
    quantized_weight: torch.Tensor,
    weight_scale: torch.Tensor,
    group_list: torch.Tensor,
    bias: torch.Tensor | None = None,
    x_scale: torch.Tensor | None = None,
    x_offset: torch.Tensor | None = None,
    smooth_scale: torch.Tensor | None = None,
    *,
    x_quant_mode: str = "pertoken",
    transpose_weight: bool = True,
) -> tuple[torch.Tensor, ...]:
    """Do the same for groups of rows, each with a weight of its own."""
    return call_aclnn(
        "QuantGroupedMatmulDequant",
        *(x, quantized_weight, weight_scale, group_list, bias, x_scale, x_offset, smooth_scale),
        *(x_quant_mode, transpose_weight),
        New((x.shape[0], weight_scale.shape[1]), x.dtype),
    )


@kernel(
    "TransposeQuantBatchMatMul",
    source="ops-nn:matmul/transpose_quant_batch_mat_mul/op_graph/transpose_quant_batch_mat_mul_proto.h",
)
def transpose_quant_batch_mat_mul(  # noqa: PLR0913 -- the prototype's
    x1: torch.Tensor,
    x2: torch.Tensor,
    bias: torch.Tensor | None = None,
    x1_scale: torch.Tensor | None = None,
    x2_scale: torch.Tensor | None = None,
    *,
    dtype: int,
    group_size: int = 0,
    perm_x1: list[int] = (1, 0, 2),  # type: ignore[assignment]
    perm_x2: list[int] = (0, 1, 2),  # type: ignore[assignment]
    perm_y: list[int] = (1, 0, 2),  # type: ignore[assignment]
    batch_split_factor: int = 1,
) -> tuple[torch.Tensor, ...]:
    """x1 @ x2 of quantized matrices with the axes of all three permuted."""
    batches, rows = x1.shape[perm_x1[0]], x1.shape[perm_x1[1]]
    columns = x2.shape[perm_x2[2]]
    shape = (rows, batches, columns)
    if batch_split_factor > 1:
        shape = (batch_split_factor, rows, batches * columns // batch_split_factor)
    return call_aclnn(
        "TransposeQuantBatchMatMul",
        *(x1, x2, bias, x1_scale, x2_scale, dtype, group_size),
        *(list(perm_x1), list(perm_x2), list(perm_y), batch_split_factor),
        New(shape, from_runtime(dtype, where="TransposeQuantBatchMatMul")),
    )


@kernel("QuantConv2D", source="ops-nn:conv/convolution_forward/docs/aclnnQuantConvolution.md")
def quant_conv_2d(  # noqa: PLR0913 -- the prototype's
    x: torch.Tensor,
    filter: torch.Tensor,  # noqa: A002 -- the prototype's name
    scale: torch.Tensor,
    bias: torch.Tensor | None = None,
    offset: torch.Tensor | None = None,
    *,
    dtype: int,
    strides: list[int],
    pads: list[int],
    dilations: list[int] = (1, 1, 1, 1),  # type: ignore[assignment]
    groups: int = 1,
    data_format: str = "NHWC",
    offset_x: int = 0,
    round_mode: str = "rint",
) -> tuple[torch.Tensor, ...]:
    """Convolution of quantized images, brought to `dtype` by scales."""
    require_one_of("data_format", data_format, "NCHW")
    stride, dilation, padding = strides[2:], dilations[2:], pads[::2]
    sizes = [
        (size + 2 * pad - step * (part - 1) - 1) // move + 1
        for size, pad, step, part, move in zip(
            x.shape[2:], padding, dilation, filter.shape[2:], stride, strict=True
        )
    ]
    return call_aclnn(
        "QuantConvolution",
        *(x, filter, bias, scale, offset, stride, padding, list(dilation)),
        *(False, [0, 0], groups, offset_x, round_mode),
        New(
            (x.shape[0], filter.shape[0], *sizes),
            from_runtime(dtype, where="QuantConv2D"),
        ),
    )


@kernel("GroupedMatmul", source="ops-transformer:gmm/grouped_matmul/docs/aclnnGroupedMatmul.md")
def grouped_matmul(  # noqa: PLR0913 -- the prototype's
    x: list[torch.Tensor],
    weight: list[torch.Tensor],
    bias: list[torch.Tensor] = (),  # type: ignore[assignment]
    scale: list[torch.Tensor] = (),  # type: ignore[assignment]
    offset: list[torch.Tensor] = (),  # type: ignore[assignment]
    antiquant_scale: list[torch.Tensor] = (),  # type: ignore[assignment]
    antiquant_offset: list[torch.Tensor] = (),  # type: ignore[assignment]
    group_list: torch.Tensor | None = None,
    per_token_scale: torch.Tensor | None = None,
    *,
    split_item: int = 0,
    dtype: int = 0,
    transpose_weight: bool = False,
    transpose_x: bool = False,
    group_type: int = -1,
    group_list_type: int = 0,
    act_type: int = 0,
    tuning_config: list[int] = (),  # type: ignore[assignment]
) -> tuple[torch.Tensor, ...]:
    """Products of groups of rows with a weight of their own; a result for each x, or one."""
    require_one_of("split_item", split_item, 0, 2, 3)
    firsts = [transpose_if(each, on=transpose_x) for each in x]
    weights = [transpose_if(each, on=transpose_weight) for each in weight]
    result = x[0].dtype if dtype == LIKE_X else OF_GROUPS[dtype]
    return call_aclnn(
        "GroupedMatmulV5",
        *(firsts, weights, drop_empty(bias), drop_empty(scale), drop_empty(offset)),
        *(drop_empty(antiquant_scale), drop_empty(antiquant_offset)),
        None if per_token_scale is None else [per_token_scale],
        *(group_list, None, None, None),
        *(split_item, group_type, group_list_type, act_type, list(tuning_config) or None),
        [
            New(shape, result)
            for shape in group_shapes(
                firsts,
                weights,
                group_list,
                separate=split_item == SEPARATE,
                by_k=group_type == BY_K,
            )
        ],
        *(None, None),
    )


def group_shapes(
    x: Sequence[torch.Tensor],
    weight: Sequence[torch.Tensor],
    group_list: torch.Tensor | None,
    *,
    separate: bool,
    by_k: bool,
) -> list[tuple[int, ...]]:
    """Return the shapes of the results of a product in groups."""
    columns = weight[0].shape[-1]
    if by_k and not separate:
        assert group_list is not None
        return [(group_list.shape[0], sum(each.shape[0] for each in x), columns)]
    if by_k:
        return [(x[0].shape[0], each.shape[-1]) for each in weight]
    if separate:
        single = len(weight) == 1
        return [
            (*each.shape[:-1], columns if single else weight[index].shape[-1])
            for index, each in enumerate(x)
        ]
    return [(sum(each.shape[0] for each in x), columns)]


@kernel(
    "GroupedMatmulFinalizeRouting",
    source="ops-transformer:gmm/grouped_matmul_finalize_routing/docs/aclnnGroupedMatmulFinalizeRouting.md",
)
def grouped_matmul_finalize_routing(  # noqa: PLR0913 -- the prototype's
    x: torch.Tensor,
    w: torch.Tensor,
    scale: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    pertoken_scale: torch.Tensor | None = None,
    group_list: torch.Tensor | None = None,
    shared_input: torch.Tensor | None = None,
    logit: torch.Tensor | None = None,
    row_index: torch.Tensor | None = None,
    offset: torch.Tensor | None = None,
    *,
    dtype: int = 0,
    shared_input_weight: float = 1.0,
    shared_input_offset: int = 0,
    transpose_x: bool = False,
    transpose_w: bool = False,
    output_bs: int = 0,
    group_list_type: int = 1,
    tuning_config: list[int] = (),  # type: ignore[assignment]
) -> tuple[torch.Tensor, ...]:
    """Multiply in groups and add the products of each row, weighed, to a shared expert's."""
    require_one_of("dtype", dtype, 0)
    columns = w.shape[-2 if transpose_w else -1]
    return call_aclnn(
        "GroupedMatmulFinalizeRoutingV3",
        *(x, w, scale, bias, offset, None, None, pertoken_scale, group_list),
        *(shared_input, logit, row_index, dtype, shared_input_weight, shared_input_offset),
        *(transpose_x, transpose_w, group_list_type, list(tuning_config) or None),
        New((output_bs or x.shape[0], columns), torch.float32),
    )


@kernel(
    "GroupedMatmulSwigluQuantV2",
    source="ops-transformer:gmm/grouped_matmul_swiglu_quant_v2/docs/aclnnGroupedMatmulSwigluQuantV2.md",
)
def grouped_matmul_swiglu_quant_v2(  # noqa: PLR0913 -- the prototype's
    x: torch.Tensor,
    x_scale: torch.Tensor,
    group_list: torch.Tensor,
    weight: list[torch.Tensor],
    weight_scale: list[torch.Tensor],
    weight_assist_matrix: list[torch.Tensor] = (),  # type: ignore[assignment]
    bias: torch.Tensor | None = None,
    smooth_scale: list[torch.Tensor] = (),  # type: ignore[assignment]
    *,
    dequant_mode: int = 0,
    dequant_dtype: int = 0,
    quant_mode: int = 0,
    quant_dtype: int = 2,
    transpose_weight: bool = False,
    group_list_type: int = 0,
    tuning_config: list[int] = (),  # type: ignore[assignment]
) -> tuple[torch.Tensor, ...]:
    """Multiply in groups, take the swiglu of the products, and quantize it row by row."""
    weights = [transpose_if(each, on=transpose_weight) for each in weight]
    smooth = drop_empty(smooth_scale)
    return call_aclnn(
        "GroupedMatmulSwigluQuantV2",
        *(x, weights, list(weight_scale), drop_empty(weight_assist_matrix), bias, x_scale),
        *(smooth[0] if smooth else None, group_list, dequant_mode, dequant_dtype, quant_mode),
        *(group_list_type, list(tuning_config) or None),
        New(
            (x.shape[0], weight_scale[0].shape[-1] // 2),
            from_runtime(quant_dtype, where="GroupedMatmulSwigluQuantV2"),
        ),
        New(x.shape[:1], torch.float32),
    )


@kernel("FFN", source="ops-transformer:ffn/ffn/docs/aclnnFFN.md")
def ffn(  # noqa: PLR0913, PLR0917 -- the prototype's
    x: torch.Tensor,
    weight1: torch.Tensor,
    weight2: torch.Tensor,
    expert_tokens: list[int] | None = None,
    bias1: torch.Tensor | None = None,
    bias2: torch.Tensor | None = None,
    scale: torch.Tensor | None = None,
    offset: torch.Tensor | None = None,
    deq_scale1: torch.Tensor | None = None,
    deq_scale2: torch.Tensor | None = None,
    antiquant_scale1: torch.Tensor | None = None,
    antiquant_scale2: torch.Tensor | None = None,
    antiquant_offset1: torch.Tensor | None = None,
    antiquant_offset2: torch.Tensor | None = None,
    *,
    activation: str,
    inner_precise: int = 0,
    output_dtype: int = LIKE_X,
    tokens_index_flag: bool = False,
) -> tuple[torch.Tensor, ...]:
    """Two linear layers with an activation between them, for all rows or for each expert's."""
    result = x.dtype if x.dtype != torch.int8 else torch.float16
    if output_dtype != LIKE_X:
        result = OF_GROUPS[output_dtype]
    return call_aclnn(
        "FFNV2",
        *(x, weight1, weight2, expert_tokens, bias1, bias2, scale, offset),
        *(deq_scale1, deq_scale2, antiquant_scale1, antiquant_scale2),
        *(antiquant_offset1, antiquant_offset2, activation, inner_precise, tokens_index_flag),
        New((*x.shape[:-1], weight2.shape[-1]), result),
    )


@kernel("AddLora", source="ops-math:math/add_lora/op_graph/add_lora_proto.h")
def add_lora(
    y: torch.Tensor,
    x: torch.Tensor,
    weightB: torch.Tensor,
    indices: torch.Tensor,
    weightA: torch.Tensor | None = None,
    *,
    layer_idx: int = 0,
    scale: float = 1e-3,
    y_offset: int = 0,
    y_slice_size: int = -1,
) -> tuple[torch.Tensor, ...]:
    """Add low-rank products to a part of y's columns, with weights that each row chooses."""
    size = weightB.shape[-2] if y_slice_size == -1 else y_slice_size
    return call_aclnn(
        "AddLora",
        *(y, x, weightB, indices, weightA, layer_idx, scale, y_offset, size),
        New(y.shape, y.dtype),
    )

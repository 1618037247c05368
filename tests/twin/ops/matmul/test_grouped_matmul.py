"""Products of groups: native/opapi/ops/matmul/grouped_matmul.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.low_bits import pack_int4
from tests.twin.ops.matmul.groups import (
    ENDS,
    each_row,
    group_list,
    packed_scale,
    product,
    rounded_scale,
    rows_of_experts,
    split,
)
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Callable

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def only(results: object) -> torch.Tensor:
    """Return the result of a call that has one."""
    assert isinstance(results, list)
    (result,) = results
    assert isinstance(result, torch.Tensor)
    return result


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("form", [0, 1, 2])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_rows(dtype: torch.dtype, form: int, transposed: bool, many: bool) -> None:  # noqa: FBT001 - parameters of the test
    x, weights = some((9, 6), dtype), some((4, 6, 5), dtype, -1, 2)
    if transposed:
        weights = weights.transpose(1, 2).contiguous().transpose(1, 2)
    bias = some((4, 5), torch.float16 if dtype == torch.float16 else torch.float32)
    actual = only(
        run_on_npu(
            torch_npu.npu_grouped_matmul,
            [x],
            list(weights) if many else [weights],
            bias=list(bias) if many else [bias],
            group_list=group_list(form),
            split_item=3,
            group_type=0,
            group_list_type=form,
        )
    )
    agree(actual, rows_of_experts(x, weights, bias).to(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_that_no_group_covers(dtype: torch.dtype) -> None:
    x, weights = some((12, 6), dtype), some((4, 6, 5), dtype, -1, 2)
    (actual,) = torch_npu.npu_grouped_matmul(
        [x.to("npu")],
        [weights.to("npu")],
        group_list=group_list(1).to("npu"),
        split_item=2,
        group_type=0,
        group_list_type=1,
    )
    assert actual.shape == (12, 5)
    agree(actual[:9], rows_of_experts(x, weights).to(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("form", [0, 1])
def test_common_axis(dtype: torch.dtype, form: int) -> None:
    """The gradient of the weights: columns of x transposed meet rows of the gradient."""
    x, grad = some((9, 6), dtype), some((9, 5), dtype, -1, 2)
    actual = only(
        run_on_npu(
            torch_npu.npu_grouped_matmul,
            [x.t()],
            [grad],
            group_list=group_list(form),
            split_item=3,
            group_type=2,
            group_list_type=form,
        )
    )
    agree(
        actual, torch.stack([product(x[rows].t(), grad[rows], None) for rows in split()]).to(dtype)
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dims", [(3, 6), (2, 3, 6)])
def test_separate_tensors(dtype: torch.dtype, dims: tuple[int, ...]) -> None:
    xs = [some(dims, dtype), some((*dims[:-1], 4), dtype, -1, 2)]
    weights = [some((6, 5), dtype), some((4, 7), dtype, 0, 3)]
    expected = [product(x, weight, None).to(dtype) for x, weight in zip(xs, weights, strict=True)]
    agree(run_on_npu(torch_npu.npu_grouped_matmul, xs, weights, group_type=-1), expected)
    first = run_on_npu(
        torch_npu.npu_grouped_matmul, xs, weights, group_list=[]
    )  # the first version
    agree(first, expected)


def test_separate_rows_into_one_output() -> None:
    xs = [some((3, 6), torch.float32), some((2, 6), torch.float32, -1, 2)]
    weights = [some((6, 5), torch.float32), some((6, 5), torch.float32, 0, 3)]
    expected = torch.cat([product(x, w, None) for x, w in zip(xs, weights, strict=True)]).float()
    forms: list[dict[str, object]] = [{"group_type": 0}, {"group_list": []}]
    for named in forms:
        actual = run_on_npu(torch_npu.npu_grouped_matmul, xs, weights, split_item=2, **named)
        agree(actual, [expected])


@pytest.mark.parametrize("split_item", [1, 3])
def test_ends_on_the_host(split_item: int) -> None:
    x, weights = some((9, 6), torch.float16), some((4, 6, 5), torch.float16, -1, 2)
    expected = rows_of_experts(x, weights).to(torch.float16)
    actual = run_on_npu(
        torch_npu.npu_grouped_matmul,
        [x],
        list(weights),
        group_list=list(ENDS),
        split_item=split_item,
    )
    agree(actual, [expected] if split_item == 3 else [expected[rows] for rows in split()])


# quantized

INT32, INT8 = torch.int32, torch.int8


def run_rows(x: torch.Tensor, weights: torch.Tensor, **named: object) -> torch.Tensor:
    lists = {key: [value] for key, value in named.items() if isinstance(value, torch.Tensor)}
    others = {key: value for key, value in named.items() if not isinstance(value, torch.Tensor)}
    return only(
        run_on_npu(
            torch_npu.npu_grouped_matmul,
            [x],
            [weights],
            group_list=group_list(0),
            split_item=3,
            group_type=0,
            **lists,
            **others,
        )
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("per_token", [False, True])
def test_int8_to_halves(dtype: torch.dtype, per_token: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x, weights = some((9, 6), INT8, -128, 128), some((4, 6, 5), INT8, -128, 128)
    scale = some((4, 5), torch.float32, 0, 1)
    bias, token = some((4, 5), INT32, -900, 900), some((9,), torch.float32, 0, 1)
    actual = run_rows(
        x,
        weights,
        scale=scale,
        bias=bias,
        output_dtype=dtype,
        **({"per_token_scale": token} if per_token else {}),
    )
    values = rows_of_experts(x, weights, bias) * each_row(scale)
    agree(actual, (values * token[:, None] if per_token else values).to(dtype))


def test_int8_to_int32() -> None:
    x, weights = some((9, 6), INT8, -128, 128), some((4, 6, 5), INT8, -128, 128)
    agree(run_rows(x, weights, output_dtype=INT32), rows_of_experts(x, weights).int())


def test_int8_to_int8() -> None:
    x, weights = some((9, 6), INT8, -128, 128), some((4, 6, 5), INT8, -128, 128)
    scale = some((4, 5), torch.float32, 0, 1) / 50
    values = rows_of_experts(x, weights).float() * each_row(rounded_scale(scale))
    agree(run_rows(x, weights, scale=packed_scale(scale)), values.round().clamp(-128, 127).to(INT8))


ACTIVATIONS: dict[int, Callable[[torch.Tensor], torch.Tensor]] = {
    1: torch.relu,
    2: lambda x: functional.gelu(x, approximate="tanh"),
    4: lambda x: x * torch.sigmoid(1.702 * x),
    5: functional.silu,
}


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_activation(kind: int) -> None:
    x, weights = some((9, 6), INT8, -128, 128), some((4, 6, 5), INT8, -128, 128)
    scale = some((4, 5), torch.float32, 0, 1) / 5000
    actual = run_rows(x, weights, scale=scale, act_type=kind, output_dtype=torch.float16)
    values = (rows_of_experts(x, weights) * each_row(scale)).float()
    agree(actual, ACTIVATIONS[kind](values).to(torch.float16))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("four_bits", [False, True])
@pytest.mark.parametrize("blocks", [None, 2])
def test_quantized_weight(dtype: torch.dtype, four_bits: bool, blocks: int | None) -> None:  # noqa: FBT001 - a parameter of the test
    x, weights = some((9, 6), dtype), some((4, 6, 8), INT8, -8, 8)
    shape = (4, 8) if blocks is None else (4, blocks, 8)
    scale, offset = some(shape, dtype, 0, 1), some((4, 8), dtype)
    named = {"antiquant_scale": scale}
    spread = scale[:, None] if blocks is None else scale.repeat_interleave(6 // blocks, 1)
    inner = torch.float16 if dtype == torch.float16 else torch.float32  # of the weight's scaling
    plain = weights.to(inner)
    if blocks is None:
        named["antiquant_offset"] = offset
        plain = plain + offset.to(inner)[:, None]
    actual = run_rows(x, pack_int4(weights) if four_bits else weights, **named)
    agree(actual, rows_of_experts(x, (plain * spread.to(inner)).to(dtype)).to(dtype))


@pytest.mark.parametrize("blocks", [None, 2])
def test_four_bits(blocks: int | None) -> None:
    x, weights = some((9, 16), INT8, -8, 8), some((4, 16, 8), INT8, -8, 8)
    scale = some((4, 8) if blocks is None else (4, blocks, 8), torch.float32, 0, 1)
    token = some((9,), torch.float32, 0, 1)
    actual = run_rows(
        pack_int4(x),
        pack_int4(weights),
        scale=packed_scale(scale),
        per_token_scale=token,
        output_dtype=torch.float16,
    )
    factor = rounded_scale(scale)
    spread = factor[:, None] if blocks is None else factor.repeat_interleave(8, 1)
    agree(actual, (rows_of_experts(x, weights * spread) * token[:, None]).half())


def test_int8_with_four_bit_weight() -> None:
    x, weights = some((9, 16), INT8, -128, 128), some((4, 16, 8), INT8, -8, 8)
    scale, token = some((4, 1, 8), torch.float32, 0, 1), some((9,), torch.float32, 0, 1)
    factor = rounded_scale(scale)
    scaled = weights * factor
    actual = run_rows(
        x,
        pack_int4(weights),
        scale=packed_scale(scale),
        per_token_scale=token,
        bias=8 * scaled.sum(1),
        output_dtype=torch.bfloat16,
    )
    agree(actual, (rows_of_experts(x, scaled) * token[:, None]).bfloat16())


# in place


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("flat", [False, True])
def test_add(dtype: torch.dtype, flat: bool) -> None:  # noqa: FBT001 - a parameter of the test
    x, grad = some((9, 6), dtype), some((9, 5), dtype, -1, 2)
    held = some((24, 5) if flat else (4, 6, 5), torch.float32)
    summed = torch.stack([product(x[rows].t(), grad[rows], None) for rows in split()])
    actual = run_on_npu(torch_npu.npu_grouped_matmul_add_, held, x, grad, group_list(0))
    agree(actual, (held.double() + summed.view(held.shape)).float())


def test_grouped_matmul_refuses_wrong_calls() -> None:
    x, weights = some((9, 6), torch.float32), some((4, 6, 5), torch.float32)

    def run(**named: object) -> object:
        named = {"split_item": 3, "group_type": 0, **named}
        return torch_npu.npu_grouped_matmul([x.to("npu")], [weights.to("npu")], **named)

    rejects("groupList", run, group_list=torch.tensor([3, 2, 7, 9]))
    rejects("groupList", run, group_list=torch.tensor([3, 3, 7, 10]))
    rejects("weights", run, group_list=torch.tensor([3, 3, 7, 8, 9]))
    rejects("actType", run, group_list=torch.tensor([3, 3, 7, 9]), act_type=3)
    rejects("groupListType", run, group_list=torch.tensor([3, 3, 7, 9]), group_list_type=4)


def fourth_version(x: torch.Tensor, weights: torch.Tensor, out: torch.Tensor) -> dict[str, object]:
    """Arguments of aclnnGroupedMatmulV4 by name; a refusal changes some of them."""
    absent = dict.fromkeys(
        (
            "bias",
            "scale",
            "offset",
            "antiquant_scale",
            "antiquant_offset",
            "per_token_scale",
        )
    )
    return {
        "x": [x],
        "weight": [weights],
        **absent,
        "group_list": group_list(0),
        **dict.fromkeys(("activation_input", "activation_scale", "activation_offset")),
        "split_item": 3,
        "group_type": 0,
        "group_list_type": 0,
        "act_type": 0,
        "out": [out],
        **dict.fromkeys(("activation_out", "scale_out")),
    }


@pytest.mark.parametrize(
    ("why", "changed"),
    [
        ("'splitItem' is 4", {"split_item": 4}),
        ("with splitItem 1; allowed", {"split_item": 1}),
        ("and groupType -1", {"group_type": -1}),
        ("'perTokenScale' has 2 tensors", {"per_token_scale": [torch.ones(9), torch.ones(9)]}),
        ("'activationInput'", {"activation_input": [torch.ones(9)]}),
        (
            "needs one more",
            {"group_list": torch.tensor([[4, 9]]), "group_list_type": 2},
        ),
        (
            "needs one more",
            {
                "group_type": 2,
                "split_item": 0,
                "group_list": torch.tensor([[7, 6]]),
                "group_list_type": 2,
                "weight": [torch.ones(6, 5)],
                "out": [torch.ones(9, 5)],
            },
        ),
    ],
)
def test_refusals_of_options(why: str, changed: dict[str, object]) -> None:
    x, weights = some((9, 6), torch.float32), some((4, 6, 5), torch.float32)
    arguments = fourth_version(x, weights, torch.zeros(9, 5)) | changed
    rejects(why, call, "aclnnGroupedMatmulV4", *arguments.values())


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_eight_bit_floats(dtype: torch.dtype) -> None:
    """The function that torch._scaled_grouped_mm calls on later chips."""
    x, weights = some((9, 6), torch.float32).to(dtype), some((4, 6, 5), torch.float32).to(dtype)
    scale, token = some((4, 5), torch.float32, 0, 1), some((9,), torch.float32, 0, 1)
    out = torch.zeros(9, 5, dtype=torch.bfloat16, device="npu")
    lists = [[x.to("npu")], [weights.to("npu")], None, [scale.to("npu")], None, None, None]
    given = [*lists, [token.to("npu")], group_list(0).to("npu"), None, None, None, 3, 0, 0, 0]
    call("aclnnGroupedMatmulV4", *given, [out], None, None)
    agree(out, (rows_of_experts(x, weights) * each_row(scale) * token[:, None]).bfloat16())

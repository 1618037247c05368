"""Phase 1 refuses what dtypes, shapes and attributes decide: native/opapi/dry_run.h.

Nothing here waits for the device before the error: the line that calls the operator raises it.
"""

from __future__ import annotations

import ctypes
import gc
import re
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
from torch.nn import functional

from tests.twin.aclnn_calls import AclnnError, Scalar, call
from tests.twin.ops.compare import agree
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Callable

INVALID = 161002
HALF, INT, LONG = torch.float16, torch.int32, torch.int64


def npu(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype).to("npu")


def swiglu_quant_with_bias() -> object:
    return torch_npu.npu_grouped_matmul_swiglu_quant_v2(
        npu(8, 6, dtype=torch.int8),
        [npu(2, 6, 10, dtype=torch.int8)],
        [npu(2, 10)],
        npu(8),
        torch.tensor([3, 8]).to("npu"),
        bias=npu(2, 10),
    )


# Through torch_npu: the operator, and what its error says.
OPERATORS: dict[str, tuple[Callable[[], object], str]] = {
    "dtype_in_place": (
        lambda: npu(3, dtype=torch.int64).add_(npu(3)),
        "aclnnInplaceAdd.*result type Float can't be cast to the desired output type Long",
    ),
    "operand_that_is_not_available": (
        swiglu_quant_with_bias,
        "aclnnGroupedMatmulSwigluQuant.*'bias' is given",
    ),
    "dtype_without_a_kernel": (
        lambda: torch.bitwise_and(npu(3), npu(3)),
        "aclnnBitwiseAndTensor.*not implemented for 'Float'",
    ),
    "shapes_of_a_product": (lambda: npu(2, 3) @ npu(4, 5), "aclnn.*2x3 and 4x5"),
    "source_of_a_copy": (
        lambda: npu(3).copy_(npu(4)),
        r"aclnnInplaceCopyGetWorkspaceSize: src has shape \[4\]",
    ),
    "weight_of_a_norm": (
        lambda: torch_npu.npu_rms_norm(npu(2, 3), npu(4)),
        r"aclnnRmsNormGetWorkspaceSize: gamma has shape \[4\]; it must be the last sizes of x",
    ),
    "weight_of_an_added_norm": (
        lambda: torch_npu.npu_add_rms_norm(npu(2, 3), npu(2, 3), npu(4)),
        r"aclnnAddRmsNormGetWorkspaceSize: gamma has shape \[4\]",
    ),
    "updates_at_indices": (
        lambda: torch_npu.npu_scatter_nd_update_(
            npu(4, 2), torch.tensor([[0]]).to("npu"), npu(1, 3)
        ),
        r"aclnnScatterNdUpdateGetWorkspaceSize: updates has shape \[1, 3\]",
    ),
    "dimensions_of_added_indices": (
        lambda: npu(3, 3).scatter_add(0, torch.zeros(3, dtype=LONG).to("npu"), npu(3, 3)),
        "aclnnScatterAddGetWorkspaceSize: .*same number of dimensions",
    ),
    "dtype_of_added_values": (
        lambda: npu(3).scatter_add(0, torch.zeros(3, dtype=LONG).to("npu"), npu(3, dtype=LONG)),
        "aclnnScatterAddGetWorkspaceSize: .*dtype",
    ),
    "sizes_of_vectors": (
        lambda: torch.dot(npu(1), npu(3)),
        r"aclnnDotGetWorkspaceSize: .*\[1\] and \[3\]",
    ),
    "bounds_of_a_distribution": (
        lambda: npu(3).uniform_(3, -1),
        "aclnnInplaceUniformGetWorkspaceSize: from is 3 and to is -1",
    ),
    "value_beyond_a_dtype": (
        lambda: npu(3).masked_fill_(npu(3, dtype=torch.bool), 1e300),
        "aclnnInplaceMaskedFillScalarGetWorkspaceSize: value cannot be converted",
    ),
    "dtype_of_a_mask": (
        lambda: npu(3).masked_scatter_(npu(3), npu(3)),
        "aclnnInplaceMaskedScatterGetWorkspaceSize: mask is Float; allowed: Bool",
    ),
    "shapes_of_a_loss": (
        lambda: functional.soft_margin_loss(npu(5, 4), npu(5, 5)),
        r"aclnnSoftMarginLossGetWorkspaceSize: .*size of tensor a \(4\)",
    ),
    "trace_of_no_matrix": (
        lambda: torch.trace(npu(2, 3, 4)),
        "aclnnTraceGetWorkspaceSize: self has shape",
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_refused_at_the_call(name: str) -> None:
    operator, message = OPERATORS[name]
    with pytest.raises(RuntimeError, match=re.compile(message, re.DOTALL)):
        operator()
    agree(npu(3) * 2, torch.full((3,), 2.0))


# Through the C interface: function, arguments, code, and what the error says.
FUNCTIONS: dict[str, tuple[str, Callable[[], tuple[object, ...]], int, str]] = {
    "dtype_of_a_result": (
        "aclnnAdd",
        lambda: (npu(3), npu(3), Scalar(1.0), npu(3, dtype=LONG)),
        INVALID,
        "result type Float can't be cast to the desired output type Long",
    ),
    "dtype_of_integer_division": (
        "aclnnFloorDivide",
        lambda: (npu(3, dtype=HALF), npu(3), npu(3, dtype=INT)),
        INVALID,
        "result type Float can't be cast",
    ),
    "shapes_that_do_not_fit": (
        "aclnnMul",
        lambda: (npu(3), npu(4), npu(3)),
        INVALID,
        r"size of tensor a \(3\) must match the size of tensor b \(4\)",
    ),
    "shape_of_a_result": (
        "aclnnAdd",
        lambda: (npu(3, 4), npu(3, 4), Scalar(1.0), npu(4, 3)),
        INVALID,
        r"output 'out' has shape \[4, 3\], but the operator produces \[3, 4\]",
    ),
    "shape_of_an_empty_result": (
        "aclnnAdd",
        lambda: (npu(3), npu(3), Scalar(1.0), npu(0)),
        INVALID,
        r"output 'out' has shape \[0\], but the operator produces \[3\]",
    ),
    "result_of_empty_operands": (
        "aclnnAdd",
        lambda: (npu(0), npu(0), Scalar(1.0), npu(3)),
        INVALID,
        r"output 'out' has shape \[3\], but the operator produces \[0\]",
    ),
    "dtype_without_a_kernel": (
        "aclnnGcd",
        lambda: (npu(3), npu(3), npu(3)),
        INVALID,
        "not implemented for 'Float'",
    ),
    "dtype_without_a_kernel_of_one_element": (
        "aclnnGcd",
        lambda: (npu(), npu(1), npu(1)),
        INVALID,
        "not implemented for 'Float'",
    ),
    "axis_of_a_reduction": (
        "aclnnReduceSum",
        lambda: (npu(3, 4), [5], False, torch.float32, npu(3)),
        INVALID,
        "Dimension out of range",
    ),
    "axis_of_softmax": (
        "aclnnSoftmax",
        lambda: (npu(3, 4), 2, npu(3, 4)),
        INVALID,
        "Dimension out of range",
    ),
    "mode_of_a_division": (
        "aclnnDivMod",
        lambda: (npu(3), npu(3), 3, npu(3)),
        INVALID,
        "parameter 'mode' is 3, but must be 0",
    ),
    "inner_sizes_of_a_product": (
        "aclnnMatmul",
        lambda: (npu(2, 3), npu(4, 5), npu(2, 5), 0),
        INVALID,
        "2x3 and 4x5|cannot be multiplied|must match",
    ),
    "groups_of_a_normalisation": (
        "aclnnGroupNorm",
        lambda: (npu(2, 6, 5), None, None, 2, 6, 5, 4, 1e-5, npu(2, 6, 5), npu(2, 4), npu(2, 4)),
        INVALID,
        "must divide the number of channels, 6",
    ),
    "lists_that_do_not_fit": (
        "aclnnForeachMulList",
        lambda: ([npu(2)], [npu(3)], [npu(2)]),
        INVALID,
        r"size of tensor a \(2\) must match",
    ),
    "bytes_of_a_mask": (
        "aclnnDropoutGenMask",
        lambda: ([100], 0.5, 3, 0, npu(3, dtype=torch.uint8)),
        INVALID,
        "3 bytes, too few for 100 elements",
    ),
    "probability_of_a_mask": (
        "aclnnDropoutGenMask",
        lambda: ([16], 1.5, 3, 0, npu(2, dtype=torch.uint8)),
        INVALID,
        "prob is 1.5",
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_phase_1_refuses(name: str, again: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A refusal is not remembered as an accepted call."""
    function, arguments, code, message = FUNCTIONS[name]
    if again:
        with pytest.raises(AclnnError):
            call(function, *arguments())
    with pytest.raises(AclnnError, match=f"{function}GetWorkspaceSize: .*({message})") as caught:
        call(function, *arguments())
    assert caught.value.code == code


# Through the C interface: calls that look like the refused ones and are none.
ACCEPTED: dict[str, Callable[[], tuple[torch.Tensor, torch.Tensor]]] = {}


def accepted(
    make: Callable[[], tuple[torch.Tensor, torch.Tensor]],
) -> Callable[[], tuple[torch.Tensor, torch.Tensor]]:
    ACCEPTED[make.__name__] = make
    return make


@accepted
def half_precision_that_aten_computes_in_float32() -> tuple[torch.Tensor, torch.Tensor]:
    x = some((3, 4), HALF)
    out = torch.empty(3, 4, dtype=HALF, device="npu")
    call("aclnnErfinv", x.to("npu"), out)
    return out, x.float().erfinv().to(HALF)


@accepted
def operands_that_are_spread() -> tuple[torch.Tensor, torch.Tensor]:
    a, b = some((3, 1), torch.float32), some((4,), torch.float32)
    out = torch.empty(3, 4, device="npu")
    call("aclnnAdd", a.to("npu"), b.to("npu"), Scalar(1.0), out)
    return out, a + b


@accepted
def integers_divided_by_zero() -> tuple[torch.Tensor, torch.Tensor]:
    out = torch.empty(2, dtype=INT, device="npu")
    zeros = torch.tensor([0, 2], dtype=INT)
    call("aclnnFloorDivide", npu(2, dtype=INT), zeros.to("npu"), out)
    return out, torch.tensor([0, 0], dtype=INT)


@accepted
def result_of_no_elements() -> tuple[torch.Tensor, torch.Tensor]:
    out = torch.empty(0, 4, device="npu")
    call("aclnnMatmul", npu(0, 3), npu(3, 4), out, 0)
    return out, torch.empty(0, 4)


@accepted
def operand_and_result_in_one_memory() -> tuple[torch.Tensor, torch.Tensor]:
    x = npu(5)
    call("aclnnAdd", x, x, Scalar(1.0), x)
    return x, torch.full((5,), 2.0)


@accepted
def part_of_a_tensor_as_result() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.zeros(4, 6, device="npu")
    call("aclnnAdd", npu(4, 3), npu(4, 3), Scalar(1.0), x[:, ::2])
    return x, torch.tensor([2.0, 0.0]).repeat(4, 3)


@pytest.mark.parametrize("name", ACCEPTED)
def test_calls_beside_refused_ones_are_accepted(name: str) -> None:
    agree(*ACCEPTED[name]())


def test_what_values_decide_comes_later() -> None:
    """The call is accepted; the next synchronizing call reports the task's error, once."""
    x, index = npu(3), torch.tensor([5]).to("npu")
    result = torch.index_select(x, 0, index)
    with pytest.raises(RuntimeError, match="aclnnIndexSelect: index out of range"):
        torch_npu.npu.synchronize()
    torch_npu.npu.synchronize()
    assert result.shape == (1,)


def test_earlier_work_is_not_lost() -> None:
    """The stream goes on with what it had, and with what comes after."""
    x = torch.zeros(1000, device="npu")
    for _ in range(50):
        x += 1
    with pytest.raises(RuntimeError, match="can't be cast"):
        npu(3, dtype=LONG).add_(npu(3))
    x += 1
    agree(x, torch.full((1000,), 51.0))


def test_operand_in_place_is_not_touched() -> None:
    x = npu(3, dtype=LONG)
    with pytest.raises(RuntimeError, match="can't be cast"):
        x.add_(npu(3) / 2)
    agree(x, torch.ones(3, dtype=LONG))


def test_refusals_hold_no_memory() -> None:
    x = npu(1 << 20)
    torch_npu.npu.synchronize()
    gc.collect()
    before = torch_npu.npu.memory_allocated()
    for _ in range(20):
        with pytest.raises(RuntimeError, match="must match"):
            call("aclnnMul", x, npu(3), torch.empty_like(x))
    torch_npu.npu.synchronize()
    gc.collect()
    assert torch_npu.npu.memory_allocated() == before


def test_captures_are_refused_at_the_call() -> None:
    """The graph holds what came before and after; the refused operator is not in it."""
    x, y = npu(3), npu(3, dtype=LONG)
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        x += 1
        with pytest.raises(RuntimeError, match="can't be cast"):
            y.add_(x)
        x *= 2
    agree(x, torch.ones(3))
    graph.replay()
    agree(x, torch.full((3,), 4.0))
    agree(y, torch.ones(3, dtype=LONG))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_modes_of_the_caller_change_nothing(mode: Callable[[], torch.no_grad]) -> None:
    x, weight = some((2, 3), torch.float32), some((4, 3), torch.float32)
    on_npu = x.to("npu").requires_grad_(), weight.to("npu").requires_grad_()
    with mode():
        agree(functional.linear(*on_npu).detach(), functional.linear(x, weight))
        with pytest.raises(RuntimeError, match="can't be cast"):
            npu(3, dtype=LONG).add_(npu(3))


def test_transformations_and_autocast_change_nothing() -> None:
    x = some((4, 3), torch.float32)
    agree(torch.func.vmap(torch.sin)(x.to("npu")), x.sin())
    agree(torch.func.grad(lambda t: t.square().sum())(x.to("npu")), 2 * x)
    with torch.autocast("npu", dtype=HALF):
        product = x.to("npu") @ x.to("npu").t()
    assert product.dtype == HALF


def test_profiles_do_not_show_phase_1() -> None:
    """The body runs on the caller's thread for phase 1: without the operators of ATen in it."""
    x = npu(3, 7)
    with torch.autograd.profiler.profile() as profile:
        torch.special.erfinv(x)
    assert [event.name for event in profile.function_events if "erfinv" in event.name] == [
        "aten::special_erfinv",
        "aten::erfinv",
    ]


def is_onednn_on() -> bool:
    return bool(getattr(torch.backends.mkldnn, "enabled"))  # noqa: B009 - no bool for type checkers


def test_onednn_stays_as_the_user_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """ATen's batched products switch oneDNN off for the process when an operand has no memory."""
    x, weight = some((5, 2, 16), torch.bfloat16), some((2, 16, 48), torch.bfloat16)
    on_npu = x.to("npu"), weight.to("npu")
    assert is_onednn_on()
    torch_npu.npu_transpose_batchmatmul(*on_npu, perm_x1=[1, 0, 2])
    assert is_onednn_on()
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    torch_npu.npu_transpose_batchmatmul(on_npu[0][:4], on_npu[1], perm_x1=[1, 0, 2])
    assert not is_onednn_on()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("aclnnInplaceAdd", lambda of: (of(3), of(2, 3), Scalar(2))),
        ("aclnnSub", lambda of: (of(2, 3), of(4, 3), Scalar(2), of(2, 3))),
        ("aclnnLogit", lambda of: (of(6), ctypes.c_double(0.1), of(5))),
        ("aclnnAddr", lambda of: (of(2, 3), of(2), of(4), Scalar(1), Scalar(1), of(2, 3))),
        ("aclnnMseLoss", lambda of: (of(2, 3), of(2, 3), ctypes.c_int64(0), of(3, 2))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_shapes_are_compared_also_where_half_precision_is_converted(
    function: str,
    arguments: Callable[[Callable[..., torch.Tensor]], tuple[object, ...]],
    dtype: torch.dtype,
) -> None:
    with pytest.raises(AclnnError) as refused:
        call(function, *arguments(lambda *shape: npu(*shape, dtype=dtype)))
    assert refused.value.code == INVALID
    assert "GetWorkspaceSize" in str(refused.value)

"""Functions that pages of CANN's operator repositories name, and that neither torch_npu nor one of
their examples calls, against ATen or the page's formula; and those that are refused by name.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from opwright.aclnn.known import read_known_functions
from opwright.twin.symbols import read_library
from opwright.twin.toolkit import installed_toolkit
from tests.twin.aclnn_calls import AclnnError, Scalar, call, describe, nnopbase, prepare
from tests.twin.ops.test_called_by_examples import Out, Ref, compare, gradient, noise, prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

YES, NO = True, False
X, Y, CUBE = noise(4, 6), noise(4, 6), noise(2, 3, 8)
LOW = torch.randint(-9, 9, (4, 6)).int()
HIGH = torch.randint(-9, 9, (4, 6)).int()
BYTES = [torch.randint(-5, 6, shape, dtype=torch.int8) for shape in ((2, 3, 4), (2, 4, 5))]
LISTS = [noise(3), noise(2, 2)]
OTHERS = [noise(3).abs() + 0.5, noise(2, 2).abs() + 0.5]
ROWS = torch.tensor([2, 0, 2])
BOXES = torch.tensor([[0.0, 0, 2, 2], [1, 1, 4, 3], [5, 5, 6, 7]])
GROUND = torch.tensor([[1.0, 0, 3, 2], [0, 0, 4, 4]])
MASK = torch.full((16,), 7, dtype=torch.uint8)  # 128 bits
WEIGHT, POSITIVE = noise(6).abs(), noise(4, 6).abs() + 0.5
TARGETS = torch.rand(4, 6)
HALVES = [noise(5, 8).bfloat16(), noise(8, 3).bfloat16(), noise(8, 3).bfloat16()]


def folded(
    x: torch.Tensor,
    values: torch.Tensor,
    fold: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Return x with the rows that ROWS names folded with these values, one after the other."""
    result = x.clone()
    for i, row in enumerate(ROWS.tolist()):
        result[row] = fold(result[row], values[i])
    return result


def loss_of_targets(reduction: str) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda targets: functional.binary_cross_entropy_with_logits(
        X, targets, WEIGHT, reduction=reduction, pos_weight=POSITIVE
    )


def overlap(boxes: torch.Tensor, others: torch.Tensor, mode: str, eps: float) -> torch.Tensor:
    """Return the overlap of each box with each other one."""
    sides = torch.minimum(boxes[:, None, 2:], others[None, :, 2:])
    sides = sides - torch.maximum(boxes[:, None, :2], others[None, :, :2]) + eps
    shared = sides.clamp(min=0).prod(-1)
    first, second = ((each[:, 2:] - each[:, :2] + eps).prod(-1) for each in (boxes, others))
    return shared / (second[None] if mode == "iof" else first[:, None] + second[None] - shared)


def convolved(x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return functional.conv3d(x.double(), weight.double()).mul(scale[:, None, None, None]).half()


IMAGE = torch.randint(-5, 6, (1, 2, 3, 4, 4), dtype=torch.int8)
FILTER = torch.randint(-5, 6, (3, 2, 1, 2, 2), dtype=torch.int8)
STEPS = torch.tensor([0.5, 0.25, 2.0])
LOGITS, TARGET = noise(2, 3, 16), torch.tensor([[3, 17, 31], [16, 40, 20]]).int()
MOVED = LOGITS - LOGITS.amax(-1, keepdim=True)
OUTSIDE = (TARGET < 16) | (TARGET >= 32)
OFFSET = (TARGET - 16).masked_fill(OUTSIDE, 0)

CASES: list[tuple[str, Sequence[object]]] = [
    # slices: begin, end, strides, and masks for begin, end, ellipsis, new and dropped axes
    ("aclnnStridedSlice", [X, [1, 0], [4, 6], [2, 1], 0, 0, 0, 0, 0, Out(X[1:4:2])]),
    ("aclnnStridedSlice", [X, [9, -9], [-9, 9], [-1, 4], 0, 0, 0, 0, 0, Out(X.flip(0)[:, ::4])]),
    (
        "aclnnStridedSlice",
        [X, [3, 5], [0, 0], [-1, -2], 0, 2, 0, 0, 0, Out(X[[3, 2, 1]][:, [5, 3, 1]])],
    ),
    ("aclnnStridedSlice", [X, [2, 3], [1, 3], [1, 1], 1, 0, 0, 0, 0, Out(X[:1, :0])]),
    (
        "aclnnStridedSlice",
        [
            CUBE,
            [1, 0, 0, 2],
            [2, 0, 0, 6],
            [1, 1, 1, 1],
            0,
            0,
            2,
            4,
            1,
            Out(CUBE[1, :, None, 2:6]),
        ],
    ),
    # arithmetic
    ("aclnnInplaceAddV3", [Scalar(2.0), Ref(X, 2 + 0.5 * X), Scalar(0.5)]),
    ("aclnnBitwiseAndTensorOut", [LOW, HIGH[0], Out(LOW & HIGH[0])]),
    ("aclnnBitwiseAndTensorOut", [X > 0, Y > 0, Out((X > 0) & (Y > 0))]),
    ("aclnnInplaceBitwiseAndTensorOut", [Ref(LOW, LOW & HIGH), HIGH]),
    ("aclnnForeachACosInplace", [Ref([TARGETS, X.tanh()], [TARGETS.acos(), X.tanh().acos()])]),
    ("aclnnForeachLogInplace", [Ref(OTHERS, [each.log() for each in OTHERS])]),
    (
        "aclnnForeachAddListInplace",
        [
            Ref(LISTS, [a + 0.5 * b for a, b in zip(LISTS, OTHERS, strict=True)]),
            OTHERS,
            torch.tensor(0.5),
        ],
    ),
    (
        "aclnnForeachSubListInplace",
        [
            Ref(LISTS, [a - 0.5 * b for a, b in zip(LISTS, OTHERS, strict=True)]),
            OTHERS,
            torch.tensor(0.5),
        ],
    ),
    (
        "aclnnForeachMulListInplace",
        [Ref(LISTS, [a * b for a, b in zip(LISTS, OTHERS, strict=True)]), OTHERS],
    ),
    (
        "aclnnForeachDivListInplace",
        [Ref(LISTS, [a / b for a, b in zip(LISTS, OTHERS, strict=True)]), OTHERS],
    ),
    (
        "aclnnForeachMulScalarInplace",
        [Ref(LISTS, [each * 3 for each in LISTS]), torch.tensor([3.0])],
    ),
    (
        "aclnnForeachSubScalarInplace",
        [Ref(LISTS, [each - 3 for each in LISTS]), torch.tensor([3.0])],
    ),
    # rows that indices name, also twice
    ("aclnnScatterMax", [Ref(X, folded(X, Y, torch.maximum)), ROWS, Y[:3], NO]),
    ("aclnnScatterMin", [Ref(X, folded(X, Y, torch.minimum)), ROWS.int(), Y[:3], YES]),
    (
        "aclnnScatterMul",
        [Ref(LOW, folded(LOW, HIGH, torch.mul)), ROWS, HIGH[:3], NO],
    ),
    (
        "aclnnScatterDiv",
        [
            Ref(X, folded(X, POSITIVE, torch.div)),
            ROWS,
            POSITIVE[:3],
            NO,
        ],
    ),
    (
        "aclnnScatterDiv",
        [
            Ref(torch.tensor([7, -7, 9]).int(), torch.tensor([3, -2, 9]).int()),
            torch.tensor([[0, 1]]),
            torch.tensor([[2, 3]]).int(),
            NO,
        ],
    ),
    # losses
    ("aclnnMseLossOut", [X, Y[:1], 0, Out((X - Y[:1]).square())]),
    ("aclnnMseLossOut", [X, Y, 1, Out(functional.mse_loss(X, Y))]),
    ("aclnnMseLossOut", [X, Y, 2, Out(functional.mse_loss(X, Y, reduction="sum"))]),
    (
        "aclnnBinaryCrossEntropyWithLogitsTargetBackward",
        [
            Y,
            X,
            TARGETS,
            WEIGHT,
            POSITIVE,
            0,
            Out(gradient(loss_of_targets("none"), TARGETS, Y)),
        ],
    ),
    (
        "aclnnBinaryCrossEntropyWithLogitsTargetBackward",
        [
            torch.tensor([2.0]),
            X,
            TARGETS,
            WEIGHT,
            POSITIVE,
            1,
            Out(gradient(loss_of_targets("mean"), TARGETS, torch.tensor(2.0))),
        ],
    ),
    (
        "aclnnBinaryCrossEntropyWithLogitsTargetBackward",
        [torch.ones(4, 6), X, TARGETS, None, None, 0, Out(-X)],
    ),
    (
        "aclnnCrossEntropySumExpAndIndexLogit",
        [
            LOGITS,
            TARGET,
            LOGITS.amax(-1),
            16,
            32,
            Out(MOVED.gather(-1, OFFSET[..., None].long())[..., 0].masked_fill(OUTSIDE, 0)),
            Out(MOVED.exp().sum(-1)),
            Out(MOVED.exp()),
            Out(OFFSET),
            Out(OUTSIDE.int()),
        ],
    ),
    # products
    (
        "aclnnQuantMatmul",
        [
            *BYTES,
            torch.arange(5).int(),
            ctypes.c_float(0.125),
            Out(((BYTES[0].int() @ BYTES[1].int() + torch.arange(5)) * 0.125).half()),
        ],
    ),
    (
        "aclnnQuantMatmul",
        [
            BYTES[0][0],
            BYTES[1][0],
            None,
            ctypes.c_float(2),
            Out((BYTES[0][0].int() @ BYTES[1][0].int() * 2).half()),
        ],
    ),
    (
        "aclnnMatmulEmuSplitWeight",
        [
            *HALVES,
            Out(HALVES[0].float() @ (HALVES[1].float() + HALVES[2].float() / 256)),
            ctypes.c_float(1 / 256),
            ctypes.c_int8(0),
        ],
    ),
    (
        "aclnnQuantConvolutionWeightNz",
        [
            IMAGE,
            FILTER,
            None,
            STEPS,
            None,
            [1, 1, 1],
            [0, 0, 0],
            [1, 1, 1],
            NO,
            [0, 0, 0],
            1,
            ctypes.c_int32(0),
            "",
            Out(convolved(IMAGE, FILTER, STEPS)),
        ],
    ),
    # boxes
    (
        "aclnnIou",
        [BOXES, GROUND, "iou", ctypes.c_float(0), NO, Out(overlap(BOXES, GROUND, "iou", 0))],
    ),
    (
        "aclnnIou",
        [BOXES, GROUND, "iof", ctypes.c_float(1), NO, Out(overlap(BOXES, GROUND, "iof", 1))],
    ),
    (
        "aclnnIou",
        [
            BOXES[:2],
            GROUND,
            "iou",
            ctypes.c_float(0),
            YES,
            Out(overlap(BOXES[:2], GROUND, "iou", 0).diagonal()[:, None].contiguous()),
        ],
    ),
    # where every element has the same fate the mask stays as it is
    ("aclnnDropout", [X, 0.0, YES, 3, 0, Out(X), Ref(MASK, MASK)]),
    ("aclnnDropout", [X, 0.5, NO, 3, 0, Out(X), Ref(MASK, MASK)]),
    ("aclnnDropout", [X, 1.0, YES, 3, 0, Out(torch.zeros(4, 6)), Ref(MASK, MASK)]),
]


@pytest.mark.parametrize(
    ("function", "arguments"), CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)]
)
def test_result(function: str, arguments: Sequence[object]) -> None:
    values = [prepared(argument) for argument in arguments]
    call(function, *values)
    for argument, value in zip(arguments, values, strict=True):
        if isinstance(argument, Out):
            compare(value, argument.expected)
        elif isinstance(argument, Ref):
            compare(value, argument.after)


def test_a_mask_says_what_a_dropout_keeps() -> None:
    x, out = torch.ones(1000, device="npu"), torch.zeros(1000, device="npu")
    mask = torch.zeros(128, dtype=torch.uint8, device="npu")
    call("aclnnDropout", x, 0.25, YES, 3, 0, out, mask)
    bits = (mask.cpu()[:, None] >> torch.arange(8)).bitwise_and(1).flatten()[:1000]
    torch.testing.assert_close(out.cpu(), bits / 0.75)
    assert 0.7 < bits.float().mean().item() < 0.8


WRONG: list[tuple[str, Sequence[object], str]] = [
    ("aclnnStridedSlice", [X, [0, 0], [1, 1], [1, 0], 0, 0, 0, 0, 0, X], r"strides\[1\] is 0"),
    ("aclnnStridedSlice", [X, [0], [1, 1], [1], 0, 0, 0, 0, 0, X], "1, 2 and 1 numbers"),
    ("aclnnStridedSlice", [X, [0, 0], [1, 1], [1, 1], 0, 0, 3, 0, 0, X], "ellipsisMask is 3"),
    ("aclnnDropout", [X, 1.5, YES, 3, 0, X, MASK], "p is 1.5; allowed: 0 to 1"),
    ("aclnnScatterMax", [X, ROWS, Y, NO], "updates has the shape"),
    ("aclnnIou", [BOXES, GROUND, "giou", ctypes.c_float(0), NO, X], "mode is 'giou'; allowed: iof"),
    ("aclnnQuantMatmul", [X, Y, None, ctypes.c_float(1), X], "'x1' is float32; allowed: int8"),
]


@pytest.mark.parametrize(("function", "arguments", "message"), WRONG)
def test_what_cann_refuses_is_refused_at_the_call(
    function: str, arguments: Sequence[object], message: str
) -> None:
    with pytest.raises(AclnnError, match=message) as caught:
        call(function, *map(prepared, arguments))
    assert caught.value.code == 161002


REFUSED = (
    "AttentionToFFN FFNToAttention AttentionWorkerCombine FfnWorkerBatching "
    "InplaceAttentionWorkerScheduler InplaceFfnWorkerScheduler CIoU DeformableConv2dBackward "
    "GroupedDynamicMxQuantWithDualAxis MatmulAbftVerify MxToBlockMxQuant ObfuscationCalculateV2 "
    "ObfuscationSetupV2 QuantFlashAttentionScore QuantFlashAttentionScoreGrad "
    "QuantMatmulActivationQuantWeightNz SituMxQuant WeightQuantPreprocess"
)
ARGUMENTS: dict[str, object] = {
    "tensor": X,
    "ints": [1],
    "int64": 1,
    "int32": ctypes.c_int32(1),
    "float": ctypes.c_float(1),
    "double": 1.0,
    "bool": NO,
    "text": "",
    "dtype": torch.float16,
}


@pytest.mark.parametrize("name", REFUSED.split())
def test_a_function_that_is_not_here_is_refused_by_name(name: str) -> None:
    parameters = read_known_functions()[f"aclnn{name}"].split(", ")
    arguments = [prepared(ARGUMENTS[parameter.split(" ")[0]]) for parameter in parameters]
    refusal = f"aclnn{name}GetWorkspaceSize: this function is not available on the twin: "
    with pytest.raises(AclnnError, match=refusal) as caught:
        prepare(f"aclnn{name}", *arguments)
    assert caught.value.code == 161002


def test_coverage_counts_it_as_refused() -> None:
    library = read_library(installed_toolkit().libraries / "libopapi.so")
    assert {f"aclnn{name}" for name in REFUSED.split()} <= library.refused


def format_of(tensor: ctypes.c_void_p) -> int:
    found = ctypes.c_int()
    nnopbase.aclGetFormat(tensor, ctypes.byref(found))
    return found.value


def test_a_descriptor_stays_as_it_is_where_phase_1_refuses() -> None:
    """Blocks of a filter; `transposed` is refused after the operands have been taken."""
    weight = torch.zeros(16, 16, 1, 1, dtype=torch.float16, device="npu")
    blocks = torch.zeros(16 * 16 * 16, dtype=torch.float16, device="npu")
    out = describe(ctypes.c_void_p(blocks.data_ptr()), (16, 16, 1, 1), torch.float16)
    arguments = [weight, YES, 1, out]
    with pytest.raises(AclnnError, match="transposed is true"):
        prepare("aclnnTransConvolutionWeight", *arguments)
    assert format_of(out) == 2  # ND
    arguments[1] = NO
    call("aclnnTransConvolutionWeight", *arguments)
    assert format_of(out) == 4  # FRACTAL_Z

"""Functions that the examples of CANN's operator repositories call, against formulas in PyTorch.

A case has the arguments in the order of the C function. `Out` stands for an output and what it
holds afterwards, `Ref` for an operand that is changed.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from tests.twin.aclnn_calls import AclnnError, Scalar, call, int64s, nnopbase

if TYPE_CHECKING:
    from collections.abc import Sequence

YES, NO = True, False
GENERATOR = torch.Generator().manual_seed(7)


def noise(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=GENERATOR)


X = noise(4, 6)
Y = noise(4, 6)
GRAD = noise(4, 3)
CUBE = noise(2, 3, 8)
IMAGE = noise(2, 4, 5, 6)
LEFT, RIGHT = X[:, :3], X[:, 3:]


@dataclass(frozen=True)
class Out:
    expected: torch.Tensor


@dataclass(frozen=True)
class Ref:
    before: torch.Tensor | list[torch.Tensor]
    after: torch.Tensor | list[torch.Tensor]


def gradient(function: object, x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """Return the gradient of function(x), by autograd."""
    variable = x.clone().requires_grad_()
    assert callable(function)
    function(variable).backward(grad)
    assert variable.grad is not None
    return variable.grad


def rows_quantized(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = values.abs().amax(-1) / 127
    return (values / scale[..., None]).round().clamp(-128, 127).to(torch.int8), scale


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * weight


def clipped(x: torch.Tensor) -> torch.Tensor:
    gate, factor = x[:, :3].clamp(max=0.7), x[:, 3:].clamp(-0.7, 0.7)
    return gate * torch.sigmoid(1.7 * gate) * (factor + 1)


def situ(x: torch.Tensor) -> torch.Tensor:
    gate, up = x[:, :3], x[:, 3:]
    return 4 * torch.tanh(gate / 4) * torch.sigmoid(gate) * 25 * torch.tanh(up / 25)


def swiglu(x: torch.Tensor) -> torch.Tensor:
    gate, factor = x.chunk(2, -1)
    return functional.silu(gate) * factor


def chamfer(first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    squares = (first[:, :, None] - second[:, None]).square().sum(-1)
    return squares.amin(2), squares.amin(1)


def segsum(x: torch.Tensor) -> torch.Tensor:
    size = x.shape[-1]
    sums = x.cumsum(-1)
    pieces = sums[..., :, None] - sums[..., None, :]
    return pieces.masked_fill(torch.ones(size, size).triu(1).bool(), -torch.inf).exp()


def attention(
    value: torch.Tensor, shapes: list[tuple[int, int]], location: torch.Tensor, weight: torch.Tensor
) -> torch.Tensor:
    """Sample each feature map where `location` says and sum with weights."""
    batch, _, heads, channels = value.shape
    queries, begin = location.shape[1], 0
    total = torch.zeros(batch * heads, channels, queries)
    for level, (height, width) in enumerate(shapes):
        part = value[:, begin : begin + height * width]
        image = part.permute(0, 2, 3, 1).reshape(batch * heads, channels, height, width)
        grid = (2 * location[:, :, :, level] - 1).transpose(1, 2).flatten(0, 1)
        sampled = functional.grid_sample(image, grid, align_corners=False)
        total = total + (
            sampled * weight[:, :, :, level].transpose(1, 2).flatten(0, 1)[:, None]
        ).sum(-1)
        begin += height * width
    return total.view(batch, heads, channels, queries).permute(0, 3, 1, 2).flatten(2)


WEIGHT, BIAS, SMOOTH = noise(8), noise(8), noise(8).abs() + 0.5
SCALE, SHIFT = noise(2, 8), noise(2, 8)
ADAPTED = layer_norm(CUBE, WEIGHT, BIAS) * (1 + SCALE[:, None]) + SHIFT[:, None]
SUM = CUBE + CUBE.flip(0)
NORMAL = layer_norm(SUM, WEIGHT, BIAS)
MEAN, VARIANCE = IMAGE.mean((2, 3), keepdim=True), IMAGE.var((2, 3), correction=0, keepdim=True)
GROUPS = functional.group_norm(IMAGE, 2, WEIGHT[:4], BIAS[:4], 1e-5)
SEGMENTS = noise(2, 3, 4)
BITS = torch.tensor([-1.0, 2, -3, 0, 5, 6, 7, -8, 9, -10])
FIRST, SECOND = noise(2, 5, 2), noise(2, 7, 2)
NEAREST = (FIRST[:, :, None] - SECOND[:, None]).square().sum(-1)
PARTS = [noise(3), noise(2, 2)]
SHAPES = [(2, 3), (1, 2)]
VALUE, PLACES, SHARES = noise(2, 8, 2, 8), torch.rand(2, 3, 2, 2, 4, 2), torch.rand(2, 3, 2, 2, 4)
INTEGERS = [torch.randint(-5, 6, shape, dtype=torch.int8) for shape in ((3, 4), (4, 5))]
PRODUCT = INTEGERS[0].int() @ INTEGERS[1].int()
COLUMNS = torch.rand(5) + 0.5
LABELS = torch.softmax(noise(4, 6), -1)
PADDED = functional.pad(IMAGE, (1, 2, 2, 1), mode="circular")
VOLUME = noise(1, 2, 3, 4, 5)
POOLED, POSITIONS = functional.max_pool2d(IMAGE, 2, return_indices=True)
HALF = noise(2, 3, 4).half()
HALF_CUBE, HALF_IMAGE = CUBE.half(), IMAGE.half()
HALF_WEIGHT, HALF_BIAS, HALF_SMOOTH = WEIGHT.half(), BIAS.half(), SMOOTH.half()
HALF_SCALE, HALF_SHIFT = SCALE.half(), SHIFT.half()
HALF_SUM = HALF_CUBE + HALF_CUBE.flip(0)


def adapted_halves() -> torch.Tensor:
    """Return what the numbers of the half-precision operands give without another rounding."""
    norm = layer_norm(HALF_CUBE.float(), HALF_WEIGHT.float(), HALF_BIAS.float())
    return norm * (1 + HALF_SCALE.float()[:, None]) + HALF_SHIFT.float()[:, None]


def group_halves() -> torch.Tensor:
    weights = HALF_WEIGHT[:4].float(), HALF_BIAS[:4].float()
    return functional.silu(functional.group_norm(HALF_IMAGE.float(), 2, *weights, 1e-5))


def root_mean_square(x: torch.Tensor) -> torch.Tensor:
    return rms_norm(x.float(), HALF_WEIGHT.float())


CASES: list[tuple[str, Sequence[object]]] = [
    # activations
    ("aclnnSelu", [X, Out(functional.selu(X))]),
    ("aclnnInplaceSelu", [Ref(X, functional.selu(X))]),
    ("aclnnSeluBackward", [Y, functional.selu(X), Out(gradient(functional.selu, X, Y))]),
    ("aclnnSwish", [X, Scalar(1.5), Out(X * torch.sigmoid(1.5 * X))]),
    ("aclnnSwish", [X, None, Out(functional.silu(X))]),
    (
        "aclnnSwishBackward",
        [Y, X, Scalar(0.5), Out(gradient(lambda x: x * torch.sigmoid(0.5 * x), X, Y))],
    ),
    ("aclnnHeaviside", [X.round(), Y, Out(torch.heaviside(X.round(), Y))]),
    (
        "aclnnShrink",
        [X, Scalar(0.5), Scalar(0.2), Out((X.abs() > 0.5) * (X - 0.2 * X.sign()))],
    ),
    ("aclnnSquaredRelu", [X, Out(X.relu().square())]),
    ("aclnnFatreluMul", [X, torch.tensor(0.3), Out(torch.where(LEFT < 0.3, 0, LEFT) * RIGHT)]),
    (
        "aclnnGeGlu",
        [
            X,
            -1,
            1,
            Out(LEFT * functional.gelu(RIGHT, approximate="tanh")),
            Out(functional.gelu(RIGHT, approximate="tanh")),
        ],
    ),
    (
        "aclnnGeGluBackward",
        [
            GRAD,
            X,
            functional.gelu(RIGHT),
            -1,
            0,
            Out(gradient(lambda x: x[:, :3] * functional.gelu(x[:, 3:]), X, GRAD)),
        ],
    ),
    ("aclnnClippedSwigluV2", [X, None, 1, 1.7, 0.7, 1.0, NO, 0, Out(clipped(X))]),
    (
        "aclnnClippedSwigluV2",
        [
            X,
            torch.tensor([1, 1]),
            1,
            1.7,
            0.7,
            1.0,
            NO,
            1,
            Out(
                functional.pad(
                    (functional.silu(LEFT).clamp(max=0.7) * RIGHT.clamp(-0.7, 0.7))[:2],
                    (0, 0, 0, 2),
                )
            ),
        ],
    ),
    (
        "aclnnClippedSwigluGrad",
        [GRAD, X, None, 1, 1.7, 0.7, 1.0, NO, Out(gradient(clipped, X, GRAD))],
    ),
    ("aclnnSwigluGroup", [X, X[:, 0].abs(), None, -1.0, Out(swiglu(X) * X[:, :1].abs())]),
    (
        "aclnnSwigluGroupGrad",
        [GRAD, X, None, None, None, ctypes.c_float(0), Out(gradient(swiglu, X, GRAD)), None],
    ),
    ("aclnnSituGlu", [X, -1, 4.0, 25.0, YES, Out(situ(X))]),
    ("aclnnSituGluGrad", [GRAD, X, -1, 4.0, 25.0, YES, Out(gradient(situ, X, GRAD))]),
    # lists
    (
        "aclnnForeachAddcdivList",
        [
            PARTS,
            PARTS,
            [p.exp() for p in PARTS],
            torch.tensor([2.0, 3.0]),
            Ref(
                [torch.zeros_like(p) for p in PARTS],
                [p + s * p / p.exp() for s, p in zip((2, 3), PARTS, strict=True)],
            ),
        ],
    ),
    (
        "aclnnForeachAddcmulList",
        [
            PARTS,
            PARTS,
            PARTS,
            torch.tensor([2.0, 3.0]),
            Ref(
                [torch.zeros_like(p) for p in PARTS],
                [p + s * p * p for s, p in zip((2, 3), PARTS, strict=True)],
            ),
        ],
    ),
    # products
    (
        "aclnnInplaceAddbmm",
        [
            Ref(X[:3, :3], X[:3, :3] * 2 + 3 * (CUBE @ CUBE.mT).sum(0)),
            CUBE,
            CUBE.mT,
            Scalar(2.0),
            Scalar(3.0),
            ctypes.c_int8(0),
        ],
    ),
    (
        "aclnnInplaceBaddbmm",
        [
            Ref(CUBE[:, :, :3], CUBE[:, :, :3] * 2 + 3 * (CUBE @ CUBE.mT)),
            CUBE,
            CUBE.mT,
            Scalar(2.0),
            Scalar(3.0),
            ctypes.c_int8(0),
        ],
    ),
    (
        "aclnnGemm",
        [
            X,
            Y,
            X[:, :4],
            ctypes.c_float(2),
            ctypes.c_float(3),
            0,
            1,
            Out(2 * X @ Y.t() + 3 * X[:, :4]),
            ctypes.c_int8(0),
        ],
    ),
    ("aclnnEinsum", [[X[0], Y[0, :2]], "a,b->ab", Out(torch.outer(X[0], Y[0, :2]))]),
    (
        "aclnnEinsum",
        [
            [IMAGE, noise(2, 4, 5, 3, 6) * 0 + 1],
            "abcd,abced->abce",
            Out(IMAGE.sum(-1)[..., None].expand(2, 4, 5, 3)),
        ],
    ),
    (
        "aclnnQuantMatmulV3",
        [*INTEGERS, COLUMNS, None, None, NO, NO, Out((PRODUCT * COLUMNS).bfloat16())],
    ),
    (
        "aclnnQuantMatmulV4",
        [
            *INTEGERS,
            COLUMNS,
            None,
            COLUMNS[:3],
            torch.arange(5, dtype=torch.int32),
            NO,
            NO,
            Out(((PRODUCT + torch.arange(5)) * COLUMNS * COLUMNS[:3, None]).half()),
        ],
    ),
    (
        "aclnnWeightQuantBatchMatmul",
        [
            HALF[0],
            INTEGERS[1],
            None,
            None,
            None,
            COLUMNS.half(),
            COLUMNS.half(),
            None,
            NO,
            NO,
            ctypes.c_float(1),
            ctypes.c_float(0),
            Out(
                (HALF[0].float() @ ((INTEGERS[1] + COLUMNS.half().float()) * COLUMNS.half())).half()
            ),
        ],
    ),
    # normalisations
    ("aclnnAdaLayerNorm", [CUBE, SCALE, SHIFT, WEIGHT, BIAS, 1e-5, Out(ADAPTED)]),
    (
        "aclnnAdaLayerNormV2",
        [
            CUBE,
            SCALE[:, None],
            SHIFT[:, None],
            WEIGHT,
            BIAS,
            1e-5,
            Out(ADAPTED),
            Out(CUBE.mean(-1, keepdim=True)),
            Out((CUBE.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()),
        ],
    ),
    (
        "aclnnAdaLayerNormBackward",
        [
            SUM,
            CUBE,
            [8],
            (CUBE.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt(),
            CUBE.mean(-1, keepdim=True),
            SCALE,
            SHIFT,
            WEIGHT,
            BIAS,
            Out(gradient(lambda x: layer_norm(x, WEIGHT, BIAS) * (1 + SCALE[:, None]), CUBE, SUM)),
            Out((SUM * layer_norm(CUBE, WEIGHT, BIAS)).sum(1)),
            Out(SUM.sum(1)),
            Out(gradient(lambda w: layer_norm(CUBE, w, BIAS) * (1 + SCALE[:, None]), WEIGHT, SUM)),
            Out((SUM * (1 + SCALE[:, None])).sum((0, 1))),
        ],
    ),
    (
        "aclnnAdaLayerNormQuant",
        [
            HALF_CUBE,
            HALF_SCALE,
            HALF_SHIFT,
            HALF_WEIGHT,
            HALF_BIAS,
            HALF_SMOOTH,
            1e-5,
            "dynamic",
            *map(Out, rows_quantized(adapted_halves() * HALF_SMOOTH.float())),
            None,
        ],
    ),
    (
        "aclnnAddLayerNormQuant",
        [
            CUBE,
            CUBE.flip(0),
            WEIGHT,
            BIAS,
            None,
            SMOOTH,
            None,
            None,
            None,
            "static",
            1e-5,
            YES,
            YES,
            Out((NORMAL / SMOOTH).round().to(torch.int8)),
            None,
            Out(SUM),
            None,
            None,
        ],
    ),
    (
        "aclnnAddLayerNormQuantV2",
        [
            CUBE,
            CUBE.flip(0),
            WEIGHT,
            BIAS,
            None,
            SMOOTH,
            SMOOTH * 2,
            None,
            None,
            "dynamic",
            1e-5,
            NO,
            NO,
            *[Out(rows_quantized(NORMAL * SMOOTH * k)[0]) for k in (1, 2)],
            None,
            Out(NORMAL),
            *[Out(rows_quantized(NORMAL * SMOOTH * k)[1]) for k in (1, 2)],
        ],
    ),
    (
        "aclnnLayerNormQuant",
        [
            CUBE,
            WEIGHT[None],
            BIAS[None],
            torch.tensor([0.5]),
            torch.tensor([3], dtype=torch.int8),
            ctypes.c_int32(0),
            1e-5,
            Out((layer_norm(CUBE, WEIGHT, BIAS) / 0.5 + 3).round().to(torch.int8)),
            None,
        ],
    ),
    (
        "aclnnLayerNormWithImplMode",
        [
            CUBE,
            [8],
            WEIGHT,
            BIAS,
            1e-5,
            Out(layer_norm(CUBE, WEIGHT, BIAS)),
            None,
            None,
            ctypes.c_int32(0),
        ],
    ),
    (
        "aclnnAddRmsNormDynamicQuant",
        [
            HALF_CUBE,
            HALF_CUBE.flip(0),
            HALF_WEIGHT,
            HALF_SMOOTH,
            None,
            1e-5,
            Out(rows_quantized(root_mean_square(HALF_SUM) * HALF_SMOOTH.float())[0]),
            None,
            Out(HALF_SUM),
            Out(rows_quantized(root_mean_square(HALF_SUM) * HALF_SMOOTH.float())[1]),
            None,
        ],
    ),
    (
        "aclnnRmsNormDynamicQuant",
        [
            HALF_CUBE,
            HALF_WEIGHT,
            HALF_SMOOTH,
            HALF_BIAS,
            1e-5,
            2,
            *map(
                Out, rows_quantized((root_mean_square(HALF_CUBE) + HALF_BIAS) * HALF_SMOOTH.float())
            ),
        ],
    ),
    (
        "aclnnInstanceNorm",
        [
            IMAGE,
            WEIGHT[:4],
            BIAS[:4],
            "NCHW",
            1e-5,
            Out(functional.instance_norm(IMAGE, weight=WEIGHT[:4], bias=BIAS[:4], eps=1e-5)),
            Out(MEAN),
            Out(VARIANCE),
        ],
    ),
    (
        "aclnnGroupNormSiluV2",
        [IMAGE, WEIGHT[:4], BIAS[:4], 2, 1e-5, NO, Out(GROUPS), None, None],
    ),
    (
        "aclnnGroupNormSiluQuant",
        [
            HALF_IMAGE,
            HALF_WEIGHT[:4],
            HALF_BIAS[:4],
            SMOOTH[:4],
            2,
            1e-5,
            YES,
            Out((group_halves() / SMOOTH[:4, None, None]).round().to(torch.int8)),
            None,
            None,
        ],
    ),
    (
        "aclnnQuantizedBatchNorm",
        [
            INTEGERS[0][None, :, :, None],
            WEIGHT[:3],
            SMOOTH[:3],
            Scalar(0.5),
            Scalar(2),
            Scalar(0.1),
            Scalar(3),
            SMOOTH[:3],
            BIAS[:3],
            ctypes.c_float(1e-5),
            Out(
                (
                    functional.batch_norm(
                        (INTEGERS[0][None, :, :, None].float() - 2) * 0.5,
                        WEIGHT[:3],
                        SMOOTH[:3],
                        SMOOTH[:3],
                        BIAS[:3],
                        eps=1e-5,
                    )
                    / 0.1
                    + 3
                )
                .round()
                .clamp(-128, 127)
                .to(torch.int8)
            ),
        ],
    ),
    (
        "aclnnFastBatchNormBackward",
        [
            IMAGE.flip(0),
            IMAGE,
            SMOOTH[:4],
            None,
            None,
            IMAGE.mean((0, 2, 3)),
            (IMAGE.var((0, 2, 3), correction=0) + 1e-5).rsqrt(),
            YES,
            1e-5,
            [YES, NO, YES],
            ctypes.c_int32(1),
            Out(
                gradient(
                    lambda x: functional.batch_norm(
                        x, None, None, SMOOTH[:4], training=True, eps=1e-5
                    ),
                    IMAGE,
                    IMAGE.flip(0),
                )
            ),
            None,
            Out(IMAGE.sum((0, 2, 3))),
        ],
    ),
    ("aclnnModulate", [CUBE, SCALE, SHIFT, Out(CUBE * (1 + SCALE[:, None]) + SHIFT[:, None])]),
    (
        "aclnnModulateBackward",
        [
            SUM,
            CUBE,
            SCALE,
            SHIFT,
            Out(SUM * SCALE[:, None]),
            Out((SUM * CUBE).sum(1)),
            Out(SUM.sum(1)),
        ],
    ),
    # losses, sums
    (
        "aclnnSoftmaxCrossEntropyWithLogits",
        [
            X,
            LABELS,
            Out(functional.cross_entropy(X, LABELS, reduction="none")),
            Out(X.softmax(-1) - LABELS),
        ],
    ),
    (
        "aclnnChamferDistanceBackward",
        [
            FIRST,
            SECOND,
            NEAREST.argmin(2).int(),
            NEAREST.argmin(1).int(),
            FIRST[..., 0],
            SECOND[..., 0],
            Out(
                gradient(
                    lambda p: torch.cat(chamfer(p, SECOND), 1),
                    FIRST,
                    torch.cat([FIRST[..., 0], SECOND[..., 0]], 1),
                )
            ),
            Out(
                gradient(
                    lambda p: torch.cat(chamfer(FIRST, p), 1),
                    SECOND,
                    torch.cat([FIRST[..., 0], SECOND[..., 0]], 1),
                )
            ),
        ],
    ),
    ("aclnnExpSegsum", [SEGMENTS, Out(segsum(SEGMENTS))]),
    (
        "aclnnExpSegsumBackward",
        [segsum(SEGMENTS), segsum(SEGMENTS), Out(gradient(segsum, SEGMENTS, segsum(SEGMENTS)))],
    ),
    ("aclnnPrecisionCompare", [X, X.clone(), Out(torch.tensor(0, dtype=torch.int32))]),
    ("aclnnPrecisionCompare", [X, Y, Out(torch.tensor(1, dtype=torch.int32))]),
    (
        "aclnnScale",
        [
            IMAGE,
            SCALE[0, :5],
            BIAS[:5],
            2,
            1,
            YES,
            Out(IMAGE * SCALE[0, :5, None] + BIAS[:5, None]),
        ],
    ),
    ("aclnnScale", [IMAGE, X[:, :5], None, 1, 0, NO, Out(IMAGE * X[:, :5, None])]),
    (
        "aclnnSignBitsPack",
        [BITS, 1, Out(torch.tensor([[0b01111010, 0b00000001]], dtype=torch.uint8))],
    ),
    (
        "aclnnSignBitsUnpack",
        [
            torch.tensor([0b00000101], dtype=torch.uint8),
            2,
            torch.float32,
            Out(torch.tensor([[1.0, -1, 1, -1], [-1, -1, -1, -1]])),
        ],
    ),
    # shapes
    ("aclnnCircularPad2d", [IMAGE, [1, 2, 2, 1], Out(PADDED)]),
    (
        "aclnnCircularPad2dBackward",
        [
            PADDED,
            IMAGE,
            [1, 2, 2, 1],
            Out(
                gradient(lambda x: functional.pad(x, (1, 2, 2, 1), mode="circular"), IMAGE, PADDED)
            ),
        ],
    ),
    (
        "aclnnCircularPad3d",
        [
            VOLUME,
            [1, 0, 2, 1, 1, 1],
            Out(functional.pad(VOLUME, (1, 0, 2, 1, 1, 1), mode="circular")),
        ],
    ),
    (
        "aclnnCircularPad3dBackward",
        [
            torch.ones(1, 2, 5, 7, 6),
            VOLUME,
            [1, 0, 2, 1, 1, 1],
            Out(
                gradient(
                    lambda x: functional.pad(x, (1, 0, 2, 1, 1, 1), mode="circular"),
                    VOLUME,
                    torch.ones(1, 2, 5, 7, 6),
                )
            ),
        ],
    ),
    ("aclnnDiag", [X, 1, Out(X.diagonal(1).contiguous())]),
    ("aclnnDiag", [X[0], -1, Out(torch.diag(X[0], -1))]),
    (
        "aclnnStridedSliceAssignV2",
        [
            Ref(X, X.index_put((torch.tensor([[1], [3]]), torch.tensor([1, 2])), Y[:2, :2])),
            Y[:2, :2],
            [1, 1],
            [4, 3],
            [2, 1],
            None,
        ],
    ),
    ("aclnnGroupedBiasAddGrad", [X, torch.tensor([1, 4]), Out(torch.stack([X[0], X[1:].sum(0)]))]),
    ("aclnnGroupedBiasAddGrad", [CUBE, None, Out(CUBE.sum(1))]),
    ("aclnnGatherV2", [CUBE, 1, torch.tensor([-1, 0]), Out(CUBE[:, [2, 0]])]),
    (
        "aclnnExpandIntoJaggedPermute",
        [
            torch.tensor([1, 0]).int(),
            torch.tensor([0, 2, 5]).int(),
            torch.tensor([0, 3, 5]).int(),
            5,
            Out(torch.tensor([2, 3, 4, 0, 1]).int()),
        ],
    ),
    (
        "aclnnScatterNd",
        [
            X,
            torch.tensor([[0, 1], [2, 3]]),
            torch.tensor([7.0, 8.0]),
            Out(
                X.index_put((torch.tensor([0, 2]), torch.tensor([1, 3])), torch.tensor([7.0, 8.0]))
            ),
        ],
    ),
    (
        "aclnnTfScatterAdd",
        [Ref(X, X.index_add(0, torch.tensor([2, 2]), Y[:2])), torch.tensor([2, 2]), Y[:2]],
    ),
    (
        "aclnnTfScatterAdd",
        [
            Ref(X, X.index_put((torch.tensor([1]), torch.tensor([5])), Y[0, :1], accumulate=True)),
            torch.tensor([[1, 5]]),
            Y[0, :1],
        ],
    ),
    (
        "aclnnScatterList",
        [
            Ref([X], [torch.cat([X[:1], Y[:2], X[3:]])]),
            torch.tensor([[1, 2]]),
            Y[None],
            None,
            "update",
            -2,
        ],
    ),
    (
        "aclnnMaxPool",
        [IMAGE, [2, 2], [2, 2], 0, [], [1, 1], 0, Out(functional.max_pool2d(IMAGE, 2))],
    ),
    (
        "aclnnMaxPool",
        [
            IMAGE,
            [2, 3],
            [2, 2],
            0,
            [0, 1, 1, 0],
            [1, 1],
            0,
            Out(
                functional.max_pool2d(
                    functional.pad(IMAGE, (1, 0, 0, 1), value=-torch.inf), (2, 3), 2
                )
            ),
        ],
    ),
    (
        "aclnnMaxUnpool2dBackward",
        [
            IMAGE,
            POOLED,
            POSITIONS,
            [5, 6],
            Out(IMAGE.flatten(2).gather(2, POSITIONS.flatten(2)).view(POSITIONS.shape)),
        ],
    ),
    (
        "aclnnMaxUnpool3dBackward",
        [
            VOLUME,
            VOLUME[..., :1],
            torch.arange(24).view(1, 2, 3, 4, 1),
            [3, 4, 5],
            [1, 1, 1],
            [0, 0, 0],
            Out(VOLUME.flatten(2).gather(2, torch.arange(24).view(1, 2, 12)).view(1, 2, 3, 4, 1)),
        ],
    ),
    # quantization
    (
        "aclnnSwiGluQuant",
        [
            X,
            torch.ones(1, 3),
            None,
            torch.tensor([4]).int(),
            YES,
            "dynamic",
            Out(rows_quantized(swiglu(X))[0]),
            Out(127 / swiglu(X).abs().amax(-1)),
        ],
    ),
    (
        "aclnnDequantSituQuant",
        [
            X.half(),
            None,
            None,
            None,
            torch.tensor([0.01]),
            torch.tensor([2.5]),
            None,
            ctypes.c_float(4),
            ctypes.c_float(25),
            YES,
            "static",
            Out((situ(X.half().float()) / 0.01 + 2.5).trunc().clamp(-128, 127).to(torch.int8)),
            None,
        ],
    ),
    (
        "aclnnDequantSituQuant",
        [
            torch.tensor([[3, -2, 5, 4]], dtype=torch.int8),
            torch.tensor([0.5]),
            None,
            torch.tensor([0.25, 0.0, 0.0, 0.5]),
            None,
            None,
            None,
            ctypes.c_float(4),
            ctypes.c_float(0),
            NO,
            "dynamic",
            Out(torch.tensor([[127, -72]], dtype=torch.int8)),
            Out(torch.tensor([0.0282496])),
        ],
    ),
    # sampling
    (
        "aclnnMultiScaleDeformableAttnFunction",
        [
            VALUE,
            torch.tensor(SHAPES),
            torch.tensor([0, 6]),
            PLACES,
            SHARES,
            Out(attention(VALUE, SHAPES, PLACES, SHARES)),
        ],
    ),
    (
        "aclnnMultiScaleDeformableAttentionGrad",
        [
            VALUE,
            torch.tensor(SHAPES),
            torch.tensor([0, 6]),
            PLACES,
            SHARES,
            torch.ones(2, 3, 16),
            Out(
                gradient(
                    lambda v: attention(v, SHAPES, PLACES, SHARES), VALUE, torch.ones(2, 3, 16)
                )
            ),
            Out(
                gradient(
                    lambda p: attention(VALUE, SHAPES, p, SHARES), PLACES, torch.ones(2, 3, 16)
                )
            ),
            Out(
                gradient(
                    lambda s: attention(VALUE, SHAPES, PLACES, s), SHARES, torch.ones(2, 3, 16)
                )
            ),
        ],
    ),
    # siblings that no example calls
    ("aclnnSquare", [X, Out(X.square())]),
    ("aclnnXlog1py", [X.relu(), Y.abs()[:1], Out(X.relu() * Y.abs()[:1].log1p())]),
    ("aclnnGatherNd", [CUBE, torch.tensor([[1, -1], [0, 2]]), YES, Out(CUBE[[1, 0], [-1, 2]])]),
    ("aclnnPdistForward", [X, Scalar(3.0), Out(torch.pdist(X, 3.0))]),
    (
        "aclnnGroupedBiasAddGradV2",
        [X, torch.tensor([1, 3]), 1, Out(torch.stack([X[0], X[1:].sum(0)]))],
    ),
    ("aclnnBernoulliTensor", [X, (X > 0).float(), 1, 0, Out((X > 0).float())]),
    # the gradient of a dropout whose scale is 1 is the gradient
    ("aclnnDropoutBackward", [X, torch.zeros(16, dtype=torch.uint8), 1.0, Out(X)]),
    ("aclnnDropoutBackward", [X, torch.full((16,), 255, dtype=torch.uint8), 2.0, Out(2 * X)]),
    ("aclnnGeluBackward", [Y.round().int(), X, Out(gradient(functional.gelu, X, Y.round()))]),
    (
        "aclnnTransMatmulWeight",
        [Ref(torch.zeros(16, 16).half(), torch.zeros(16, 16).half())],
    ),
]


def prepared(value: object) -> object:
    """Return the argument on the NPU; an output holds other numbers at first."""
    match value:
        case Out(expected):
            return torch.full_like(expected, 99).to("npu")
        case Ref(before, _):
            return prepared(before)
        case list():
            return [prepared(item) for item in value]
        case torch.Tensor():
            return value.contiguous().to("npu")
        case _:
            return value


def compare(actual: object, expected: torch.Tensor | list[torch.Tensor]) -> None:
    if isinstance(expected, list):
        assert isinstance(actual, list)
        for one, other in zip(actual, expected, strict=True):
            compare(one, other)
        return
    assert isinstance(actual, torch.Tensor)
    half = expected.dtype in {torch.half, torch.bfloat16}
    tolerance = 1e-2 if half else 2e-5
    torch.testing.assert_close(actual.cpu(), expected, rtol=tolerance, atol=tolerance)


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


REFUSED: list[tuple[str, Sequence[object], str]] = [
    ("aclnnHansDecode", [X, X, X, X, NO, X], "compressed numbers is not documented"),
    (
        "aclnnSilentCheck",
        [X, X, X, X, ctypes.c_int32(7), *[ctypes.c_float(1)] * 4, ctypes.c_int32(1), X],
        "codes of its result are not documented",
    ),
    ("aclnnEinsum", [[X, X], "ij,ij->i", X], "equation is 'ij,ij->i'; allowed: 'abcd,abced->abce'"),
    ("aclnnMaxPool", [IMAGE, [2, 2], [], 1, [], [], 0, IMAGE], "autoPad is 1; allowed: 0"),
    ("aclnnCircularPad2d", [IMAGE, [7, 0, 0, 0], IMAGE], r"padding\[0\] is 7; allowed: 0 to .* 6"),
    ("aclnnSinkhorn", [X, Scalar(0.0), X], "tol is 0; allowed: more than 0"),
    ("aclnnSituGlu", [X, -1, 0.0, 1.0, YES, GRAD], "beta is 0"),
    ("aclnnGroupedBiasAddGrad", [X, None, X], "gradY has 2 dims; allowed: 3 without"),
    (
        "aclnnLayerNormWithImplMode",
        [CUBE, [8], None, None, 1e-5, CUBE, None, None, ctypes.c_int32(3)],
        "implMode is 3; allowed: 0, 1, 2",
    ),
    ("aclnnStridedSliceAssignV2", [X, X, [0, 0], [4, 6], [1, 2], None], r"strides\[1\] is 2"),
    ("aclnnSignBitsPack", [BITS, 3, torch.zeros(3, 1, dtype=torch.uint8)], "size is 3; it must"),
    (
        "aclnnBidirectionLSTM",
        [
            HALF_CUBE,
            HALF_CUBE,
            HALF_CUBE,
            torch.zeros(32, 8).half(),
            torch.zeros(32, 8).half(),
            None,
            None,
            None,
            None,
            None,
            None,
            2,
            NO,
            NO,
            NO,
            HALF_CUBE,
            HALF_CUBE,
            HALF_CUBE,
        ],
        "numLayers is 2; allowed: 1",
    ),
]


@pytest.mark.parametrize(("function", "arguments", "message"), REFUSED)
def test_what_cann_refuses_is_refused_at_the_call(
    function: str, arguments: Sequence[object], message: str
) -> None:
    with pytest.raises(AclnnError, match=message) as caught:
        call(function, *map(prepared, arguments))
    assert caught.value.code == 161002


def test_factors_of_rows_and_columns_make_equal_sums() -> None:
    out = torch.zeros(4, 6, device="npu")
    call("aclnnSinkhorn", X.to("npu"), Scalar(1e-9), out)
    torch.testing.assert_close(out.cpu().sum(0), torch.full((6,), 1 / 6), rtol=1e-4, atol=0)
    torch.testing.assert_close(out.cpu().sum(1), torch.full((4,), 1 / 4), rtol=1e-3, atol=0)


def test_numbers_of_a_distribution_with_a_probability() -> None:
    out = torch.zeros(1000, device="npu")
    call("aclnnBernoulli", out, Scalar(0.25), 3, 0, out)
    assert set(out.tolist()) == {0.0, 1.0}
    assert 0.2 < out.mean().item() < 0.3


@pytest.mark.parametrize("packed", [None, False, True])
def test_a_layer_in_two_directions(*, packed: bool | None) -> None:
    """All of one length, of several lengths with what fills them up, and without it."""
    network = torch.nn.LSTM(5, 4, bidirectional=True)
    weights = [weight.detach() for weight in network.parameters()]
    state = [noise(2, 3, 4), noise(2, 3, 4)]
    x, lengths = noise(6, 3, 5), torch.tensor([6, 4, 1])
    sizes = (lengths[None] > torch.arange(6)[:, None]).sum(1)
    used = lengths[None] > torch.arange(6)[:, None]
    if packed is None:
        expected, last = network(x, tuple(state))
    else:
        sequence = torch.nn.utils.rnn.pack_padded_sequence(x, lengths)
        result, last = network(sequence, tuple(state))
        expected, _ = torch.nn.utils.rnn.pad_packed_sequence(result)
        expected = expected[used] if packed else expected
    arguments = [each.half() for each in (x[used] if packed else x, *state, *weights)]
    outputs = [Out(each.detach().half()) for each in (expected, *last)]
    values: list[object] = list(map(prepared, arguments))
    results = list(map(prepared, outputs))
    if packed is None:
        call("aclnnBidirectionLSTM", *values, 1, YES, NO, YES, *results)
    else:
        options = [prepared(sizes.int()), 1, YES, NO, YES, packed]
        call("aclnnBidirectionLSTMV2", *values, *options, *results)
    for output, value in zip(outputs, results, strict=True):
        compare(value, output.expected)


@pytest.mark.parametrize("shift", [0, 1])
def test_windows_at_points_that_are_data(shift: int) -> None:
    """Points that are all moved by one column see an image with another border."""
    x, weight = noise(1, 4, 6, 6), noise(3, 4, 3, 3)
    bordered = functional.pad(x, (1 - shift, 1 + shift, 1, 1))
    expected = functional.conv2d(bordered, weight * 0.5, stride=2)
    offset = torch.zeros(1, 3, 2, 9, 3, 3)
    offset[:, 0], offset[:, 2] = shift, 0.5
    numbers = [[3, 3], [1, 1, 2, 2], [1, 1, 1, 1], [1, 1, 1, 1], 1, 2, YES]
    out = torch.zeros_like(expected).to("npu")
    arguments = [x, weight, offset.view(1, 54, 3, 3), None, *numbers]
    call("aclnnDeformableConv2d", *map(prepared, arguments), out, None)
    compare(out, expected)


def test_moments_that_are_kept_as_indices_into_a_map() -> None:
    count, rate, decay, betas = 300, 0.1, 0.01, (0.9, 0.99)
    var, grad = noise(count), noise(count)
    maps = [torch.linspace(-1, 1, 256), torch.linspace(0, 1, 256)]
    indices = [torch.randint(0, 256, (count,), dtype=torch.uint8) for _ in maps]
    largest = [torch.tensor([0.5, 2.0]), torch.tensor([1.0, 3.0])]
    of_block = torch.arange(count) // 256
    old = [m[i.long()] * s[of_block] for m, i, s in zip(maps, indices, largest, strict=True)]
    scaled = grad * 0.5
    first = old[0] * betas[0] + scaled * (1 - betas[0])
    second = old[1] * betas[1] + scaled.square() * (1 - betas[1])
    corrected = first / (1 - betas[0] ** 3) / ((second / (1 - betas[1] ** 3)).sqrt() + 1e-8)
    expected = var - rate * corrected - rate * decay * var
    values = [value.to("npu") for value in (var, grad, *indices, *maps, *largest)]
    step = torch.tensor([3]).to("npu")
    call("aclnnApplyAdamWQuant", *values, step, rate, *betas, decay, 1e-8, 0.5, "", 256)
    compare(values[0], expected)
    for i, moment in enumerate((first, second)):
        tops = torch.stack([moment[:256].abs().amax(), moment[256:].abs().amax()])
        compare(values[6 + i], tops)
        kept = maps[i][values[2 + i].cpu().long()] * tops[of_block]
        assert ((kept - moment).abs() <= tops[of_block] * (1.01 / 255)).all()


def test_integers_of_four_bits_are_packed_one_behind_the_other() -> None:
    rows = torch.randint(-8, 8, (32, 128), dtype=torch.int32)
    packed = torch.zeros(32, 16, dtype=torch.int32).to("npu")
    call("aclnnConvertWeightToINT4Pack", rows.to("npu"), packed)
    shifts = torch.arange(0, 32, 4, dtype=torch.int32)
    nibbles = (packed.cpu().unsqueeze(-1) >> shifts).bitwise_and(15).bitwise_xor(8) - 8
    assert torch.equal(nibbles.flatten(1), rows)


def test_integers_of_four_bits_are_packed_in_blocks() -> None:
    """FRACTAL_NZ (29) of int4 (29): blocks of 16 rows and 64 columns, one below the other."""
    rows = torch.randint(-8, 8, (32, 128), dtype=torch.int32)
    memory = torch.zeros(2, 2, 16, 32, dtype=torch.uint8).to("npu")
    handle = nnopbase.aclCreateTensor(
        int64s([32, 128]),
        ctypes.c_uint64(2),
        29,
        int64s([128, 1]),
        ctypes.c_int64(0),
        29,
        int64s([2, 2, 16, 64]),
        ctypes.c_uint64(4),
        ctypes.c_void_p(memory.data_ptr()),
    )
    call("aclnnConvertWeightToINT4Pack", rows.to("npu"), ctypes.c_void_p(handle))
    blocks = rows.view(2, 16, 2, 64).permute(2, 0, 1, 3).bitwise_and(15)
    assert torch.equal(memory.cpu().int(), blocks[..., ::2] + 16 * blocks[..., 1::2])
    read = torch.zeros(1, 128).half().to("npu")
    ones = torch.ones(1, 32).half().to("npu")
    scale = torch.ones(128).half().to("npu")
    call(
        "aclnnWeightQuantBatchMatmulV2",
        *(ones, ctypes.c_void_p(handle), scale, None, None, None, None, ctypes.c_int32(0), read),
    )
    compare(read, rows.sum(0, keepdim=True).half())


def test_only_matrices_of_a_group_are_quantized() -> None:
    x = noise(4, 4, 8).half()
    left, right = torch.eye(4).half(), torch.eye(8).half()
    out, scale = torch.zeros(4, 4, 1).int(), torch.full((4,), 9.0)
    values = [value.to("npu") for value in (x, left, right, torch.tensor([1, 2]))]
    results = [out.to("npu"), scale.to("npu")]
    call("aclnnFlatQuantV3", *values, 1.0, 0.0, 1, *results)
    compare(results[1], torch.cat([x[:3].flatten(1).abs().amax(1).float() / 7, scale[3:]]))
    assert results[0][3].cpu().count_nonzero() == 0

"""The operators of reference section 8.5, each with a function that uses it and its inputs.

A row: the operator with its overload, the expression in TorchScript, the inputs x, y, z (a shape
is a float tensor of that shape, anything else is made by a function of `INPUTS`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Shape = tuple[int, ...]

INPUTS: Final[Mapping[str, Callable[[], torch.Tensor]]] = {
    "positive": lambda: torch.rand(2, 3, 4) + 0.5,
    "above_one": lambda: torch.rand(2, 3, 4) + 1.5,
    "unit": lambda: torch.rand(2, 3, 4) * 1.8 - 0.9,
    "bool": lambda: torch.rand(2, 3, 4) > 0.5,
    "int": lambda: torch.randint(-9, 9, (2, 3, 4)),
    "divisor": lambda: torch.randint(1, 5, (2, 3, 4)),
    "infinite": lambda: torch.tensor([[1.0, torch.inf, -torch.inf, torch.nan]]),
    "index": lambda: torch.tensor([2, 0, 1]),
    "index2": lambda: torch.tensor([1, 1, 0]),
    "index3": lambda: torch.randint(0, 2, (2, 3, 4)),
    "one": lambda: torch.tensor(1),
    "grid": lambda: torch.rand(2, 5, 6, 2) * 2.4 - 1.2,
    "scales": lambda: torch.rand(3) + 0.05,
    "zeros": lambda: torch.randint(-3, 3, (3,), dtype=torch.int32),
    "scale": lambda: torch.tensor(0.1),
    "zero": lambda: torch.tensor(3, dtype=torch.int32),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One use of an operator."""

    operator: str
    expression: str
    inputs: tuple[Shape | str, ...] = ((2, 3, 4),)
    traced: bool = False  # otherwise scripted

    def tensors(self) -> list[torch.Tensor]:
        """Return the inputs, the same ones for each row of the same inputs."""
        torch.manual_seed(len(self.operator))
        return [
            INPUTS[given]() if isinstance(given, str) else torch.randn(given)
            for given in self.inputs
        ]

    def __str__(self) -> str:
        """Return what a test is called."""
        lines = self.expression.replace("\n", "; ")
        return f"{self.operator} {lines}".replace("aten::", "")


X: Final = (2, 3, 4)
IMAGE: Final = (2, 3, 6, 8)
C: Final = "torch.linspace(0.5, 1.5, 3)"  # a constant, one number for each channel
VOLUME: Final = (2, 3, 4, 6, 5)


def _unary(names: str, given: Shape | str = X) -> list[Row]:
    return [Row(f"aten::{name}", f"torch.{name}(x)", (given,)) for name in names.split()]


def _binary() -> list[Row]:
    rows: list[Row] = []
    for name in ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge"):
        rows += [
            Row(f"aten::{name}.Tensor", f"torch.{name}(x, y)", (X, (3, 1))),
            Row(f"aten::{name}.Scalar", f"torch.{name}(x, 0.5)"),
        ]
    for name in ("add", "sub", "mul", "div"):
        rows.append(Row(f"aten::{name}_.Tensor", f"torch.relu(x).{name}_(y)", (X, (3, 1))))
    return rows


UNARY: Final = [
    *_unary("relu sigmoid tanh cos cosh sin sinh atan floor ceil exp neg erf sign asinh abs"),
    *_unary("log sqrt reciprocal log2 rsqrt", "positive"),
    *_unary("acos asin atanh tan", "unit"),
    *_unary("acosh", "above_one"),
    *_unary("logical_not bitwise_not", "bool"),
    *_unary("bitwise_not", "int"),
    *_unary("isfinite", "infinite"),
    *_unary("square round"),
]

BINARY: Final = [
    *_binary(),
    Row("aten::add.Tensor", "torch.add(x, y, alpha=2)", (X, X)),
    Row("aten::sub.Scalar", "torch.sub(x, 2, alpha=3)"),
    Row("aten::rsub.Scalar", "torch.rsub(x, 2.0, alpha=0.5)"),
    Row("aten::div.Tensor_mode", "torch.div(x, y, rounding_mode='floor')", (X, "positive")),
    Row("aten::div.Tensor_mode", "torch.div(x, y, rounding_mode='trunc')", (X, "positive")),
    Row("aten::div.Tensor_mode", "torch.div(x, y, rounding_mode=None)", (X, "positive")),
    Row("aten::div.Tensor_mode", "torch.div(x, y, rounding_mode='trunc')", ("int", "divisor")),
    Row("aten::div.Scalar_mode", "torch.div(x, 2.5, rounding_mode='floor')"),
    Row("aten::floor_divide", "torch.floor_divide(x, y)", ("int", "divisor")),
    Row("aten::floor_divide.Scalar", "torch.floor_divide(x, 3)", ("int",)),
    Row("aten::pow.Tensor_Tensor", "torch.pow(x, y)", ("positive", X)),
    Row("aten::pow.Tensor_Scalar", "torch.pow(x, 3)"),
    Row("aten::pow.Scalar", "torch.pow(2.0, x)"),
    Row("aten::remainder.Scalar", "torch.remainder(x, 0.7)"),
    Row("aten::atan2", "torch.atan2(x, y)", (X, X)),
    Row("aten::max.other", "torch.max(x, y)", (X, X)),
    Row("aten::min.other", "torch.min(x, y)", (X, X)),
    Row("aten::clamp", "torch.clamp(x, -0.5, 0.5)"),
    Row("aten::clamp", "torch.clamp(x, None, 0.5)"),
    Row("aten::clamp.Tensor", "torch.clamp(x, y, z)", (X, (1,), (4,))),
    Row("aten::clamp_min", "torch.clamp_min(x, 0.1)"),
    Row("aten::clamp_max", "torch.clamp_max(x, 0.1)"),
    Row("aten::logical_and", "torch.logical_and(x, y)", ("bool", "int")),
    Row("aten::logical_or", "torch.logical_or(x, y)", ("bool", "int")),
    Row("aten::logical_xor", "torch.logical_xor(x, y)", ("bool", "int")),
    Row("aten::__and__.Tensor", "x & y", ("bool", "bool")),
    Row("aten::__or__.Tensor", "x | y", ("bool", "bool")),
    Row("aten::__xor__.Tensor", "x ^ y", ("bool", "bool")),
    Row("aten::bitwise_and.Tensor", "torch.bitwise_and(x, y)", ("int", "divisor")),
    Row("aten::bitwise_or.Tensor", "torch.bitwise_or(x, y)", ("int", "divisor")),
    Row("aten::bitwise_xor.Tensor", "torch.bitwise_xor(x, y)", ("int", "divisor")),
]

ACTIVATIONS: Final = [
    Row("aten::elu", "F.elu(x, 0.7)"),
    Row("aten::hardtanh", "F.hardtanh(x, -0.5, 0.7)"),
    Row("aten::hardtanh_", "F.hardtanh(x * 1, -0.5, 0.7, inplace=True)"),
    Row("aten::leaky_relu", "F.leaky_relu(x, 0.2)"),
    Row("aten::leaky_relu_", "F.leaky_relu(x * 1, 0.2, inplace=True)"),
    Row("aten::relu_", "torch.relu_(x * 1)"),
    Row("aten::prelu", "torch.prelu(x, y)", (X, (3,))),
    Row("aten::gelu", "F.gelu(x)"),
    Row("aten::gelu", "F.gelu(x, approximate='tanh')"),
    Row("aten::silu", "F.silu(x)"),
    Row("aten::hardswish", "F.hardswish(x)"),
    Row("aten::hardsigmoid", "F.hardsigmoid(x)"),
    Row("aten::softplus", "F.softplus(x, 2.0, 1.0)"),
    Row("aten::mish", "F.mish(x)"),
    Row("aten::relu6", "torch.ops.aten.relu6(x)"),
    Row("aten::selu", "torch.selu(x)"),
]

PRODUCTS: Final = [
    Row(
        "aten::_convolution",
        "torch._convolution(x, y, None, [2, 1], [1, 0], [1, 2], False, [0, 0], 3, False, False,"
        " False, False)",
        (IMAGE, (6, 1, 3, 3)),
    ),
    Row(
        "aten::_convolution",
        "torch._convolution(x, y, z, [2, 1], [1, 0], [1, 1], True, [1, 0], 1, False, False,"
        " False, False)",
        (IMAGE, (3, 5, 3, 3), (5,)),
    ),
    Row(
        "aten::_convolution.deprecated",
        "torch._convolution(x, y, z, [2, 1], [1, 0], [1, 1], True, [1, 0], 1, False, False, True)",
        (IMAGE, (3, 5, 3, 3), (5,)),
    ),
    Row("aten::conv1d", "F.conv1d(x, y, z, 1, 1)", (X, (5, 3, 3), (5,))),
    Row("aten::conv2d", "F.conv2d(x, y, z, 2, 1, 2)", (IMAGE, (5, 3, 3, 3), (5,))),
    Row("aten::conv3d", "F.conv3d(x, y)", (VOLUME, (5, 3, 3, 3, 3))),
    Row("aten::conv_transpose1d", "F.conv_transpose1d(x, y, None, 2)", (X, (3, 5, 3))),
    Row(
        "aten::conv_transpose2d.input",
        "F.conv_transpose2d(x, y, z, 2)",
        (IMAGE, (3, 5, 3, 3), (5,)),
    ),
    Row("aten::conv_transpose3d.input", "F.conv_transpose3d(x, y)", (VOLUME, (3, 5, 3, 3, 3))),
    Row("aten::linear", "F.linear(x, y, z)", (X, (5, 4), (5,))),
    Row("aten::linear", "F.linear(x, y)", (X, (5, 4))),
    Row("aten::matmul", "torch.matmul(x, y)", (X, (4, 5))),
    Row("aten::mm", "torch.mm(x, y)", ((2, 3), (3, 4))),
    Row("aten::bmm", "torch.bmm(x, y)", (X, (2, 4, 5))),
    Row("aten::addmm", "torch.addmm(x, y, z, beta=0.5, alpha=2.0)", ((4,), (2, 3), (3, 4))),
    Row("aten::baddbmm", "torch.baddbmm(x, y, z, beta=0.5, alpha=2.0)", ((2, 3, 5), X, (2, 4, 5))),
    Row("aten::einsum", "torch.einsum('bij,bjk->bik', [x, y])", (X, (2, 4, 5))),
    Row("aten::einsum", "torch.einsum('bij->bj', [x])"),
]

NORMALIZATION: Final = [
    Row(
        "aten::batch_norm",
        f"F.batch_norm(x, {C}, {C}, {C}, -{C}, False, 0.1, 1e-3)",
        (IMAGE,),
    ),
    Row("aten::batch_norm", f"F.batch_norm(x, {C}, {C})"),
    Row("aten::instance_norm", "F.instance_norm(x, None, None, y, z)", (IMAGE, (3,), (3,))),
    Row("aten::instance_norm", "F.instance_norm(x)", (IMAGE,)),
    Row(
        "aten::instance_norm",
        "F.instance_norm(x, y, torch.abs(y), y, y, use_input_stats=False)",
        (X, (3,)),
    ),
    Row("aten::layer_norm", "F.layer_norm(x, [3, 4], y, z, 1e-3)", (X, (3, 4), (3, 4))),
    Row("aten::layer_norm", "F.layer_norm(x, [4])"),
    Row("aten::group_norm", "F.group_norm(x, 2, y, y)", ((2, 4, 5), (4,))),
    Row("aten::norm.ScalarOpt_dim", "torch.ops.aten.norm(x, 2, [1], True)"),
    Row("aten::norm.ScalarOpt_dim", "torch.ops.aten.norm(x, 1, [1, 2], False)"),
    Row("aten::linalg_norm", "torch.ops.aten.linalg_norm(x, None, [1], True)"),
    Row("aten::linalg_vector_norm", "torch.linalg.vector_norm(x, 2.0, [1], True)"),
    Row("aten::frobenius_norm.dim", "torch.ops.aten.frobenius_norm(x, [1, 2], False)"),
]

POOLING: Final = [
    Row("aten::avg_pool1d", "F.avg_pool1d(x, 2, 1, 1)"),
    Row("aten::avg_pool2d", "F.avg_pool2d(x, [2, 3], 2, 1, True, False)", (IMAGE,)),
    Row("aten::avg_pool2d", "F.avg_pool2d(x, 2, divisor_override=3)", (IMAGE,)),
    Row("aten::avg_pool3d", "F.avg_pool3d(x, 2)", (VOLUME,)),
    Row("aten::max_pool1d", "F.max_pool1d(x, 2, 1)"),
    Row("aten::max_pool2d", "F.max_pool2d(x, 3, 2, 1, 1, True)", (IMAGE,)),
    Row("aten::max_pool3d", "F.max_pool3d(x, 2)", (VOLUME,)),
    Row("aten::adaptive_avg_pool1d", "F.adaptive_avg_pool1d(x, 2)"),
    Row("aten::adaptive_avg_pool2d", "F.adaptive_avg_pool2d(x, [2, 3])", (IMAGE,)),
    Row("aten::adaptive_avg_pool3d", "F.adaptive_avg_pool3d(x, 2)", (VOLUME,)),
    Row("aten::adaptive_max_pool1d", "torch.adaptive_max_pool1d(x, 2)"),
    Row("aten::adaptive_max_pool2d", "torch.ops.aten.adaptive_max_pool2d(x, [2, 3])", (IMAGE,)),
    Row("aten::adaptive_max_pool3d", "torch.ops.aten.adaptive_max_pool3d(x, [2, 2, 2])", (VOLUME,)),
]

REDUCTIONS: Final = [
    Row("aten::mean", "torch.mean(x)"),
    Row("aten::mean.dim", "torch.mean(x, [0, -1], True)"),
    Row("aten::mean.dim", "torch.mean(x, [1], dtype=torch.float32)", ("int",)),
    Row("aten::sum", "torch.sum(x)", ("int",)),
    Row("aten::sum.dim_IntList", "torch.sum(x, [1], True)"),
    Row("aten::sum.dim_IntList", "torch.sum(x, [1], dtype=torch.float32)", ("bool",)),
    Row("aten::prod", "torch.prod(x)"),
    Row("aten::prod.dim_int", "torch.prod(x, 1, True)"),
    Row("aten::max", "torch.max(x)"),
    Row("aten::max.dim", "torch.max(x, 1, True)"),
    Row("aten::min", "torch.min(x)"),
    Row("aten::min.dim", "torch.min(x, -1)"),
    Row("aten::any", "torch.any(x)", ("bool",)),
    Row("aten::any.dim", "torch.any(x, 1, True)", ("bool",)),
    Row("aten::all", "torch.all(x)", ("bool",)),
    Row("aten::all.dim", "torch.all(x, 1)", ("bool",)),
    Row("aten::argmax", "torch.argmax(x, 1, True)"),
    Row("aten::argmax", "torch.argmax(x)"),
    Row("aten::argmin", "torch.argmin(x, -1)"),
    Row("aten::topk", "torch.topk(x, 2, 1, False)"),
    Row("aten::std.dim", "torch.std(x, [1], False, True)"),
    Row("aten::std.correction", "torch.std(x, [1], correction=1)"),
    Row("aten::var.dim", "torch.var(x, [1, 2], True)"),
    Row("aten::cumsum", "torch.cumsum(x, -1)"),
    Row("aten::cumsum", "torch.cumsum(x, 1)", ("bool",)),
    Row("aten::softmax.int", "torch.softmax(x, 1)"),
    Row("aten::log_softmax.int", "torch.log_softmax(x, -1)"),
]

SELECTION: Final = [
    Row("aten::to.dtype", "x.to(torch.int32)"),
    Row("aten::to.device", "x.to(torch.device('cpu'), torch.int64)"),
    Row("aten::to.other", "x.to(y)", (X, "int")),
    Row("aten::to.prim_Device", "x.to(x.device) + 1"),
    Row("aten::type_as", "x.type_as(y)", (X, "int")),
    Row("aten::cat", "torch.cat([x, y], 1)", (X, (2, 1, 4))),
    Row("aten::cat", "torch.cat([x, x * 2, y], -2)", (X, (2, 1, 4))),
    Row("aten::stack", "torch.stack([x, y], -1)", (X, X)),
    Row("aten::chunk", "torch.chunk(x, 2, -1)[1] * 2"),
    Row("aten::chunk", "x.chunk(3, 2)[1]", ((2, 3, 7),)),
    Row("aten::split.Tensor", "torch.split(x, 3, -1)[1] * 2"),
    Row("aten::split.sizes", "x.split([1, 3], 2)[1] * 2"),
    Row("aten::split_with_sizes", "torch.split_with_sizes(x, [1, 2], 1)[0]"),
    Row("aten::tensor_split.sections", "torch.tensor_split(x, 3, 2)[0]"),
    Row("aten::unbind.int", "torch.unbind(x, 1)[2] + 1"),
    Row("aten::unbind.int", "torch.stack(x.unbind(0), 1)"),
    Row("aten::narrow", "torch.narrow(x, -1, 1, 2)"),
    Row("aten::narrow.Tensor", "torch.narrow(x, 2, y, 2)", (X, "one")),
    Row("aten::select.int", "torch.select(x, -1, -2)"),
    Row("aten::slice.Tensor", "x[:, 1:]"),
    Row("aten::slice.Tensor", "x[..., -3:3:2]"),
    Row("aten::slice.Tensor", "x[:, :, :-1]"),
    Row("aten::index.Tensor", "x[:, y]", (X, "index")),
    Row("aten::index.Tensor", "x[y, :, z]", ((3, 2, 4), "index", "index2")),
    Row("aten::index_select", "torch.index_select(x, 1, y)", (X, "index")),
    Row("aten::embedding", "F.embedding(y, x)", ((3, 5), "index")),
    Row("aten::gather", "torch.gather(x, 1, y)", (X, "index3")),
    Row("aten::scatter.src", "torch.scatter(x, 1, y, z)", (X, "index3", X)),
    Row("aten::scatter.value", "torch.scatter(x, 1, y, 1.5)", (X, "index3")),
    Row("aten::scatter_add", "torch.scatter_add(x, 1, y, z)", (X, "index3", X)),
    Row("aten::index_put", "torch.index_put(x, [None, y], z)", (X, "index2", (3, 4))),
    Row(
        "aten::index_put.hacked_twin",
        "torch.index_put(x, [y], z, True)",
        ((3, 4), "index2", (3, 4)),
    ),
    Row("aten::index.Tensor_hacked_twin", "torch.ops.aten.index(x, [y])", ((3, 4), "index")),
    Row("aten::where.self", "torch.where(x, y, z)", ("bool", X, (4,))),
    Row("aten::where.ScalarOther", "torch.where(x, y, 2.0)", ("bool", X)),
    Row("aten::where.ScalarSelf", "torch.where(x, 2.0, y)", ("bool", X)),
    Row("aten::where.Scalar", "torch.where(x, 1.0, 0.0)", ("bool",)),
    Row("aten::masked_fill.Scalar", "torch.masked_fill(x, y, -1e4)", (X, "bool")),
    Row("aten::masked_fill.Tensor", "torch.masked_fill(x, y, z)", (X, "bool", ())),
    Row("aten::flip", "torch.flip(x, [0, -1])"),
    Row("aten::roll", "torch.roll(x, [1, -1], [0, 2])"),
    Row("aten::roll", "torch.roll(x, [2])"),
    Row("aten::tril", "torch.tril(x, 1)"),
    Row("aten::triu", "torch.triu(x)"),
]

SHAPES: Final = [
    Row("aten::reshape", "torch.reshape(x, [2, -1])"),
    Row("aten::reshape", "x.reshape(x.size(0), x.size(1) * 2, -1)"),
    Row("aten::view", "x.view(-1, 4)"),
    Row("aten::permute", "x.permute(2, 0, -2)"),
    Row("aten::transpose.int", "torch.transpose(x, 0, -1)"),
    Row("aten::t", "torch.t(x)", ((2, 3),)),
    Row("aten::t", "torch.t(x)", ((3,),)),
    Row("aten::numpy_T", "x.T", ((2, 3),)),
    Row("aten::flatten.using_ints", "torch.flatten(x, 1)"),
    Row("aten::flatten.using_ints", "torch.flatten(x)", ((),)),
    Row("aten::unflatten.int", "torch.unflatten(x, -1, [2, -1])"),
    Row("aten::pixel_shuffle", "F.pixel_shuffle(x, 2)", ((2, 8, 3, 3),)),
    Row("aten::pixel_unshuffle", "F.pixel_unshuffle(x, 2)", (IMAGE,)),
    Row("aten::squeeze", "torch.squeeze(x)", ((1, 3, 1),)),
    Row("aten::squeeze.dim", "torch.squeeze(x, -1)", ((1, 3, 1),)),
    Row("aten::squeeze.dim", "torch.squeeze(x, 1)", ((1, 3, 1),)),
    Row("aten::squeeze.dims", "torch.squeeze(x, [0, 2])", ((1, 3, 1),)),
    Row("aten::unsqueeze", "torch.unsqueeze(x, -2)"),
    Row("aten::expand", "x.expand(5, -1, 4)", ((3, 1),)),
    Row("aten::expand_as", "x.expand_as(y)", ((3, 1), X)),
    Row("aten::repeat", "x.repeat(2, 1, 3, 1)"),
    Row("aten::tile", "torch.tile(x, [2, 3])"),
    Row("aten::repeat_interleave.self_int", "torch.repeat_interleave(x, 2, 1)"),
    Row("aten::repeat_interleave.self_int", "torch.repeat_interleave(x, 3)"),
    Row("aten::meshgrid", "torch.ops.aten.meshgrid([x, y])[1] * 2", ((3,), (4,))),
    Row("aten::meshgrid.indexing", "torch.meshgrid([x, y], indexing='xy')[0] * 2", ((3,), (4,))),
    Row("aten::constant_pad_nd", "torch.constant_pad_nd(x, [1, 0, -1, 2], 0.5)"),
    Row("aten::reflection_pad1d", "torch.ops.aten.reflection_pad1d(x, [2, 1])"),
    Row("aten::reflection_pad2d", "torch.ops.aten.reflection_pad2d(x, [2, 1, 0, 3])", (IMAGE,)),
    Row("aten::replication_pad1d", "torch.ops.aten.replication_pad1d(x, [2, 1])"),
    Row("aten::replication_pad2d", "torch.ops.aten.replication_pad2d(x, [2, 1, 0, 3])", (IMAGE,)),
    Row(
        "aten::replication_pad3d",
        "torch.ops.aten.replication_pad3d(x, [2, 1, 0, 3, 1, 1])",
        (VOLUME,),
    ),
    Row("aten::pad", "F.pad(x, [1, 2], value=3.0)"),
    Row("aten::pad", "F.pad(x, [1, 2, 0, 1], mode='reflect')", (IMAGE,)),
    Row("aten::pad", "F.pad(x, [1, 2, 0, 1], mode='circular')", (IMAGE,)),
    Row("aten::movedim.int", "torch.movedim(x, 0, -1)"),
    Row("aten::view_as", "x.view_as(y)", (X, (6, 4))),
    Row("aten::reshape_as", "x.reshape_as(y)", (X, (6, 4))),
    Row("aten::contiguous", "x.transpose(0, 1).contiguous().view(-1)"),
    Row("aten::clone", "x.clone() + 1"),
    Row("aten::detach", "x.detach() + 1"),
    Row("aten::dropout", "F.dropout(x, 0.5, False) + 1"),
]


CONVERTED: Final = [
    *UNARY,
    *BINARY,
    *ACTIVATIONS,
    *PRODUCTS,
    *NORMALIZATION,
    *POOLING,
    *REDUCTIONS,
    *SELECTION,
    *SHAPES,
]

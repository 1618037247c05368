"""Attention, products and what follows them beside TorchScript's, and what they become."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch
from networks import encoders
from torch import nn
from torch.nn import functional

import torch_aie
from aie.tests.scripts import traced
from torch_aie import PrecisionPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
    # PyTorch's own modules compare sizes in Python.
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]

Tensor = torch.Tensor
Tensors = tuple[Tensor, ...]
TOLERANCE = {PrecisionPolicy.FP32: 1e-4, PrecisionPolicy.FP16: 2e-2}


class Function(nn.Module):
    """A function as a module, which tracing takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> object:
        return self.function(*inputs)


def expect_same(
    module: torch.jit.ScriptModule,
    tensors: Tensors,
    policy: PrecisionPolicy = PrecisionPolicy.FP32,
    forced: tuple[str, ...] = (),
) -> None:
    """Compare a compiled module with the one it is made of, whole if no operator is forced."""
    options: dict[str, Any] = {
        "require_full_compilation": not forced,
        "torch_executed_ops": list(forced),
        "truncate_long_and_double": False,
    }
    with torch.no_grad():
        expected = module(*tensors)
        compiled = torch_aie.compile(module, inputs=tensors, precision_policy=policy, **options)
        for _ in range(2):
            got = compiled(*tensors)
            torch.testing.assert_close(got, expected, atol=TOLERANCE[policy], rtol=0)


def steps_of(module: torch.jit.ScriptModule, tensors: Tensors) -> Callable[[str], int]:
    """Return a function that counts an operation's steps in the built model."""
    model = torch_aie.export_engine(module, inputs=tensors, precision_policy=PrecisionPolicy.FP32)
    return lambda name: model.count(len(name).to_bytes(8, "little") + name.encode())


def heads(*sizes: int) -> Tensor:
    return torch.randn(sizes)


def scaled_queries(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax((q * 0.3) @ k.transpose(-2, -1), -1) @ v


def divided_scores(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
    return torch.matmul(torch.softmax(mask + scores, dim=-1), v)


def scaled_keys(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.bmm(functional.softmax(torch.bmm(q, (k * 0.5).permute(0, 2, 1)), 2), v)


def added_product(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return torch.bmm(torch.baddbmm(mask, q, k.transpose(1, 2)).softmax(-1), v)


def filled_scores(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    scores = (q @ k.transpose(-1, -2) * 0.25).masked_fill(mask > 0, float("-inf"))
    return torch.softmax(scores, -1) @ v


def used_twice(q: Tensor, k: Tensor, v: Tensor) -> Tensors:
    weights = torch.softmax(q @ k.transpose(-1, -2), -1)
    return weights @ v, weights


def other_axis(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-1, -2), -2) @ v


FOUR = ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 6))
THREE = ((4, 5, 8), (4, 7, 8), (4, 7, 6))


@pytest.mark.parametrize("policy", TOLERANCE, ids=lambda policy: policy.name)
@pytest.mark.parametrize(
    ("function", "sizes", "attentions"),
    [
        (scaled_queries, FOUR, 1),
        (divided_scores, (*FOUR, (2, 1, 1, 7)), 1),
        (divided_scores, (*FOUR, (5, 7)), 1),
        (divided_scores, (*FOUR, (3, 5, 7)), 0),  # a mask of heads, without the batch
        (scaled_keys, THREE, 1),
        (added_product, (*THREE, (4, 5, 7)), 1),
        (filled_scores, (*FOUR, (2, 1, 5, 7)), 0),  # rows that see nothing: NaN, as in TorchScript
        (used_twice, FOUR, 0),
        (other_axis, FOUR, 0),
    ],
)
def test_attention_written_out(
    function: Callable[..., Any],
    sizes: tuple[tuple[int, ...], ...],
    attentions: int,
    policy: PrecisionPolicy,
) -> None:
    torch.manual_seed(0)
    tensors = tuple(torch.randn(size) for size in sizes)
    module = traced(Function(function), tensors)
    expect_same(module, tensors, policy)
    assert steps_of(module, tensors)("Attention") == attentions


@pytest.mark.parametrize(
    ("options", "mask"),
    [
        ({}, None),
        ({"is_causal": True}, None),
        ({"scale": 0.7}, None),
        ({}, torch.randn((2, 1, 1, 7), generator=torch.Generator().manual_seed(0))),
        ({}, torch.arange(35).reshape(5, 7) % 3 > 0),  # each row sees something
        ({"enable_gqa": True}, None),
    ],
)
def test_attention_as_a_function(options: dict[str, Any], mask: Tensor | None) -> None:
    torch.manual_seed(0)
    groups = 1 if options.get("enable_gqa") else 4
    tensors: Tensors = (heads(2, 4, 5, 8), heads(2, groups, 7, 8), heads(2, groups, 7, 6))
    function = functional.scaled_dot_product_attention
    if mask is None:
        module = traced(Function(lambda q, k, v: function(q, k, v, **options)), tensors)
    else:
        tensors = (*tensors, mask)
        module = traced(Function(lambda q, k, v, m: function(q, k, v, m, **options)), tensors)
    expect_same(module, tensors)


def test_dropout_of_attention_is_refused() -> None:
    tensors = (heads(1, 2, 4, 8),) * 3
    function = functional.scaled_dot_product_attention
    module = traced(Function(lambda q, k, v: function(q, k, v, dropout_p=0.5)), tensors)
    with pytest.raises(ValueError, match=r"dropout_p is 0.5, allowed is 0"):
        torch_aie.compile(module, inputs=tensors)


LAYERS = 2
BERT = (50, 192, 4, LAYERS)
TOKENS = torch.arange(24).reshape(2, 12)
MASK = torch.ones(2, 12, dtype=torch.int64).index_fill(1, torch.tensor([10, 11]), 0)
FORCED = ("aten::softmax", "aten::scaled_dot_product_attention")


@pytest.mark.parametrize("fused", [False, True], ids=["written", "fused"])
@pytest.mark.parametrize("way", ["trace", "script"])
def test_encoders(way: str, *, fused: bool) -> None:
    torch.manual_seed(0)
    bert = encoders.BertEncoder(*BERT, fused=fused).eval()
    vit = encoders.VisionTransformer(48, 192, 3, 2, fused=fused).eval()
    cases = ((bert, (TOKENS, MASK, torch.zeros_like(TOKENS))), (vit, (torch.rand(1, 3, 48, 48),)))
    for model, tensors in cases:
        model.requires_grad_(requires_grad=False)
        module = torch.jit.script(model) if way == "script" else traced(model, tensors)
        for policy in TOLERANCE:
            expect_same(module, tensors, policy)
            expect_same(module, tensors, policy, FORCED)


def test_bert_becomes_few_steps() -> None:
    model = encoders.BertEncoder(*BERT)
    tensors = (TOKENS, MASK, torch.zeros_like(TOKENS))
    count = steps_of(traced(model, tensors), tensors)
    assert count("Attention") == LAYERS
    # One product for queries, keys and values, three others; those of the pooler and the head.
    assert count("Linear") == 4 * LAYERS + 2
    assert count("MatrixMultiply") == count("Activation") == 0


class Products(nn.Module):
    """Products that oneDNN takes (with each function behind them) and those that it does not."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.weight = nn.Parameter(torch.randn(width, width) / width**0.5)

    def forward(self, x: Tensor) -> Tensors:
        flat = x.flatten(0, 1)
        product = torch.addmm(self.first.bias, flat, self.weight, beta=0.5, alpha=2)
        return (
            functional.gelu(self.first(x), approximate="tanh"),
            functional.silu(self.second(x)),
            torch.sigmoid(x @ self.weight),
            functional.elu(self.first(x)),
            x + self.second(x),
            product,
            torch.addmm(product, flat, self.weight, beta=0),
        )


@pytest.mark.parametrize("width", [16, 160], ids=["small", "large"])
@pytest.mark.parametrize("policy", TOLERANCE, ids=lambda policy: policy.name)
def test_products(policy: PrecisionPolicy, width: int) -> None:
    torch.manual_seed(0)
    tensors = (torch.randn(3, 5, width),)
    expect_same(traced(Products(width), tensors), tensors, policy)


@pytest.mark.parametrize("shape", [(6,), (4, 6), (3, 4, 6)])
@pytest.mark.parametrize("affine", [False, True])
def test_layer_norm(shape: tuple[int, ...], *, affine: bool) -> None:
    tensors = (torch.randn(2, 3, 4, 6) * 3 + 1,)
    norm = nn.LayerNorm(shape, 1e-3, elementwise_affine=affine)
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    expect_same(traced(norm, tensors), tensors)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
def test_encoder_layer_of_pytorch(mask: str, *, norm_first: bool) -> None:
    """PyTorch runs it as one operator."""
    torch.manual_seed(0)
    options: Any = {"norm_first": norm_first, "batch_first": True, "activation": "gelu"}
    layer = nn.TransformerEncoderLayer(32, 4, 48, **options)
    tensors = (torch.randn(2, 6, 32),)
    masks = {
        "none": {},
        "causal": {"src_mask": torch.ones(6, 6, dtype=torch.bool).triu(1)},
        "padding": {"src_key_padding_mask": torch.arange(6).expand(2, 6) > 3},
    }
    layer.eval().requires_grad_(requires_grad=False)
    module = traced(Function(lambda x: layer(x, **masks[mask])), tensors)
    assert "aten::_transformer_encoder_layer_fwd" in str(module.graph)
    for policy in TOLERANCE:
        expect_same(module, tensors, policy)

"""Training on the device follows training on the CPU: same seed, same data, AdamW."""

from __future__ import annotations

import opwright.twin  # noqa: F401 - comes before torch

# isort: split
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu  # noqa: F401
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

Batch = tuple[torch.Tensor, torch.Tensor]

pytestmark = pytest.mark.twin

STEPS = 50
LEARNT = 0.7  # of the first loss, at most, is left
CLASSES = 10


class TransformerBlock(nn.Module):
    """Tokens -> embedding -> pre-norm attention and feed-forward -> classes per position."""

    def __init__(self, width: int = 32, heads: int = 4, tokens: int = 40, length: int = 12) -> None:
        super().__init__()
        self.token = nn.Embedding(tokens, width)
        self.position = nn.Parameter(torch.randn(length, width) * 0.02)
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.token(tokens) + self.position
        normed = self.norm1(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        x = x + self.down(functional.gelu(self.up(self.norm2(x))))
        classes: torch.Tensor = self.head(x)
        return classes


class CausalBlock(nn.Module):
    """Causal scaled dot-product attention, RMS norm, gated feed-forward."""

    def __init__(self, width: int = 32, heads: int = 4, tokens: int = 40) -> None:
        super().__init__()
        self.heads = heads
        self.token = nn.Embedding(tokens, width)
        self.norm = nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * width)
        self.value = nn.Linear(width, 2 * width)
        self.head = nn.Linear(2 * width, CLASSES)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.token(tokens)
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        classes: torch.Tensor = self.head(functional.silu(self.gate(x)) * self.value(x))
        return classes


def encoder_layer() -> nn.Module:
    """torch's own layer, between an embedding and a classifier."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.Embedding(40, 32), layer, nn.Linear(32, CLASSES))


def conv_net() -> nn.Module:
    """Convolution, batch norm, maximum and average pooling, group norm, grouped convolution."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, padding=1, groups=2),
        nn.GroupNorm(4, 16),
        nn.SiLU(),
        nn.ConvTranspose2d(16, 8, 2, stride=2),
        nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d(3),
        nn.Flatten(),
        nn.Linear(72, CLASSES),
    )


def images(generator: torch.Generator) -> Batch:
    return (
        torch.randn(8, 3, 16, 16, generator=generator),
        torch.randint(CLASSES, (8,), generator=generator),
    )


def sentences(generator: torch.Generator) -> Batch:
    return (
        torch.randint(40, (4, 12), generator=generator),
        torch.randint(CLASSES, (4, 12), generator=generator),
    )


@dataclass(frozen=True)
class Run:
    losses: torch.Tensor
    state: dict[str, torch.Tensor]


def without_key_bias(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Softmax ignores what all keys share, so the key's bias has rounding errors for a gradient,
    which AdamW scales up to steps of full size."""
    if not name.endswith("in_proj_bias"):
        return tensor
    query, _, value = tensor.chunk(3)
    return torch.cat((query, value))


def train(
    make: Callable[[], nn.Module],
    batch: Callable[[torch.Generator], Batch],
    device: str,
    dtype: torch.dtype,
) -> Run:
    """Fifty steps on two alternating batches; in half precision under autocast."""
    torch.manual_seed(0)
    model = make().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    generator = torch.Generator().manual_seed(1)
    batches = [batch(generator) for _ in range(2)]
    losses = []
    for step in range(STEPS):
        inputs, targets = (tensor.to(device) for tensor in batches[step % 2])
        with torch.autocast(device, dtype, enabled=dtype != torch.float32):
            loss = functional.cross_entropy(model(inputs).flatten(0, -2).float(), targets.flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.detach().cpu())
    state = {
        name: without_key_bias(name, tensor.cpu()) for name, tensor in model.state_dict().items()
    }
    return Run(torch.stack(losses), state)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[torch.Generator], Batch]]] = {
    "transformer": (TransformerBlock, sentences),
    "causal": (CausalBlock, sentences),
    "encoder_layer": (encoder_layer, sentences),
    "conv_net": (conv_net, images),
}


@pytest.mark.parametrize("name", MODELS)
def test_float32(name: str) -> None:
    """Loss of each step, and the parameters, buffers and statistics at the end."""
    npu, cpu = (train(*MODELS[name], device, torch.float32) for device in ("npu", "cpu"))
    torch.testing.assert_close(npu.losses, cpu.losses, rtol=1e-4, atol=1e-4)
    assert npu.losses[-1] < LEARNT * npu.losses[0]
    for key, expected in cpu.state.items():
        torch.testing.assert_close({key: npu.state[key]}, {key: expected}, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_autocast(name: str) -> None:
    """bfloat16 rounds differently per kernel: losses stay within a few of its steps of 2^-8."""
    npu, cpu = (train(*MODELS[name], device, torch.bfloat16) for device in ("npu", "cpu"))
    torch.testing.assert_close(npu.losses, cpu.losses, rtol=5e-2, atol=5e-2)
    assert npu.losses[-1] < LEARNT * npu.losses[0]

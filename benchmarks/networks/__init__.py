"""Small networks of the usual kinds, for measuring what surrounds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["NETWORKS"]

Network = tuple[nn.Module, tuple[torch.Tensor, ...]]


def mlp() -> Network:
    """Build three linear layers."""
    model = nn.Sequential(
        *(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU()),
        nn.Linear(1024, 256),
    )
    return model, (torch.randn(64, 256),)


class Block(nn.Module):
    """A residual block."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(after)
        self.shortcut = (
            nn.Identity()
            if before == after and stride == 1
            else nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add what two convolutions make of the input to the input."""
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + self.shortcut(x))


def resnet() -> Network:
    """Build four residual blocks, 64 channels at most."""
    model = nn.Sequential(
        *(nn.Conv2d(3, 16, 7, 2, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1)),
        *(Block(16, 16, 1), Block(16, 32, 2), Block(32, 32, 1), Block(32, 64, 2)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
    )
    return model, (torch.randn(4, 3, 96, 96),)


class EncoderLayer(nn.Module):
    """Attention over all places, and a feed-forward network."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Compute one layer."""
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, -1)
        )
        scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        seen = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = self.norm(x + self.out(seen))
        last: torch.Tensor = self.last_norm(x + self.down(functional.gelu(self.up(x))))
        return last


class Bert(nn.Module):
    """An encoder."""

    def __init__(self, words: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(512, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads) for _ in range(layers))
        self.pooler, self.head = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the scores of two classes, and the last layer."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.places(places))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(torch.tanh(self.pooler(x[:, 0]))), x


def bert() -> Network:
    """Build two layers of width 128, two sentences of 64 tokens."""
    mask = torch.ones(2, 64, dtype=torch.int64)
    mask[1, -20:] = 0
    return Bert(1000, 128, 4, 2), (torch.randint(0, 1000, (2, 64)), mask)


class RmsNorm(nn.Module):
    """Root mean square normalization."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize the last axis."""
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate queries or keys by their places."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class DecoderLayer(nn.Module):
    """Grouped attention over a cache, which is written, and a gated network."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, width: int, heads: int, groups: int, room: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)
        self.norm, self.last_norm = RmsNorm(width), RmsNorm(width)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(2, groups, room, self.size))

    def forward(
        self, x: torch.Tensor, places: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> torch.Tensor:
        """Compute one layer for tokens at the places."""
        batch, length, width = x.shape
        y = self.norm(x)
        q = self.q(y).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k(y).view(batch, length, self.groups, self.size).transpose(1, 2)
        v = self.v(y).view(batch, length, self.groups, self.size).transpose(1, 2)
        rows = places[None, None, :, None].expand(k.shape)
        self.keys.scatter_(2, rows, rotated(k, cos, sin))
        self.values.scatter_(2, rows, v)
        shape = (batch, self.groups, self.heads // self.groups, -1, self.size)
        k, v = (c[:, :, None].expand(shape).flatten(1, 2) for c in (self.keys, self.values))
        scores = rotated(q, cos, sin) @ k.transpose(-1, -2) / self.size**0.5
        later = torch.arange(self.keys.shape[2], device=x.device) > places[:, None]
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), -1)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(batch, length, width))
        y = self.last_norm(x)
        last: torch.Tensor = x + self.down(functional.silu(self.gate(y)) * self.up(y))
        return last


class Llama(nn.Module):
    """A decoder with its caches."""

    speeds: torch.Tensor

    def __init__(self, words: int, width: int, heads: int, groups: int, layers: int) -> None:
        super().__init__()
        size = width // heads
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(
            DecoderLayer(width, heads, groups, room=128) for _ in range(layers)
        )
        self.norm, self.head = RmsNorm(width), nn.Linear(width, words, bias=False)
        self.register_buffer("speeds", 1.0 / 10000 ** (torch.arange(0, size, 2) / size))

    def forward(self, tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Return the scores of the next tokens."""
        angles = torch.cat([places[:, None] * self.speeds] * 2, -1)
        cos, sin = angles.cos(), angles.sin()
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, places, cos, sin)
        scores: torch.Tensor = self.head(self.norm(x))
        return scores


def llama() -> Network:
    """Build two layers of width 256; two sequences, one token each, caches of 128."""
    return Llama(1000, 256, 8, 4, 2), (torch.randint(0, 1000, (2, 1)), torch.tensor([40]))


def prefill() -> Network:
    """Build the network of `llama` for 64 tokens."""
    return Llama(1000, 256, 8, 4, 2), (torch.randint(0, 1000, (2, 64)), torch.arange(64))


NETWORKS: Mapping[str, Callable[[], Network]] = {
    "mlp": mlp,
    "resnet": resnet,
    "bert": bert,
    "llama": llama,
    "prefill": prefill,
}

"""Shared by the two language models."""

from __future__ import annotations

import torch
from torch import nn

from loop import operators, rotation

EPSILON = 1e-6


class RMSNorm(nn.Module):
    """Root mean square normalization of the last axis."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        """Normalize."""
        return operators(x.device).rms_norm(x, self.weight.to(x.dtype), EPSILON)


class Attention(nn.Module):
    """Causal attention with rotary positions; several query heads share a key head."""

    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.qkv = nn.Linear(width, (heads + 2 * groups) * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, ends):
        """Attend within each document."""
        batch, length, _ = x.shape
        qkv = self.qkv(x).view(batch, length, -1, self.size)
        q, k, v = qkv.split((self.heads, self.groups, self.groups), 2)
        ops = operators(x.device)
        cos, sin = rotation(length, self.size, x.device)
        q, k = ops.rotary(q, cos, sin), ops.rotary(k, cos, sin)
        return self.out(ops.causal_attention(q, k, v, ends).flatten(2))


class GatedNetwork(nn.Module):
    """Gate and value in one product, SwiGLU, back to the width."""

    def __init__(self, width, inner):
        super().__init__()
        self.up, self.down = (
            nn.Linear(width, 2 * inner, bias=False),
            nn.Linear(inner, width, bias=False),
        )

    def forward(self, x):
        """Compute every token by itself."""
        return self.down(operators(x.device).swiglu(self.up(x)))


class Block(nn.Module):
    """Attention, then the given network, each behind a norm and around which the input passes."""

    def __init__(self, width, heads, groups, network):
        super().__init__()
        self.attention_norm, self.norm = RMSNorm(width), RMSNorm(width)
        self.attention, self.network = Attention(width, heads, groups), network

    def forward(self, x, ends=None):
        """Compute one layer."""
        x = x + self.attention(self.attention_norm(x), ends)
        return x + self.network(self.norm(x))


class Decoder(nn.Module):
    """Embedding, blocks, and scores of the next word."""

    def __init__(self, words, width, blocks):
        super().__init__()
        self.words, self.blocks = nn.Embedding(words, width), nn.ModuleList(blocks)
        self.norm, self.head = RMSNorm(width), nn.Linear(width, words, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, ends=None, call=lambda block, *inputs: block(*inputs)):
        """Return scores (B, S, words); `call` runs a block, as with recomputation."""
        x = self.words(tokens)
        for block in self.blocks:
            x = call(block, x, ends)
        return self.head(self.norm(x))

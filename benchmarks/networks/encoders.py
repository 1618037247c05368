"""Encoders of the BERT and the ViT kind, with attention written out or as one function."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

__all__ = ["BertEncoder", "VisionTransformer"]


class SelfAttention(nn.Module):
    """Queries, keys and values from a linear layer each; an additive mask."""

    def __init__(self, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.dense = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        """Give (batch, heads, length, width / heads)."""
        return x.view(x.size(0), x.size(1), self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Attend where the mask is 0."""
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        if self.fused:
            seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1)) + mask
            seen = torch.matmul(self.dropout(torch.softmax(scores, dim=-1)), v)
        seen = seen.permute(0, 2, 1, 3).contiguous()
        dense: torch.Tensor = self.dense(seen.view(x.size(0), x.size(1), -1))
        return dense


class BertLayer(nn.Module):
    """Attention and a feed-forward network, each normalized after its residual."""

    def __init__(self, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads, fused=fused)
        self.attention_norm, self.norm = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Compute one layer."""
        x = self.attention_norm(self.dropout(self.attention(x, mask)) + x)
        y: torch.Tensor = self.down(functional.gelu(self.up(x)))
        normed: torch.Tensor = self.norm(self.dropout(y) + x)
        return normed


class BertEncoder(nn.Module):
    """Words, places and types, encoder layers, a pooled first token."""

    def __init__(
        self,
        words: int = 8000,
        width: int = 512,
        heads: int = 8,
        layers: int = 4,
        *,
        fused: bool = False,
    ) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width, 0), nn.Embedding(512, width)
        self.types = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads, fused=fused) for _ in range(layers))
        self.pooler, self.head = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(
        self, tokens: torch.Tensor, mask: torch.Tensor, types: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the last layer, and the scores of two classes."""
        places = torch.arange(tokens.size(1), device=tokens.device).unsqueeze(0)
        x = self.norm(self.words(tokens) + self.types(types) + self.places(places))
        added = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, added)
        return x, self.head(torch.tanh(self.pooler(x[:, 0])))


class VisionAttention(nn.Module):
    """Queries, keys and values from one linear layer."""

    def __init__(self, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused, self.scale = heads, fused, (width // heads) ** -0.5
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend to all places."""
        batch, length, width = x.shape
        qkv = self.qkv(x).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        if self.fused:
            seen = functional.scaled_dot_product_attention(q, k, v)
        else:
            weights = (q * self.scale) @ k.transpose(-2, -1)
            seen = weights.softmax(dim=-1) @ v
        projected: torch.Tensor = self.projection(
            seen.transpose(1, 2).reshape(batch, length, width)
        )
        return projected


class VisionBlock(nn.Module):
    """Attention and a feed-forward network, each normalized before."""

    def __init__(self, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        self.attention = VisionAttention(width, heads, fused=fused)
        self.network = nn.Sequential(
            *(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.1)),
            nn.Linear(4 * width, width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute one block."""
        x = x + self.attention(self.norm1(x))
        y: torch.Tensor = x + self.network(self.norm2(x))
        return y


class VisionTransformer(nn.Module):
    """Patches and a class token, blocks, scores from the class token."""

    def __init__(
        self,
        image: int = 224,
        width: int = 192,
        heads: int = 3,
        layers: int = 12,
        *,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, (image // 16) ** 2 + 1, width))
        self.blocks = nn.Sequential(
            *(VisionBlock(width, heads, fused=fused) for _ in range(layers))
        )
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, 100)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return scores of classes."""
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.places
        scores: torch.Tensor = self.head(self.norm(self.blocks(x))[:, 0])
        return scores

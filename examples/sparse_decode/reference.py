"""The step of model.py in plain PyTorch on the CPU: none of torch_npu's operators, and no pages.

Attention is PyTorch's scaled_dot_product_attention over the tokens that the indexer chooses.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from model import EPSILON, PAGE, Attention, Cache, Decoder


class Reference:
    """Decodes one sequence with the weights of a decoder on the CPU."""

    def __init__(self, decoder: Decoder, caches: list[Cache], pages: Tensor, length: int) -> None:
        rows = (pages.long()[:, None] * PAGE + torch.arange(PAGE)).flatten()[:length]
        self.decoder = decoder
        self.caches = [Cache(*(tensor[rows] for tensor in cache)) for cache in caches]

    @torch.no_grad()
    def __call__(self, token: int) -> Tensor:
        """Append a token; return the logits [vocabulary] of the next one."""
        x = self.decoder.embedding.weight[token : token + 1]
        for number, layer in enumerate(self.decoder.layers):
            normal = rms_norm(x, layer.attention_norm.weight)
            x = x + self.attention(layer.attention, normal, number)
            normal = rms_norm(x, layer.feed_forward_norm.weight)
            gate, up = layer.feed_forward.up(normal).float().chunk(2, -1)
            x = x + layer.feed_forward.down((functional.silu(gate) * up).bfloat16())
        return self.decoder.head(rms_norm(x, self.decoder.norm.weight))[0]

    def attention(self, weights: Attention, x: Tensor, number: int) -> Tensor:
        """Attend to the selected tokens, the new one among the candidates."""
        c = weights.config
        position = len(self.caches[number].latent)
        low = rms_norm(weights.query_down(x), weights.query_norm.weight)
        latent, key_rope = weights.latent_down(x).split((c.latent, c.rope), -1)
        index = weights.index_norm(weights.index_key(x))
        new = (
            rms_norm(latent, weights.latent_norm.weight),
            self.rotated(neighbours_apart(key_rope), position),
            self.first_rotated(index, position),
        )
        cache = Cache(*(torch.cat(rows) for rows in zip(self.caches[number], new, strict=True)))
        self.caches[number] = cache

        query = weights.index_query(low).view(c.index_heads, c.index_width)
        matches = self.first_rotated(query, position).float() @ cache.index.float().T
        scores = (weights.index_weights(x) * c.index_scale).float() @ matches.relu()
        selected = scores[0].topk(min(c.selected, position + 1)).indices

        nope, rope = weights.query_up(low).view(c.heads, -1).split((c.nope, c.rope), -1)
        absorbed = torch.bmm(nope[:, None], weights.key_up)
        query_rope = self.rotated(neighbours_apart(rope), position)[:, None]
        queries = torch.cat((absorbed, query_rope), -1).float()
        values = cache.latent[selected].float()
        keys = torch.cat((values, cache.rope[selected].float()), -1)
        attended = functional.scaled_dot_product_attention(
            queries, keys.expand(c.heads, -1, -1), values.expand(c.heads, -1, -1), scale=c.scale
        )
        return weights.output(torch.bmm(attended.bfloat16(), weights.value_up).view(1, -1))

    def rotated(self, x: Tensor, position: int) -> Tensor:
        """Rotate the halves of x against each other by the position's angles."""
        first, second = x.float().chunk(2, -1)
        cos, sin = (table[position].float() for table in (self.decoder.cos, self.decoder.sin))
        return (x * cos + torch.cat((-second, first), -1) * sin).bfloat16()

    def first_rotated(self, x: Tensor, position: int) -> Tensor:
        """Rotate the first columns of x, and keep the others."""
        columns = self.decoder.config.rope
        return torch.cat((self.rotated(x[..., :columns], position), x[..., columns:]), -1)


def neighbours_apart(x: Tensor) -> Tensor:
    """Bring the pairs' first columns into the first half, and the second ones behind them."""
    return torch.cat((x[..., ::2], x[..., 1::2]), -1)


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    """RMSNorm in float32, rounded once."""
    return functional.rms_norm(x.float(), x.shape[-1:], weight.float(), EPSILON).bfloat16()

"""A decode step in the manner of DeepSeek-V3.2, as a user of torch_npu writes it.

Each layer's attention projects the new token to queries and to one latent key, writes that into a
paged cache, lets the lightning indexer choose which of the cached tokens matter, and attends to
those alone (MLA with absorbed projections: the latent key is the value, too). Weights are random.

Shapes: B sequences of one new token each, H hidden, N heads, P pages of the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch_npu
from torch import Tensor, nn

PAGE = 128  # tokens
EPSILON = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Sizes; those of attention and indexer are DeepSeek-V3.2's, the others are smaller."""

    hidden: int = 1024
    layers: int = 2
    feed_forward: int = 2816
    vocabulary: int = 4096
    heads: int = 128
    query_rank: int = 512
    latent: int = 512
    nope: int = 128  # columns of a head without position
    rope: int = 64  # columns with position
    value: int = 128
    index_heads: int = 64
    index_width: int = 128
    selected: int = 2048  # tokens that a query attends to

    @property
    def scale(self) -> float:
        """Of attention's logits."""
        return (self.nope + self.rope) ** -0.5

    @property
    def index_scale(self) -> float:
        """Of the indexer's weights; it changes no choice, but keeps scores small."""
        return (self.index_heads * self.index_width) ** -0.5


class Cache(NamedTuple):
    """The tokens that a layer keeps; row t is token t % PAGE of page t // PAGE."""

    latent: Tensor  # [P * PAGE, latent]: key without position, and value
    rope: Tensor  # [P * PAGE, rope]: key with position
    index: Tensor  # [P * PAGE, index_width]: the indexer's key

    @classmethod
    def random(cls, config: Config, pages: int, generator: torch.Generator) -> Cache:
        """Return a cache in which every slot holds something, in place of a prompt."""
        widths = (config.latent, config.rope, config.index_width)
        return cls(*(random((pages * PAGE, width), 1.0, generator) for width in widths))

    def to(self, device: str) -> Cache:
        """Return a copy on a device."""
        return Cache(*(tensor.to(device, copy=True) for tensor in self))


class Step(NamedTuple):
    """A step as all layers know it: tensors of the device, so that one graph serves all steps."""

    slots: Tensor  # int64 [B, 1]: rows of the cache that the new tokens are written to
    lengths: Tensor  # int32 [B]: tokens of each sequence, with the new one
    query_ends: Tensor  # int32 [B]: one query for each sequence, in the layout TND
    block_table: Tensor  # int32 [B, most pages]
    cos: Tensor  # [B, rope]
    sin: Tensor


class Norm(nn.Module):
    """RMSNorm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, dtype=torch.bfloat16))

    def forward(self, x: Tensor) -> Tensor:
        """Return x with a mean square of 1, scaled."""
        return torch_npu.npu_rms_norm(x, self.weight, EPSILON)[0]


class Attention(nn.Module):
    """Sparse attention of the new tokens to those in the cache."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = c = config
        self.query_down = linear(c.hidden, c.query_rank)
        self.query_norm = Norm(c.query_rank)
        self.query_up = linear(c.query_rank, c.heads * (c.nope + c.rope))
        self.key_up = weight(c.heads, c.nope, c.latent)
        self.latent_down = linear(c.hidden, c.latent + c.rope)
        self.latent_norm = Norm(c.latent)
        self.value_up = weight(c.heads, c.latent, c.value)
        self.output = linear(c.heads * c.value, c.hidden)
        self.index_query = linear(c.query_rank, c.index_heads * c.index_width)
        self.index_key = linear(c.hidden, c.index_width)
        self.index_norm = nn.LayerNorm(c.index_width, EPSILON, dtype=torch.bfloat16)
        self.index_weights = linear(c.hidden, c.index_heads)

    def forward(self, x: Tensor, step: Step, cache: Cache) -> Tensor:
        """Return [B, H]; the new tokens' keys are written into the cache."""
        c = self.config
        low = self.query_norm(self.query_down(x))
        selected = self.select(x, low, step, cache)

        latent, rope = self.latent_down(x).split((c.latent, c.rope), -1)
        rope = interleaved_rope(rope.unsqueeze(1), step).squeeze(1)
        write(cache.latent, step.slots, self.latent_norm(latent))
        write(cache.rope, step.slots, rope)

        nope, rope = self.query_up(low).unflatten(-1, (c.heads, -1)).split((c.nope, c.rope), -1)
        absorbed = torch.bmm(nope.transpose(0, 1), self.key_up).transpose(0, 1)
        keys = paged(cache.latent)
        attended, _, _ = torch_npu.npu_sparse_flash_attention(
            absorbed.contiguous(),
            keys,
            keys,
            selected,
            c.scale,
            query_rope=interleaved_rope(rope, step),
            key_rope=paged(cache.rope),
            block_table=step.block_table,
            actual_seq_lengths_query=step.query_ends,
            actual_seq_lengths_kv=step.lengths,
            layout_query="TND",
            layout_kv="PA_BSND",
            attention_mode=2,
        )
        values = torch.bmm(attended.transpose(0, 1), self.value_up)
        return self.output(values.transpose(0, 1).flatten(1))

    def select(self, x: Tensor, low: Tensor, step: Step, cache: Cache) -> Tensor:
        """Return which tokens each sequence attends to, int32 [B, 1, selected], -1 behind them."""
        c = self.config
        key = rope_of_first(c.rope, self.index_norm(self.index_key(x)).unsqueeze(1), step)
        write(cache.index, step.slots, key.squeeze(1))
        query = self.index_query(low).unflatten(-1, (c.index_heads, c.index_width))
        indices, _ = torch_npu.npu_lightning_indexer(
            rope_of_first(c.rope, query, step),
            paged(cache.index),
            self.index_weights(x) * c.index_scale,
            block_table=step.block_table,
            actual_seq_lengths_query=step.query_ends,
            actual_seq_lengths_key=step.lengths,
            layout_query="TND",
            layout_key="PA_BSND",
            sparse_count=c.selected,
        )
        return indices


class FeedForward(nn.Module):
    """A gated MLP."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up = linear(config.hidden, 2 * config.feed_forward)
        self.down = linear(config.feed_forward, config.hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, H]."""
        return self.down(torch_npu.npu_swiglu(self.up(x)))


class Layer(nn.Module):
    """Attention and MLP, each behind a norm and beside a residual connection."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention_norm = Norm(config.hidden)
        self.attention = Attention(config)
        self.feed_forward_norm = Norm(config.hidden)
        self.feed_forward = FeedForward(config)

    def forward(self, x: Tensor, step: Step, cache: Cache) -> Tensor:
        """Return [B, H]."""
        x = x + self.attention(self.attention_norm(x), step, cache)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Decoder(nn.Module):
    """The whole step, from tokens to logits."""

    def __init__(self, config: Config, most_tokens: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.hidden, dtype=torch.bfloat16)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = Norm(config.hidden)
        self.head = linear(config.hidden, config.vocabulary)
        frequencies = 10000.0 ** -(torch.arange(0, config.rope, 2) / config.rope)
        angles = torch.outer(torch.arange(most_tokens).float(), frequencies).repeat(1, 2)
        self.register_buffer("cos", angles.cos().bfloat16())
        self.register_buffer("sin", angles.sin().bfloat16())

    def forward(
        self, tokens: Tensor, positions: Tensor, block_table: Tensor, caches: list[Cache]
    ) -> Tensor:
        """Return logits [B, vocabulary] of what follows `tokens`, int64 [B], at `positions`.

        The caches are written. Sequences may have any lengths: they are values of tensors.
        """
        page = block_table.gather(1, (positions // PAGE).unsqueeze(1))
        step = Step(
            slots=page * PAGE + (positions % PAGE).unsqueeze(1),
            lengths=(positions + 1).int(),
            query_ends=torch.arange(1, len(tokens) + 1, dtype=torch.int32, device=tokens.device),
            block_table=block_table,
            cos=self.cos[positions],
            sin=self.sin[positions],
        )
        x = self.embedding(tokens)
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, step, cache)
        return self.head(self.norm(x))

    @torch.no_grad()
    def randomize(self, generator: torch.Generator) -> Decoder:
        """Fill the weights so that activations keep their size; return the module."""
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                inputs = parameter.shape[1]  # of [out, in], and of [N, in, out]
                size = 1.0 if name == "embedding.weight" else inputs**-0.5
                parameter.copy_(random(tuple(parameter.shape), size, generator))
        return self


def paged(rows: Tensor) -> Tensor:
    """Return a cache as operators take it, [P, PAGE, 1, columns]."""
    return rows.view(-1, PAGE, 1, rows.shape[-1])


def write(rows: Tensor, slots: Tensor, values: Tensor) -> None:
    """Write values [B, columns] into the rows [B, 1] of a cache."""
    torch_npu.npu_scatter_nd_update_(rows, slots, values)


def interleaved_rope(x: Tensor, step: Step) -> Tensor:
    """Rotate pairs of neighbours of x [B, N, rope] by position; the pairs' halves end apart."""
    cos, sin = (table[:, None, None] for table in (step.cos, step.sin))
    return torch_npu.npu_interleave_rope(x.unsqueeze(2), cos, sin).squeeze(2)


def rope_of_first(columns: int, x: Tensor, step: Step) -> Tensor:
    """Rotate the first columns of x [B, N, columns + others], halves against each other."""
    rotated, kept = x.unsqueeze(1).split((columns, x.shape[-1] - columns), -1)
    cos, sin = (table[:, None, None] for table in (step.cos, step.sin))
    rotated = torch_npu.npu_rotary_mul(rotated, cos, sin)
    return torch.cat((rotated, kept), -1).squeeze(1)


def linear(inputs: int, outputs: int) -> nn.Linear:
    """Return a linear layer without bias."""
    return nn.Linear(inputs, outputs, bias=False, dtype=torch.bfloat16)


def weight(*sizes: int) -> nn.Parameter:
    """Return a weight with a matrix for each head."""
    return nn.Parameter(torch.empty(sizes, dtype=torch.bfloat16))


def random(sizes: tuple[int, ...], size: float, generator: torch.Generator) -> Tensor:
    """Return normally distributed values."""
    return torch.empty(sizes, dtype=torch.bfloat16).normal_(0, size, generator=generator)

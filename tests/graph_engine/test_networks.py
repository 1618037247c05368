"""Small networks of the usual kinds in max-autotune mode: what the engine answers is eager's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
import torchair  # noqa: F401 - isolated tests are forked from a process that has it
from torch import nn
from torch.nn import functional

from tests.graph_engine.agreement import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Caches = Sequence[tuple[torch.Tensor, torch.Tensor]]
    Write = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], None]


def assert_same(got: object, wanted: object) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


class Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(after)
        self.shortcut: nn.Module = nn.Identity()
        if before != after or stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + self.shortcut(x))


def resnet() -> nn.Module:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        Block(8, 8, 1),
        Block(8, 16, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 10),
    ).to("npu")
    for _ in range(3):  # running statistics that are not those of a new layer
        model(torch.randn(4, 3, 32, 32).to("npu"))
    return model


def images(size: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(size, 3, 32, 32).to("npu"),)


class BertLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, -1)
        )
        scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        seen = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = self.norm(x + self.out(seen))
        result: torch.Tensor = self.last_norm(x + self.down(functional.gelu(self.up(x))))
        return result


class Bert(nn.Module):
    def __init__(self, words: int = 100, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.pooler, self.head = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(
        self, tokens: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.places(places))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(torch.tanh(self.pooler(x[:, 0]))), x


def bert() -> nn.Module:
    return Bert().to("npu")


def sentences(size: int) -> tuple[torch.Tensor, ...]:
    mask = torch.ones(2, 4 + size, dtype=torch.int64)
    mask[1, -2:] = 0
    return torch.randint(0, 100, (2, 4 + size)).to("npu"), mask.to("npu")


@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        pytest.param(resnet, images, id="resnet"),
        pytest.param(bert, sentences, id="bert"),
    ],
)
def test_a_network_answers_what_eager_does(
    make: Callable[[], nn.Module],
    inputs: Callable[[int], tuple[torch.Tensor, ...]],
    *,
    dynamic: bool,
) -> None:
    torch.manual_seed(7)
    with torch.no_grad():
        model = make().eval()
        function = compiled(model, dynamic=dynamic)
        for size in (3, 5, 2, 5) if dynamic else (3, 3):
            given = inputs(size)
            assert_same(function(*given), model(*given))


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def scatter(
    keys: torch.Tensor,
    values: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    places: torch.Tensor,
) -> None:
    rows = places[None, None, :, None].expand(k.shape)
    keys.scatter_(2, rows, k)
    values.scatter_(2, rows, v)


def scatter_update(
    keys: torch.Tensor,
    values: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    places: torch.Tensor,
) -> None:
    starts = places[:1].expand(k.shape[0])
    torch_npu.scatter_update_(keys, starts, k, 2)
    torch_npu.scatter_update_(values, starts, v, 2)


class LlamaLayer(nn.Module):
    def __init__(self, width: int, heads: int, key_heads: int, write: Write) -> None:
        super().__init__()
        self.heads, self.key_heads, self.size = heads, key_heads, width // heads
        self.write = write
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, key_heads * self.size, bias=False)
        self.v = nn.Linear(width, key_heads * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)
        self.norm, self.last_norm = RmsNorm(width), RmsNorm(width)

    def forward(
        self,
        x: torch.Tensor,
        places: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> torch.Tensor:
        batch, length, width = x.shape
        y = self.norm(x)
        q = self.q(y).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k(y).view(batch, length, self.key_heads, self.size).transpose(1, 2)
        v = self.v(y).view(batch, length, self.key_heads, self.size).transpose(1, 2)
        self.write(keys, values, rotated(k, cos, sin), v, places)
        shape = (batch, self.key_heads, self.heads // self.key_heads, -1, self.size)
        k, v = (c[:, :, None].expand(shape).flatten(1, 2) for c in (keys, values))
        scores = rotated(q, cos, sin) @ k.transpose(-1, -2) / self.size**0.5
        later = torch.arange(keys.shape[2], device=x.device) > places[:, None]
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), -1)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(batch, length, width))
        y = self.last_norm(x)
        result: torch.Tensor = x + self.down(functional.silu(self.gate(y)) * self.up(y))
        return result


class Llama(nn.Module):
    """Two layers whose four heads share two of keys, over words of a width of 32."""

    speeds: torch.Tensor

    def __init__(self, write: Write, words: int = 100, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(LlamaLayer(width, heads, 2, write) for _ in range(2))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, words, bias=False)
        size = width // heads
        steps = torch.arange(0, size, 2) / size
        self.register_buffer("speeds", 1.0 / 10000**steps)

    def forward(self, tokens: torch.Tensor, places: torch.Tensor, caches: Caches) -> torch.Tensor:
        angles = torch.cat([places[:, None] * self.speeds] * 2, -1)
        cos, sin = angles.cos(), angles.sin()
        x = self.words(tokens)
        for layer, (keys, values) in zip(self.layers, caches, strict=True):
            x = layer(x, places, cos, sin, keys, values)
        result: torch.Tensor = self.head(self.norm(x))
        return result


def new_caches(room: int = 16) -> Caches:
    return [
        (torch.zeros(2, 2, room, 8).to("npu"), torch.zeros(2, 2, room, 8).to("npu"))
        for _ in range(2)
    ]


@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("write", [scatter, scatter_update])
def test_a_cache_written_in_place_stays_for_the_next_step(write: Write, *, dynamic: bool) -> None:
    torch.manual_seed(7)
    model = Llama(write).to("npu").eval()
    ours, theirs = new_caches(), new_caches()
    start = 0
    with torch.no_grad():
        function = compiled(model, dynamic=dynamic)
        for length in (5, 1, 3, 1, 1) if dynamic else (4, 4, 4):
            tokens = torch.randint(0, 100, (2, length)).to("npu")
            places = torch.arange(start, start + length).to("npu")
            assert_same(function(tokens, places, ours), model(tokens, places, theirs))
            start += length
            assert_same(ours, theirs)
            for cache in (cache for pair in ours for cache in pair):
                assert cache[:, :, :start].abs().amin() > 0
                assert cache[:, :, start:].abs().amax() == 0

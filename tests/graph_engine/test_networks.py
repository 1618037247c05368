"""Small networks of the usual kinds in max-autotune mode: what the engine answers is eager's."""

from __future__ import annotations

import pytest

from tests.twin.on_twin import output

PRELUDE = """
import torchair
from torch import nn
from torch.nn import functional

torch.manual_seed(7)

def compiled(function, dynamic):
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return torch.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)

def assert_same(got, wanted):
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)
"""

RESNET = """
class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(after)
        self.shortcut = nn.Identity() if before == after and stride == 1 else nn.Sequential(
            nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
        )

    def forward(self, x):
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + self.shortcut(x))

model = nn.Sequential(
    nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
    Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
).npu()
with torch.no_grad():
    for _ in range(3):  # running statistics that are not those of a new layer
        model(torch.randn(4, 3, 32, 32).npu())
model.eval()

def arguments(size):
    return (torch.randn(size, 3, 32, 32).npu(),)
"""

BERT = """
class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, -1)
        )
        scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        seen = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = self.norm(x + self.out(seen))
        return self.last_norm(x + self.down(functional.gelu(self.up(x))))

class Bert(nn.Module):
    def __init__(self, words=100, width=32, heads=4, layers=2):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.pooler, self.head = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, tokens, mask):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.places(places))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(torch.tanh(self.pooler(x[:, 0]))), x

model = Bert().npu().eval()

def arguments(size):
    mask = torch.ones(2, 4 + size, dtype=torch.int64)
    mask[1, -2:] = 0
    return torch.randint(0, 100, (2, 4 + size)).npu(), mask.npu()
"""

COMPARE = """
with torch.no_grad():
    function = compiled(model, {dynamic})
    for size in {sizes}:
        given = arguments(size)
        assert_same(function(*given), model(*given))
print("same")
"""

LLAMA = """
class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight

def rotated(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin

class Layer(nn.Module):
    def __init__(self, width, heads, key_heads):
        super().__init__()
        self.heads, self.key_heads, self.size = heads, key_heads, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, key_heads * self.size, bias=False)
        self.v = nn.Linear(width, key_heads * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)
        self.norm, self.last_norm = RmsNorm(width), RmsNorm(width)

    def forward(self, x, places, cos, sin, keys, values):
        batch, length, width = x.shape
        y = self.norm(x)
        q = self.q(y).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k(y).view(batch, length, self.key_heads, self.size).transpose(1, 2)
        v = self.v(y).view(batch, length, self.key_heads, self.size).transpose(1, 2)
        {write}
        shape = (batch, self.key_heads, self.heads // self.key_heads, -1, self.size)
        k, v = (c[:, :, None].expand(shape).flatten(1, 2) for c in (keys, values))
        scores = rotated(q, cos, sin) @ k.transpose(-1, -2) / self.size ** 0.5
        later = torch.arange(keys.shape[2], device=x.device) > places[:, None]
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), -1)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(batch, length, width))
        y = self.last_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))

class Llama(nn.Module):
    def __init__(self, words=100, width=32, heads=4, key_heads=2, layers=2):
        super().__init__()
        self.size = width // heads
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width, heads, key_heads) for _ in range(layers))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, words, bias=False)
        steps = torch.arange(0, self.size, 2) / self.size
        self.register_buffer("speeds", 1.0 / 10000 ** steps)

    def forward(self, tokens, places, caches):
        angles = torch.cat([places[:, None] * self.speeds] * 2, -1)
        cos, sin = angles.cos(), angles.sin()
        x = self.words(tokens)
        for layer, (keys, values) in zip(self.layers, caches):
            x = layer(x, places, cos, sin, keys, values)
        return self.head(self.norm(x))

def new_caches(room=16):
    return [tuple(torch.zeros(2, 2, room, 8).npu() for _ in range(2)) for _ in range(2)]

model = Llama().npu().eval()
with torch.no_grad():
    function = compiled(model, {dynamic})
    ours, theirs = new_caches(), new_caches()
    start = 0
    for length in {lengths}:
        tokens = torch.randint(0, 100, (2, length)).npu()
        places = torch.arange(start, start + length).npu()
        assert_same(function(tokens, places, ours), model(tokens, places, theirs))
        start += length
        assert_same(ours, theirs)
        for cache in (c for pair in ours for c in pair):
            assert cache[:, :, :start].abs().amin() > 0
            assert cache[:, :, start:].abs().amax() == 0
print("same")
"""

WRITES = {
    "scatter": """rows = places[None, None, :, None].expand(k.shape)
        keys.scatter_(2, rows, rotated(k, cos, sin))
        values.scatter_(2, rows, v)""",
    "scatter_update": """starts = places[:1].expand(batch)
        torch_npu.scatter_update_(keys, starts, rotated(k, cos, sin), 2)
        torch_npu.scatter_update_(values, starts, v, 2)""",
}


def last_line(script: str) -> str:
    return output(PRELUDE + script).splitlines()[-1]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "network",
    [
        pytest.param(RESNET, id="resnet"),
        pytest.param(BERT, id="bert"),
    ],
)
def test_a_network_answers_what_eager_does(network: str, *, dynamic: bool) -> None:
    sizes = (3, 5, 2, 5) if dynamic else (3, 3)
    assert last_line(network + COMPARE.format(dynamic=dynamic, sizes=sizes)) == "same"


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("write", WRITES)
def test_a_cache_written_in_place_stays_for_the_next_step(write: str, *, dynamic: bool) -> None:
    lengths = (5, 1, 3, 1, 1) if dynamic else (4, 4, 4)
    script = LLAMA.format(write=WRITES[write], dynamic=dynamic, lengths=lengths)
    assert last_line(script) == "same"

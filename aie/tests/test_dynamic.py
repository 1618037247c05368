"""Ranges of shapes and gears: whole and in parts, with and without sizes as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn

import torch_aie
from aie.tests.scripts import engines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

Input = torch_aie.Input


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.linear = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.norm(self.convolution(x)))
        y = nn.functional.adaptive_avg_pool2d(y, (1, 1))
        result: Tensor = self.linear(y.view(y.size(0), -1))
        return result


class Attention(nn.Module):
    """Every shape is made of sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.places = nn.Embedding(64, 16)
        self.qkv = nn.Linear(16, 48)
        self.norm = nn.LayerNorm(16)
        self.heads = 4

    def forward(self, ids: Tensor) -> Tensor:
        b, t = ids.size(0), ids.size(1)
        place = torch.arange(t).unsqueeze(0).expand(b, t)
        x = self.norm(self.words(ids) + self.places(place))
        c = x.size(2)
        q, k, v = self.qkv(x).chunk(3, -1)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        later = torch.ones(t, t).triu(1)
        scores = (q @ k.transpose(-2, -1) / (t * 1.5)).masked_fill(later == 1, -1e9)
        y = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, t, c)
        result: Tensor = (x + y)[:, t // 2 :]
        return result


def images(*shapes: Sequence[int]) -> list[tuple[Tensor, ...]]:
    return [(torch.randn(tuple(shape)),) for shape in shapes]


def words(*shapes: Sequence[int]) -> list[tuple[Tensor, ...]]:
    return [(torch.randint(0, 50, tuple(shape)),) for shape in shapes]


def scripted(model: nn.Module, example: tuple[Tensor, ...], how: str) -> torch.jit.ScriptModule:
    torch.manual_seed(0)
    model = model.eval()
    made: torch.jit.ScriptModule
    trace: Callable[..., torch.jit.ScriptModule] = torch.jit.trace
    made = torch.jit.script(model) if how == "script" else trace(model, example)
    return made


IMAGES = Input(min_shape=(1, 3, 16, 16), max_shape=(4, 3, 64, 64))
WORDS = Input(min_shape=(1, 2), max_shape=(4, 20), dtype=torch.int64)
SHAPES = ((2, 3, 32, 32), (1, 3, 16, 16), (4, 3, 64, 48))


def compare(
    module: torch.jit.ScriptModule, model: nn.Module, calls: Sequence[tuple[Tensor, ...]]
) -> None:
    for call in [*calls, *calls]:  # again: what a run keeps must not stay for another shape
        torch.testing.assert_close(module(*call), model(*call), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize(
    ("model", "inputs", "calls"),
    [
        (Convolutions, [IMAGES], images(*SHAPES)),
        (Convolutions, [[Input(shape)] for shape in SHAPES], images(*SHAPES)),
        (Attention, [WORDS], words((2, 9), (1, 2), (4, 20))),
        (
            Attention,
            [[Input(s, dtype=torch.int64)] for s in ((2, 9), (1, 4))],
            words((2, 9), (1, 4)),
        ),
        (
            Attention,
            [Input(min_shape=(-1, -1), max_shape=(-1, -1), dtype=torch.int64)],
            words((2, 9), (7, 50)),
        ),
    ],
    ids=["range", "gears", "words", "word gears", "unbounded"],
)
def test_whole(
    model: Callable[[], nn.Module], inputs: list[Any], calls: list[tuple[Tensor, ...]], how: str
) -> None:
    eager = model().eval()
    module = torch_aie.compile(
        scripted(eager, calls[0], how),
        inputs=inputs,
        allow_tensor_replace_int=True,
        require_full_compilation=True,
    )
    assert engines_of(module) == 1
    compare(module, eager, calls)


@pytest.mark.parametrize(
    "options",
    [
        {"allow_tensor_replace_int": False},
        {"allow_tensor_replace_int": True, "torch_executed_ops": ["aten::softmax", "aten::relu"]},
        {"allow_tensor_replace_int": False, "torch_executed_ops": ["aten::matmul", "aten::relu"]},
    ],
    ids=["sizes", "operator", "both"],
)
@pytest.mark.parametrize("gears", [False, True])
def test_parts(options: dict[str, Any], *, gears: bool) -> None:
    for model, wide, calls in (
        (Convolutions(), IMAGES, images(*SHAPES)),
        (Attention(), WORDS, words((2, 9), (1, 2), (4, 20))),
    ):
        inputs = [[Input.like(call[0])] for call in calls] if gears else [wide]
        module = torch_aie.compile(scripted(model, calls[0], "script"), inputs=inputs, **options)
        assert engines_of(module) >= 1
        assert "aten::" in str(module.graph)
        compare(module, model, calls)


def test_sizes_need_the_option() -> None:
    with pytest.raises(ValueError, match=r"(?s)as a whole.*allow_tensor_replace_int is off"):
        torch_aie.compile(
            scripted(Convolutions(), images(SHAPES[0])[0], "script"),
            inputs=[IMAGES],
            require_full_compilation=True,
        )


class Two(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(x) + torch.sigmoid(y)


GEARS = [[Input((2, 3)), Input((2, 3))], [Input((4, 3)), Input((4, 3))]]
WIDE = [Input(min_shape=(1, 3), max_shape=(4, 3)), Input(min_shape=(1, 3), max_shape=(4, 3))]


@pytest.mark.parametrize("options", [{}, {"torch_executed_ops": ["aten::relu", "aten::sigmoid"]}])
@pytest.mark.parametrize(
    ("inputs", "shapes", "message"),
    [
        (WIDE, ((5, 3), (5, 3)), r"x.*got shape \[5, 3\], allowed is \[1, 3\] to \[4, 3\]"),
        (WIDE, ((4, 3), (4, 3, 1)), r"y.*got shape \[4, 3, 1\], allowed is \[1, 3\] to \[4, 3\]"),
        (GEARS, ((3, 3), (3, 3)), r"x.*got shape \[3, 3\], allowed is \[2, 3\], \[4, 3\]"),
        (GEARS, ((2, 3), (4, 3)), r"different gears, allowed are shapes of one of the 2"),
    ],
)
def test_outside(
    inputs: list[Any], shapes: Sequence[Sequence[int]], message: str, options: dict[str, Any]
) -> None:
    model = Two()
    x, y = torch.randn(4, 3), torch.randn(4, 3)
    module = torch_aie.compile(scripted(model, (x, y), "script"), inputs=inputs, **options)
    with pytest.raises(RuntimeError, match=message):
        module(*(torch.zeros(tuple(shape)) for shape in shapes))
    with pytest.raises(RuntimeError, match="got dtype Int, allowed is Float"):
        module(x, y.int())
    compare(module, model, [(x, y)])  # the module goes on


class Residual(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x) + x


def test_inputs_are_checked_before_libtorch_runs() -> None:
    # The engine takes the input, and what libtorch makes of it.
    module = torch_aie.compile(
        scripted(Residual(), (torch.randn(4, 3),), "script"),
        inputs=[Input((4, 3))],
        torch_executed_ops=["aten::relu"],
    )
    with pytest.raises(RuntimeError, match=r"input 'x[.\d]*': got shape \[5, 3\]"):
        module(torch.zeros(5, 3))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "got 0 inputs, but the graph has 1"),
        ([[IMAGES], [Input((1, 3, 16, 16))]], "a range of shapes in one of 2 profiles"),
        ([[Input((1, 3))], [Input((1, 3, 4))]], "other types or ranks"),
        ([[Input((n, 3, 16, 16))] for n in range(1, 102)], "101 gears"),
        ([IMAGES, IMAGES], "got 2 inputs, but the graph has 1"),
    ],
)
def test_declarations(inputs: list[Any], message: str) -> None:
    module = scripted(Convolutions(), images(SHAPES[0])[0], "script")
    with pytest.raises((ValueError, TypeError), match=message):
        torch_aie.compile(module, inputs=inputs)


def test_buffer_sizes() -> None:
    module = scripted(Convolutions(), images(SHAPES[0])[0], "script")
    with pytest.raises(ValueError, match="got 2 sizes, allowed are 1, or one for each of the 1"):
        torch_aie.compile(module, inputs=[Input(SHAPES[0])], default_buffer_size_vec=[1, 2])


class Branch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(x)
        if y.size(0) > 2:
            return torch.sigmoid(y) * 2
        return torch.tanh(y) + y.size(0)


@pytest.mark.parametrize("allow", [False, True])
def test_branch_on_a_size(*, allow: bool) -> None:
    model = Branch()
    calls = images((1, 3), (2, 3), (3, 3), (4, 3))
    module = torch_aie.compile(
        scripted(model, calls[0], "script"),
        inputs=[Input(min_shape=(1, 3), max_shape=(4, 3))],
        allow_tensor_replace_int=allow,
    )
    compare(module, model, calls)


class Arithmetic(nn.Module):
    """Numbers made of sizes, as Python makes them."""

    def forward(self, x: Tensor) -> Tensor:
        h, w = x.size(0), x.size(1)
        a = int(h * 1.1) + h // 2 - (-h) // 3 + h % 3 + max(h, w) + min(h, w, 5) + abs(h - w)
        b = float(h) / w + 2**w + h**0.5
        y = x.reshape(h * w, 1).expand(-1, 2).reshape(w, -1)[: h - 1]
        result: Tensor = y * a + b * x.numel() + len(x)
        return result


def test_arithmetic() -> None:
    model = Arithmetic()
    module = torch_aie.compile(
        scripted(model, (torch.ones(2, 3),), "script"),
        inputs=[Input(min_shape=(2, 3), max_shape=(30, 9))],
        allow_tensor_replace_int=True,
        require_full_compilation=True,
    )
    compare(module, model, images((2, 3), (30, 9), (20, 4), (10, 7)))


class Pieces(nn.Module):
    """How many there are depends on a size: a layer has one number of outputs."""

    def forward(self, x: Tensor) -> Tensor:
        last: Tensor = torch.split(torch.relu(x), 2)[-1]
        return last + 1


def test_what_no_layer_has_for_several_sizes() -> None:
    model = Pieces()
    calls = images((2, 3), (4, 3), (8, 3))
    inputs = [Input(min_shape=(2, 3), max_shape=(8, 3))]
    module = torch_aie.compile(
        scripted(model, calls[0], "script"), inputs=inputs, allow_tensor_replace_int=True
    )
    assert "aten::split" in str(module.graph)
    compare(module, model, calls)


def test_saved(tmp_path: Path) -> None:
    model = Attention().eval()
    calls = words((2, 9), (4, 20))
    module = torch_aie.compile(
        scripted(model, calls[0], "script"), inputs=[WORDS], torch_executed_ops=["aten::softmax"]
    )
    module.save(tmp_path / "module.pt")
    loaded = torch.jit.load(tmp_path / "module.pt")  # type: ignore[no-untyped-call]
    compare(loaded, model, calls)
    with pytest.raises(RuntimeError, match=r"got shape \[5, 9\]"):
        loaded(*words((5, 9))[0])

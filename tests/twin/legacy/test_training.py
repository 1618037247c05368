"""Small models train on old chips as on the CPU."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 3
IMAGES = torch.linspace(-1, 1, 4 * 3 * 24 * 24).mul(50).sin().reshape(4, 3, 24, 24)
CLASSES = torch.tensor([0, 3, 1, 4])
WORDS = torch.arange(24).mul(7).remainder(20).reshape(2, 12)
LABELS = torch.where(WORDS % 3 == 0, -100, WORDS)
HIDDEN = torch.zeros(2, 1, 1, 12).masked_fill(torch.arange(12) > 9, -10000.0)


class Block(nn.Module):
    """Two convolutions beside one, which may halve the image."""

    def __init__(self, width: int, stride: int) -> None:
        super().__init__()
        self.main = nn.Sequential(
            *(nn.Conv2d(8, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)),
        )
        self.short = nn.Sequential(
            nn.Conv2d(8, width, 1, stride, bias=False), nn.BatchNorm2d(width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.main(x) + self.short(x))


def residual_network() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU()),
        *(nn.MaxPool2d(3, 2, 1), Block(8, 1), Block(16, 2), nn.AdaptiveAvgPool2d(1)),
        *(nn.Flatten(), nn.Linear(16, 5)),
    )


def loss_of_images(model: nn.Module, device: str) -> torch.Tensor:
    return functional.cross_entropy(model(IMAGES.to(device)), CLASSES.to(device))


class Transformer(nn.Module):
    """One layer, with attention to two heads written out."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(20, 16, padding_idx=0), nn.Embedding(12, 16)
        self.first, self.second = nn.LayerNorm(16, 1e-12), nn.LayerNorm(16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)
        self.drop, self.head = nn.Dropout(0.0), nn.Linear(16, 20)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.places(torch.arange(12, device=ids.device))
        x = self.drop(self.first(x))
        q, k, v = self.qkv(x).reshape(2, 12, 3, 2, 8).permute(2, 0, 3, 1, 4)
        scores = self.drop(torch.softmax(q @ k.transpose(-1, -2) / 8**0.5 + mask, -1))
        x = self.second(x + self.out((scores @ v).transpose(1, 2).reshape(2, 12, 16)))
        wide = functional.gelu(self.up(x), approximate="tanh")
        logits: torch.Tensor = self.head(x + self.down(wide))
        return logits


def loss_of_words(model: nn.Module, device: str) -> torch.Tensor:
    found = model(WORDS.to(device), HIDDEN.to(device))
    return functional.cross_entropy(found.flatten(0, 1), LABELS.flatten().to(device))


def losses(
    make: Callable[[], nn.Module],
    loss_of: Callable[[nn.Module, str], torch.Tensor],
    optimizer: Callable[..., torch.optim.Optimizer],
    device: str,
    *,
    clipped: bool,
) -> list[float]:
    """Train a new model, and return the loss of each step."""
    torch.manual_seed(0)
    model = make().to(device)
    chosen = optimizer(model.parameters())
    found = []
    for _ in range(STEPS):
        chosen.zero_grad()
        loss = loss_of(model, device)
        torch.autograd.backward(loss)
        if clipped:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        chosen.step()
        found.append(loss.item())
    return found


def check_training(
    make: Callable[[], nn.Module],
    loss_of: Callable[[nn.Module, str], torch.Tensor],
    optimizer: Callable[..., torch.optim.Optimizer],
    *,
    clipped: bool = False,
) -> None:
    """Check that losses on the device are those on the CPU, and that they sink."""
    npu, cpu = (
        losses(make, loss_of, optimizer, device, clipped=clipped) for device in ("npu", "cpu")
    )
    assert len(npu) == STEPS
    for first, second in zip(npu, cpu, strict=True):
        assert abs(first - second) < 1e-4, (npu, cpu)
    assert npu[-1] < npu[0]


@pytest.mark.isolated(OPWRIGHT_SOC="Ascend910A")
def test_a_residual_network_trains() -> None:
    optimizer = partial(torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=1e-4)
    check_training(residual_network, loss_of_images, optimizer)


@pytest.mark.isolated(OPWRIGHT_SOC="Ascend310P3")
def test_a_transformer_trains() -> None:
    optimizer = partial(torch.optim.AdamW, lr=1e-2)
    check_training(Transformer, loss_of_words, optimizer, clipped=True)

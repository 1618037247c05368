"""Convolutional networks with the layers and widths of ResNet, U-Net and YOLO, random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["resnet18", "resnet50", "unet", "yolo"]

Network = tuple[nn.Module, tuple[torch.Tensor, ...]]


def convolution(
    before: int, after: int, kernel: int, stride: int = 1, activation: type[nn.Module] | None = None
) -> nn.Sequential:
    """Build a convolution that keeps the size (divided by the stride), and its normalization."""
    layers: list[nn.Module] = [
        nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(after),
    ]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class Residual(nn.Module):
    """The sum of some layers and a shortcut, and a ReLU."""

    def __init__(self, layers: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.layers, self.shortcut = layers, shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add what the layers make of the input to its shortcut."""
        return torch.relu(self.layers(x) + self.shortcut(x))


def basic_block(before: int, width: int, stride: int) -> tuple[nn.Module, int]:
    """Build ResNet-18's block; the second result is how many channels it has."""
    layers = nn.Sequential(
        convolution(before, width, 3, stride, nn.ReLU), convolution(width, width, 3)
    )
    return Residual(layers, shortcut(before, width, stride)), width


def bottleneck(before: int, width: int, stride: int) -> tuple[nn.Module, int]:
    """Build ResNet-50's block; the second result is how many channels it has."""
    layers = nn.Sequential(
        convolution(before, width, 1, 1, nn.ReLU),
        convolution(width, width, 3, stride, nn.ReLU),
        convolution(width, 4 * width, 1),
    )
    return Residual(layers, shortcut(before, 4 * width, stride)), 4 * width


def shortcut(before: int, after: int, stride: int) -> nn.Module:
    """Build what brings a block's input to the shape of its output."""
    if before == after and stride == 1:
        return nn.Identity()
    return convolution(before, after, 1, stride)


def resnet(
    block: Callable[[int, int, int], tuple[nn.Module, int]], depths: Sequence[int], width: int
) -> nn.Sequential:
    """Build a network for 1000 classes, of four stages."""
    layers: list[nn.Module] = [convolution(3, width, 7, 2, nn.ReLU), nn.MaxPool2d(3, 2, 1)]
    channels = width
    for stage, depth in enumerate(depths):
        for i in range(depth):
            stride = 2 if stage and not i else 1
            layer, channels = block(channels, width << stage, stride)
            layers.append(layer)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def resnet18(size: int = 224, width: int = 64) -> Network:
    """Build ResNet-18, one picture."""
    return seeded(lambda: resnet(basic_block, (2, 2, 2, 2), width)), (torch.rand(1, 3, size, size),)


def resnet50(size: int = 224, width: int = 64) -> Network:
    """Build ResNet-50, one picture."""
    return seeded(lambda: resnet(bottleneck, (3, 4, 6, 3), width)), (torch.rand(1, 3, size, size),)


class UNet(nn.Module):
    """Down four times, up four times; each level up also sees its level down."""

    def __init__(self, width: int) -> None:
        super().__init__()
        widths = [width << level for level in range(5)]
        self.first = self.pair(3, width)
        self.down = nn.ModuleList(self.pair(w // 2, w) for w in widths[1:])
        self.up = nn.ModuleList(nn.ConvTranspose2d(w, w // 2, 2, 2) for w in reversed(widths[1:]))
        self.join = nn.ModuleList(self.pair(w, w // 2) for w in reversed(widths[1:]))
        self.last = nn.Conv2d(width, 2, 1)

    @staticmethod
    def pair(before: int, after: int) -> nn.Sequential:
        """Build the two convolutions of a level."""
        return nn.Sequential(
            convolution(before, after, 3, 1, nn.ReLU), convolution(after, after, 3, 1, nn.ReLU)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scores of two classes for each pixel."""
        x = self.first(x)
        levels = []
        for down in self.down:
            levels.append(x)
            x = down(nn.functional.max_pool2d(x, 2))
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([levels.pop(), up(x)], 1))
        scores: torch.Tensor = self.last(x)
        return scores


def unet(size: int = 128, width: int = 32) -> Network:
    """Build a U-Net, one picture."""
    return seeded(lambda: UNet(width)), (torch.rand(1, 3, size, size),)


class CrossStage(nn.Module):
    """YOLO's block: half of the channels go through residual pairs, every step is kept."""

    def __init__(self, before: int, after: int, depth: int, *, adds: bool) -> None:
        super().__init__()
        half = after // 2
        self.adds = adds
        self.first = convolution(before, after, 1, 1, nn.SiLU)
        self.pairs = nn.ModuleList(
            nn.Sequential(
                convolution(half, half, 3, 1, nn.SiLU), convolution(half, half, 3, 1, nn.SiLU)
            )
            for _ in range(depth)
        )
        self.last = convolution((2 + depth) * half, after, 1, 1, nn.SiLU)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the block."""
        parts = list(self.first(x).chunk(2, 1))
        for pair in self.pairs:
            y = pair(parts[-1])
            parts.append(parts[-1] + y if self.adds else y)
        joined: torch.Tensor = self.last(torch.cat(parts, 1))
        return joined


class Pyramid(nn.Module):
    """YOLO's pooling of several sizes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = convolution(width, width // 2, 1, 1, nn.SiLU)
        self.last = convolution(2 * width, width, 1, 1, nn.SiLU)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the block."""
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(nn.functional.max_pool2d(parts[-1], 5, 1, 2))
        joined: torch.Tensor = self.last(torch.cat(parts, 1))
        return joined


class Yolo(nn.Module):
    """Backbone, neck with upsampling, and heads for boxes on three grids."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        w = width
        self.stem = nn.Sequential(
            convolution(3, w, 3, 2, nn.SiLU),
            convolution(w, 2 * w, 3, 2, nn.SiLU),
            CrossStage(2 * w, 2 * w, 1, adds=True),
        )
        self.eighth = self.stage(2 * w, 2)
        self.sixteenth = self.stage(4 * w, 2)
        self.thirtysecond = nn.Sequential(self.stage(8 * w, 1), Pyramid(16 * w))
        self.up_16 = CrossStage(24 * w, 8 * w, 1, adds=False)
        self.up_8 = CrossStage(12 * w, 4 * w, 1, adds=False)
        self.down_16 = convolution(4 * w, 4 * w, 3, 2, nn.SiLU)
        self.out_16 = CrossStage(12 * w, 8 * w, 1, adds=False)
        self.down_32 = convolution(8 * w, 8 * w, 3, 2, nn.SiLU)
        self.out_32 = CrossStage(24 * w, 16 * w, 1, adds=False)
        self.heads = nn.ModuleList(
            nn.Sequential(convolution(c, 4 * w, 3, 1, nn.SiLU), nn.Conv2d(4 * w, classes + 4, 1))
            for c in (4 * w, 8 * w, 16 * w)
        )

    @staticmethod
    def stage(before: int, depth: int) -> nn.Sequential:
        """Build a stage that halves the size and doubles the channels."""
        return nn.Sequential(
            convolution(before, 2 * before, 3, 2, nn.SiLU),
            CrossStage(2 * before, 2 * before, depth, adds=True),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return box and class scores of all places."""
        a = self.eighth(self.stem(x))
        b = self.sixteenth(a)
        c = self.thirtysecond(b)
        up = nn.functional.interpolate
        d = self.up_16(torch.cat([up(c, scale_factor=2.0, mode="nearest"), b], 1))
        e = self.up_8(torch.cat([up(d, scale_factor=2.0, mode="nearest"), a], 1))
        f = self.out_16(torch.cat([self.down_16(e), d], 1))
        g = self.out_32(torch.cat([self.down_32(f), c], 1))
        found = [head(y).flatten(2) for head, y in zip(self.heads, (e, f, g), strict=True)]
        joined = torch.cat(found, 2)
        boxes, scores = torch.split(joined, [4, joined.size(1) - 4], 1)
        return torch.cat([boxes, scores.sigmoid()], 1)


def yolo(size: int = 320, width: int = 16, classes: int = 80) -> Network:
    """Build a YOLO of the smallest kind, one picture."""
    return seeded(lambda: Yolo(width, classes)), (torch.rand(1, 3, size, size),)


def seeded(build: Callable[[], nn.Module]) -> nn.Module:
    """Return what `build` makes; weights and statistics keep the values of every layer near one."""
    torch.manual_seed(0)
    model = build().eval()
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            width = layer.num_features
            nn.init.uniform_(layer.weight, 0.5, 1.0)
            nn.init.uniform_(layer.bias, -0.2, 0.2)
            layer.running_mean = torch.rand(width) * 0.4 - 0.2
            layer.running_var = torch.rand(width) + 0.5
    return model

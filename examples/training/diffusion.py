"""Train a small diffusion U-Net: torch_npu's fused operators on NPU, plain PyTorch on the CPU."""

from __future__ import annotations

import itertools
import math

import torch
from torch import nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import loop
from loop import operators

CHANNELS, HEADS, GROUPS = 32, 4, 8
BATCH, SIDE, TIMES = 8, 16, 200
SAMPLED = 8  # steps of the sampler at the end


class NormSilu(nn.GroupNorm):
    """Group norm, then silu, as one operator."""

    def forward(self, x):
        """Compute both."""
        return operators(x.device).group_norm_silu(x, self)


class Residual(nn.Module):
    """Two convolutions behind group norm and silu; the time shifts what is between them."""

    def __init__(self, before, after):
        super().__init__()
        self.norm, self.last_norm = NormSilu(GROUPS, before), NormSilu(GROUPS, after)
        self.first = nn.Conv2d(before, after, 3, padding=1)
        self.last = nn.Conv2d(after, after, 3, padding=1)
        self.time = nn.Linear(4 * CHANNELS, after)
        self.around = nn.Identity() if before == after else nn.Conv2d(before, after, 1)

    def forward(self, x, time):
        """Compute one block."""
        y = self.first(self.norm(x))
        y = y + self.time(functional.silu(time))[:, :, None, None]
        return self.around(x) + self.last(self.last_norm(y))


class Attention(nn.Module):
    """Attention of all pixels to all pixels."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, channels)
        self.qkv, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        """Compute one block."""
        qkv = self.qkv(self.norm(x)).unflatten(1, (3, HEADS, -1)).flatten(4)  # (B, 3, N, D, pixels)
        q, k, v = qkv.transpose(-1, -2).unbind(1)
        seen = operators(x.device).attention(*(part.contiguous() for part in (q, k, v)))
        return x + self.out(seen.transpose(-1, -2).reshape(x.shape))


class UNet(nn.Module):
    """Two halvings, attention at the lowest place, two doublings."""

    def __init__(self):
        super().__init__()
        wide = 2 * CHANNELS
        self.time = nn.Sequential(
            nn.Linear(CHANNELS, 4 * CHANNELS), nn.SiLU(), nn.Linear(4 * CHANNELS, 4 * CHANNELS)
        )
        self.first = nn.Conv2d(3, CHANNELS, 3, padding=1)
        self.down = nn.ModuleList([Residual(CHANNELS, CHANNELS), Residual(CHANNELS, wide)])
        self.halve = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, stride=2, padding=1) for channels in (CHANNELS, wide)
        )
        self.middle = nn.ModuleList([Residual(wide, wide), Residual(wide, wide)])
        self.attention = Attention(wide)
        self.enlarge = nn.ModuleList(nn.Conv2d(wide, wide, 3, padding=1) for _ in range(2))
        self.up = nn.ModuleList([Residual(2 * wide, wide), Residual(wide + CHANNELS, CHANNELS)])
        self.norm, self.last = NormSilu(GROUPS, CHANNELS), nn.Conv2d(CHANNELS, 3, 3, padding=1)

    def forward(self, x, times):
        """Return the noise in x (B, 3, H, W) at times (B,)."""
        speeds = torch.exp(
            torch.arange(CHANNELS // 2, device=x.device) * (-math.log(1e4) * 2 / CHANNELS)
        )
        angles = times[:, None].float() * speeds
        time = self.time(torch.cat((angles.sin(), angles.cos()), -1))
        x = self.first(x)
        kept = []
        for block, halve in zip(self.down, self.halve, strict=True):
            x = block(x, time)
            kept.append(x)
            x = halve(x)
        x = self.middle[1](self.attention(self.middle[0](x, time)), time)
        for block, enlarge in zip(self.up, self.enlarge, strict=True):
            x = enlarge(functional.interpolate(x, scale_factor=2.0, mode="nearest"))
            x = block(torch.cat((x, kept.pop()), 1), time)
        return self.last(self.norm(x))


def schedule(device):
    """Return how much of an image is left at each time."""
    left = torch.cos((torch.arange(TIMES) + 1) / (TIMES + 1) * math.pi / 2) ** 2
    return left.clamp(min=1e-4).to(device)


def loss(model, batch):
    """Return how wrong the model is about the noise."""
    images, times, noise = batch
    left = schedule(images.device)[times][:, None, None, None]
    noisy = left.sqrt() * images + (1 - left).sqrt() * noise
    return functional.mse_loss(model(noisy, times).float(), noise)


@torch.no_grad()
def sample(model, noise):
    """Return images: DDIM, without randomness after the first noise."""
    left = schedule(noise.device)
    times = torch.linspace(TIMES - 1, 0, SAMPLED + 1).round().long().tolist()
    x = noise
    for now, then in itertools.pairwise(times):
        guess = model(x, torch.full((len(x),), now, device=x.device))
        image = ((x - (1 - left[now]).sqrt() * guess) / left[now].sqrt()).clamp(-1, 1)
        x = left[then].sqrt() * image + (1 - left[then]).sqrt() * guess
    return x


def pictures(steps, generator):
    """Yield (images, times, noise): the images are waves of three colours."""
    axis = torch.linspace(-math.pi, math.pi, SIDE)
    for _ in range(steps):
        turn = torch.rand(BATCH, 3, 1, 1, generator=generator) * math.pi
        images = torch.sin(axis[:, None] * turn.cos() + axis * turn.sin())
        times = torch.randint(TIMES, (BATCH,), generator=generator)
        yield images, times, torch.randn(images.shape, generator=generator)


def options():
    """Return what the script understands."""
    return loop.options(__doc__)


def prepare(chosen):
    """Return the trainer, its batches, and the moving average of the weights."""
    torch.manual_seed(chosen.seed)
    model = UNet().to(chosen.device)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    trainer = loop.Trainer(
        model,
        loop.adamw(model, chosen, decay=0.01),
        loss,
        chosen,
        after=lambda: average.update_parameters(model),
    )
    return trainer, pictures(chosen.steps, torch.Generator().manual_seed(chosen.seed + 1)), average


def main():
    """Train, then sample with the averaged weights."""
    chosen = options().parse_args()
    trainer, batches, average = prepare(chosen)
    seconds = trainer.run(batches)
    noise = torch.randn(4, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(chosen.seed + 2))
    images = sample(average.eval(), noise.to(chosen.device))
    loop.report(trainer, seconds, chosen, mean_square_of_samples=images.square().mean().item())


if __name__ == "__main__":
    main()

"""Discrete Fourier transforms."""

from __future__ import annotations

from typing import cast

import torch

from opwright.graph_engine.table import kernel


@kernel("FFT", source="torchair:aten._fft_c2c.default")
def fft(x: torch.Tensor) -> torch.Tensor:
    """Transform along the last axis."""
    return cast("torch.Tensor", torch.fft.fft(x))


@kernel("FFT2D", source="torchair:aten._fft_c2c.default")
def fft_2d(x: torch.Tensor) -> torch.Tensor:
    """Transform along the last two axes."""
    return cast("torch.Tensor", torch.fft.fft2(x))

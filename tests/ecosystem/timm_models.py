"""Models of timm: a small one of each of its modules, on images that are small where it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tests.ecosystem import torchvision_operators
from tests.ecosystem.models import BATCH, Subject

torchvision_operators.define()

import timm  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["MAKERS"]

PIXELS = 64
FULL_SIZE = 224


def make_for_any_size(name: str) -> Subject:
    """Make a model that takes images of any size."""
    return Subject(timm.create_model(name), {"x": images(PIXELS)})


def make_for_small_images(name: str) -> Subject:
    """Make a model whose size of images is a setting."""
    return Subject(timm.create_model(name, img_size=PIXELS), {"x": images(PIXELS)})


def make_for_full_size(name: str) -> Subject:
    """Make a model for the size of images that it was trained with."""
    return Subject(timm.create_model(name), {"x": images(FULL_SIZE)})


def images(size: int) -> torch.Tensor:
    """Return noise in place of images."""
    return torch.randn(BATCH, 3, size, size)


MAKERS: Mapping[str, Callable[[str], Subject]] = {
    "any-size": make_for_any_size,
    "small-images": make_for_small_images,
    "full-size": make_for_full_size,
}

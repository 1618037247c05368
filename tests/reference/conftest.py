"""Tests of references: the twin comes before torch, whatever a test imports first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401

# isort: split
import torch

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small products are slower with more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

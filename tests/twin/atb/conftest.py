"""Tests of libatb, beneath torch_npu's bridge: the twin comes before torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import opwright.twin  # noqa: F401

# isort: split
from tests.twin.fixtures import seeded, unchanged_stream  # noqa: F401 - fixtures of all tests here

if TYPE_CHECKING:
    import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("twin")

"""Tests of captured graphs: the twin comes before torch, and no test leaves a stream behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import opwright.twin  # noqa: F401

# isort: split
from tests.twin.fixtures import unchanged_stream  # noqa: F401 - a fixture of all tests here

if TYPE_CHECKING:
    import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("twin")

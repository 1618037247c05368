"""Tests of operators on the twin, which comes before torch, whatever a test imports first."""

from __future__ import annotations

import pytest

import opwright.twin  # noqa: F401

# isort: split
from tests.twin.fixtures import seeded, unchanged_stream  # noqa: F401 - fixtures of all tests here


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("twin")
    # torch_npu says so once in a process: it asks for a format that it does not permit itself.
    item.add_marker(pytest.mark.filterwarnings("ignore:Cannot create tensor with internal format"))

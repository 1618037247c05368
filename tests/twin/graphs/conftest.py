"""Tests of captured graphs: the twin comes before torch, and no test leaves a stream behind."""

from __future__ import annotations

import pytest

import opwright.twin  # noqa: F401

# isort: split
from tests.twin.fixtures import unchanged_stream  # noqa: F401 - a fixture of all tests here


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("twin")
    # torch_npu says so once in a process: it asks for a format that it does not permit itself.
    item.add_marker(pytest.mark.filterwarnings("ignore:Cannot create tensor with internal format"))

"""Features of torch_npu besides operators, on the twin, which comes before torch."""

from __future__ import annotations

import pytest

import opwright.twin  # noqa: F401

# isort: split
from tests.twin.fixtures import seeded, unchanged_stream  # noqa: F401 - fixtures of all tests here


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("twin")
    # torch_npu copies a tensor through the old storage.
    item.add_marker(pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"))

"""The table of dtypes against torch's header, and against the copy that goes into packages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch

from opwright.kit.declare.dtypes import SCALAR_TYPES
from opwright.kit.shipped.rules import c_name

pytestmark = pytest.mark.torch

# Older releases have no headers that need no library.
HEADERS = ("torch/headeronly/core/ScalarType.h", "c10/core/ScalarType.h")


def test_torch_has_the_enumerators() -> None:
    include = Path(torch.__file__).parent / "include"
    header = next(include / name for name in HEADERS if (include / name).is_file())
    text = header.read_text(encoding="utf-8")
    enumerators = set(re.findall(r"^ *_\([\w:<>]+, (\w+)\)", text, re.MULTILINE))
    assert set(SCALAR_TYPES.values()) <= enumerators


@pytest.mark.parametrize("name", SCALAR_TYPES)
def test_packages_say_the_same(name: str) -> None:
    assert c_name(getattr(torch, name)) == SCALAR_TYPES[name]

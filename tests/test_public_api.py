"""The names that a user of the kit imports, with their signatures.

OPWRIGHT_ACCEPT=1 writes the golden file anew; a difference is a change that users meet.
"""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path

import pytest

import opwright
import opwright.twin  # before torch, which loads torch_npu

# isort: split
from opwright.declare import DeclaredOperator
from opwright.kit.declare.fields import OperatorFields
from opwright.live import Loaded
from opwright.project.cases import Case, cases, error_cases
from opwright.reference.comparison import differing_attention, differing_rows
from opwright.reference.lightning_indexer import lightning_indexer, quant_lightning_indexer
from opwright.reference.sparse_flash_attention import (
    kv_quant_sparse_flash_attention,
    sparse_flash_attention,
)

pytestmark = pytest.mark.torch

GOLDEN = Path(__file__).parent / "public_api.txt"
MOST_NAMES = 10
# Results of the names, and imports of a project's tests.
OTHERS = (
    Case,
    cases,
    error_cases,
    lightning_indexer,
    quant_lightning_indexer,
    sparse_flash_attention,
    kv_quant_sparse_flash_attention,
    differing_rows,
    differing_attention,
)


def describe(name: str, value: object) -> list[str]:
    """Return a line for a function; for a class, one more for each of its public methods."""
    assert callable(value)
    lines = [f"{name}{inspect.signature(value)}"]
    if inspect.isclass(value):
        for member in sorted(vars(value)):
            found = vars(value)[member]
            if member.startswith("_"):
                continue
            if inspect.isfunction(found):
                lines.append(f"{name}.{member}{inspect.signature(found)}")
            elif isinstance(found, property):
                lines.append(f"{name}.{member}")
    return lines


def test_names_and_signatures_are_as_accepted() -> None:
    public = {f"opwright.{name}": getattr(opwright, name) for name in opwright.__all__}
    public["opwright.twin.kernel"] = opwright.twin.kernel
    public |= {
        "opwright.declare.DeclaredOperator": DeclaredOperator,
        "opwright.live.Loaded": Loaded,
    }
    public |= {f"{each.__module__}.{each.__name__}": each for each in OTHERS}
    lines = [line for name, value in public.items() for line in describe(name, value)]
    lines += [
        f"opwright.OperatorSet.operator, {field}: {kind.__forward_arg__}"
        for field, kind in OperatorFields.__annotations__.items()
    ]
    # Annotations are strings.
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", "\n".join(lines) + "\n")
    if os.environ.get("OPWRIGHT_ACCEPT"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_there_are_few_names() -> None:
    assert len(opwright.__all__) <= MOST_NAMES
    assert sorted(opwright.__all__) == opwright.__all__
    assert set(opwright.__all__) < set(dir(opwright))

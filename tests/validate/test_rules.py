"""Each mistake gives one error, and its whole text is as expected.txt has it.

`OPWRIGHT_ACCEPT=1 pytest tests/validate` writes expected.txt anew; the diff is to be read.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from opwright.declare.place import Place
from opwright.validate import Diagnostic, validate
from opwright.validate import errors as classes

if TYPE_CHECKING:
    from opwright.declare import OperatorSet

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.txt"
SPEC = importlib.util.spec_from_file_location("validate_cases", HERE / "cases.py")
assert SPEC is not None
assert SPEC.loader is not None
cases = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = cases
SPEC.loader.exec_module(cases)


def found_in(ops: OperatorSet) -> tuple[Diagnostic, ...]:
    """Validate as if each operator stood at a line of my_ops.py."""
    declaration = ops.freeze()
    operators = tuple(
        dataclasses.replace(operator, place=Place("my_ops.py", 7 + index))
        for index, operator in enumerate(declaration.operators)
    )
    return validate(
        dataclasses.replace(declaration, place=Place("my_ops.py", 3), operators=operators)
    )


def expected() -> dict[str, str]:
    parts = re.split(r"^== (.*) ==\n", EXPECTED.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.rstrip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def text_of(name: str) -> str:
    return "\n".join(map(str, found_in(cases.CASES[name]())))


@pytest.mark.parametrize("name", cases.CASES)
def test_text(name: str) -> None:
    found = found_in(cases.CASES[name]())
    assert "\n".join(map(str, found)) == expected()[name]
    assert [each.id for each in found] == [name.partition(" ")[0]]


def test_expected_has_every_case_and_no_other() -> None:
    assert list(expected()) == list(cases.CASES)


def test_every_class_has_a_case() -> None:
    ids = {name.split()[0] for name in cases.CASES}
    own = {getattr(classes, name) for name in classes.__all__} - {classes.ValidationError}
    assert {each.id for each in own} - ids == set()


if os.environ.get("OPWRIGHT_ACCEPT"):
    EXPECTED.write_text(
        "\n".join(f"== {name} ==\n{text_of(name)}\n" for name in cases.CASES), encoding="utf-8"
    )

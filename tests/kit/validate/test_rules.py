"""Each mistake gives one error, and its whole text is as expected.txt has it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from opwright.kit.declare.place import Place
from opwright.kit.validate import Diagnostic, validate
from opwright.kit.validate import errors as classes
from tests.kit.declare.texts import expected_texts
from tests.kit.validate.cases import CASES

if TYPE_CHECKING:
    from opwright.kit.declare import OperatorSet


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


def text_of(name: str) -> str:
    return "\n".join(map(str, found_in(CASES[name]())))


EXPECTED = expected_texts(Path(__file__).parent / "expected.txt", CASES, text_of)


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    found = found_in(CASES[name]())
    assert "\n".join(map(str, found)) == EXPECTED[name]
    assert [each.id for each in found] == [name.partition(" ")[0]]


def test_expected_has_every_case_and_no_other() -> None:
    assert list(EXPECTED) == list(CASES)


def test_every_class_has_a_case() -> None:
    ids = {name.partition(" ")[0] for name in CASES}
    own = {getattr(classes, name) for name in classes.__all__} - {classes.ValidationError}
    assert {each.id for each in own} - ids == set()

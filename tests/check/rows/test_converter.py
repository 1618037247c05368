"""Defaults of converters are those of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401 - before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401

from opwright.check.examine import examine_operator
from opwright.check.rows import row
from opwright.check.subject import Subject
from opwright.check.target import bare_subject
from opwright.internals.modules import GE_CONVERTER

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.twin

NAMESPACE = "defaults_of_converters"
LIBRARY = torch.library.Library(NAMESPACE, "DEF")  # type: ignore[no-untyped-call]


def same(x: object, factor: float = 2.0, axes: tuple[int, ...] = (0, 1)) -> object:
    return x, factor, axes


def decides_itself(x: object, factor: float | None = None, axes: object = None) -> object:
    return x, factor, axes


def of_a_number(x: object, factor: float = 1.0, axes: tuple[int, ...] = (0, 1)) -> object:
    return x, factor, axes


def of_a_list(x: object, factor: float = 2.0, axes: tuple[int, ...] = (0, -1)) -> object:
    return x, factor, axes


def of_one_number(x: object, factor: float = 2.0, axes: int = 0) -> object:
    return x, factor, axes


@pytest.mark.parametrize(
    ("converter", "got"),
    [
        (same, []),
        (decides_itself, []),
        (of_a_number, ["factor=1.0"]),
        (of_a_list, ["axes=(0, -1)"]),
        (of_one_number, ["axes=0"]),
    ],
)
def test_a_default_that_is_not_the_schemas_is_reported(
    converter: Callable[..., object], got: list[str]
) -> None:
    name = converter.__name__
    LIBRARY.define(f"{name}(Tensor x, float factor=2.0, int[] axes=[0, 1]) -> Tensor")  # type: ignore[no-untyped-call]
    overload = getattr(torch.ops.defaults_of_converters, name).default
    setattr(overload, GE_CONVERTER, converter)
    subject = bare_subject(NAMESPACE, name)
    assert isinstance(subject, Subject)
    (outcome,) = examine_operator(subject, [row("converter")])
    findings = [each for each in outcome.findings if each.kind.name == "wrong-default"]
    assert [each.got for each in findings] == got

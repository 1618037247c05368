"""Derivatives by differences: what they find, and where they say nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.check.observe.slope import slope

if TYPE_CHECKING:
    from collections.abc import Callable


@given(st.floats(-3, 3), st.floats(0.1, 4))
def test_smooth_functions_have_their_derivatives(at: float, width: float) -> None:
    found = slope(lambda step: math.sin(width * (at + step)))
    assert found is not None
    want = width * math.cos(width * at)
    assert abs(found.value - want) <= 1e-5 * width + 10 * found.error


@given(st.floats(-1, 1))
def test_single_precision_inside_is_allowed_for(at: float) -> None:
    found = slope(lambda step: float(np.exp(np.float32(at + step))))
    assert found is not None
    assert abs(found.value - math.exp(at)) <= 1e-3 * math.exp(at) + 10 * found.error


@pytest.mark.parametrize(
    "function",
    [
        lambda x: round(x * 4) / 4,
        lambda x: float(x > 0.2),
        lambda x: math.nan if x < 0 else x,
        lambda x: math.copysign(1, x),
    ],
)
def test_nothing_is_said_of_steps(function: Callable[[float], float]) -> None:
    assert slope(function) is None


def test_a_constant_has_the_derivative_zero() -> None:
    found = slope(lambda _: 2.0)
    assert found is not None
    assert (found.value, found.error) == (0.0, 0.0)

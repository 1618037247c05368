"""Results that count as the same."""

from __future__ import annotations

import math

import pytest

import opwright.twin  # noqa: F401 - before torch

# isort: split
import torch

from tests.conformance.comparison import DisagreementError, expect_close

pytestmark = pytest.mark.twin

CPU, META = torch.device("cpu"), torch.device("meta")
X = torch.ones(2)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1.0, 1.0 + 1e-7),
        (1 + 2j, 1 + 2.0000001j),
        (complex(math.nan, 1), complex(2, math.nan)),
        (math.inf, math.inf),
        (torch.float32, torch.float32),
        (None, None),
        ({"a": X}, {"a": X}),
    ],
)
def test_the_same(one: object, two: object) -> None:
    expect_close(one, two, device=CPU)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1.0, 1.001),
        (1 + 2j, 1 + 3j),
        (1.0, 1),
        (torch.strided, torch.sparse_coo),
        (slice(1), slice(2)),
        ([X, X], (X, X)),
        ({"a": X}, {"b": X}),
        ([X, [X]], [[X], X]),
        ([], [X]),
        (None, X),
        (X, X.double()),
    ],
)
def test_not_the_same(one: object, two: object) -> None:
    with pytest.raises(DisagreementError):
        expect_close(one, two, device=CPU)


def test_a_result_has_to_be_on_the_device() -> None:
    expect_close(X.to(META), X, device=META, values=False)
    with pytest.raises(DisagreementError, match=r"\[2\] on cpu, but must be .*\[2\] on meta"):
        expect_close(X, X, device=META)
    # A tensor that is on no device on the CPU's side stays there.
    expect_close(X.to(META), X.to(META), device=CPU, values=False)

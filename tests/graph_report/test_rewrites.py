"""In-place passes of torch_npu that make an operator read its own result: the twin names them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # noqa: F401  # before torch_npu

import torch  # isort: skip
import torch_npu  # noqa: F401  # isort: skip

if TYPE_CHECKING:
    from collections.abc import Callable

    # It may write its argument instead of returning a tensor.
    Function = Callable[[torch.Tensor], torch.Tensor | None]

pytestmark = [pytest.mark.twin, pytest.mark.compile, pytest.mark.isolated]

OFF = {"inplace_pass": False, "input_inplace_pass": False}


# Each function gets a float32[4, 4]; a value of its own is what a pass may compute in.


def difference(x: torch.Tensor) -> torch.Tensor:
    return torch.diff(x + 1)


def from_the_first(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    return y - y[:, :1]


def with_transposed(x: torch.Tensor) -> None:
    x.copy_(x + x.t())


def halves(x: torch.Tensor) -> torch.Tensor:  # no element is both read and written
    y = x * 2
    return y[:, :2] - y[:, 2:]


def in_place(x: torch.Tensor) -> torch.Tensor:  # the program's own
    y = x * 2
    return y.sub_(y[:, :1].clone())


def compare(function: Function, options: dict[str, Any]) -> tuple[bool, list[str]]:
    """Return whether a compiled function is right, and the warnings about rewrites."""
    x = torch.arange(16.0).reshape(4, 4) ** 2
    y = x.clone().to("npu")
    wanted = function(x)
    torch._dynamo.reset()  # noqa: SLF001 - torch.compiler.reset is not in all versions
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled = torch.compile(function, backend="npugraph_ex", dynamic=False, options=options)
        result = compiled(y)
    if wanted is None:
        wanted, result = x, y
    assert result is not None
    found = [each for each in caught if each.category.__name__ == "InPlaceRewriteWarning"]
    return torch.equal(wanted, result.cpu()), [str(each.message) for each in found]


@pytest.mark.parametrize(
    ("function", "operator", "node", "source", "option"),
    [
        (difference, "aclnnInplaceSub", "sub", "torch.diff(x + 1)", "inplace_pass"),
        (from_the_first, "aclnnInplaceSub", "sub", "y - y[:, :1]", "inplace_pass"),
        (with_transposed, "aclnnInplaceAdd", "add", "x + x.t()", "input_inplace_pass"),
    ],
)
def test_a_rewrite_that_depends_on_the_order_is_named(
    function: Function, operator: str, node: str, source: str, option: str
) -> None:
    _, (text,) = compare(function, {})
    assert text.startswith(f"{operator} (launch ")
    assert f"node {node} = aten.{node}_.Tensor(" in text
    assert source in text
    assert f'options={{"{option}": False}}' in text
    assert compare(function, OFF) == (True, [])


@pytest.mark.parametrize("function", [halves, in_place])
def test_other_operators_in_place_are_right_and_not_named(function: Function) -> None:
    assert compare(function, {}) == (True, [])

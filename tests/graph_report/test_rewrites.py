"""In-place passes of torch_npu that make an operator read its own result: the twin names them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.twin import on_twin

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.compile]

# Each function gets a float32[4, 4]; a value of its own is what a pass may compute in.
SCRIPT = """
import json
import warnings

import opwright.twin
import torch
import torch_npu


def difference(x):
    return torch.diff(x + 1)


def from_the_first(x):
    y = x * 2
    return y - y[:, :1]


def with_transposed(x):
    x.copy_(x + x.t())


def halves(x):  # no element is both read and written
    y = x * 2
    return y[:, :2] - y[:, 2:]


def in_place(x):  # the program's own
    y = x * 2
    return y.sub_(y[:, :1].clone())


OFF = {"inplace_pass": False, "input_inplace_pass": False}
WRONG = (difference, from_the_first, with_transposed)
for function, options in (
    *((function, {}) for function in (*WRONG, halves, in_place)),
    *((function, OFF) for function in WRONG),
):
    x = torch.arange(16.0).reshape(4, 4) ** 2
    y = x.clone().npu()
    wanted = function(x)
    torch._dynamo.reset()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = torch.compile(function, backend="npugraph_ex", dynamic=False, options=options)(y)
    found = [each for each in caught if each.category.__name__ == "InPlaceRewriteWarning"]
    if wanted is None:
        wanted, result = x, y
    line = {
        "function": function.__name__,
        "passes": not options,
        "right": torch.equal(wanted, result.cpu()),
        "warnings": [str(each.message) for each in found],
    }
    print(json.dumps(line))
"""

Line = dict[str, Any]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    """Return what was found for each function, with the passes and without."""
    file: Path = tmp_path_factory.mktemp("rewrites") / "model.py"
    file.write_text(SCRIPT, encoding="utf-8")  # a file, so that nodes have lines of the source
    printed = on_twin.printed(on_twin.python(file))
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


@pytest.mark.parametrize(
    ("function", "operator", "node", "source", "option"),
    [
        ("difference", "aclnnInplaceSub", "sub", "torch.diff(x + 1)", "inplace_pass"),
        ("from_the_first", "aclnnInplaceSub", "sub", "y - y[:, :1]", "inplace_pass"),
        ("with_transposed", "aclnnInplaceAdd", "add", "x + x.t()", "input_inplace_pass"),
    ],
)
def test_a_rewrite_that_depends_on_the_order_is_named(
    lines: list[Line], function: str, operator: str, node: str, source: str, option: str
) -> None:
    with_passes, without = (line for line in lines if line["function"] == function)
    (text,) = with_passes["warnings"]
    assert text.startswith(f"{operator} (launch ")
    assert f"node {node} = aten.{node}_.Tensor(" in text
    assert source in text
    assert f'options={{"{option}": False}}' in text
    assert without == {"function": function, "passes": False, "right": True, "warnings": []}


@pytest.mark.parametrize("function", ["halves", "in_place"])
def test_other_operators_in_place_are_right_and_not_named(lines: list[Line], function: str) -> None:
    (line,) = (line for line in lines if line["function"] == function)
    assert line == {"function": function, "passes": True, "right": True, "warnings": []}

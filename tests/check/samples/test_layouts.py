"""Layouts have the strides that they say, and equal values on all devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import opwright.twin

# isort: split
import torch
import torch_npu  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st

import opwright as ow
from opwright.check.samples import arguments, describe
from opwright.check.samples.layouts import layouts_for
from opwright.kit.declare.errors import FieldError
from opwright.kit.declare.sample import LAYOUTS
from opwright.kit.emit.python.suite import value_group
from opwright.kit.shipped import support

if TYPE_CHECKING:
    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.sample import TensorLayout
    from opwright.kit.declare.schema import Argument

pytestmark = pytest.mark.twin
ops = ow.OperatorSet("laid_out_samples")


@ops.operator("taken(Tensor x, *, Device? device=None) -> ()", aclnn=False)
def taken(x: torch.Tensor, *, device: torch.device | None = None) -> None:
    """Take a tensor."""


@ops.operator("made(int n, *, Device? device=None) -> ()", aclnn=False)
def made(n: int, *, device: torch.device | None = None) -> None:
    """Take no tensor."""


def operator(name: str) -> Operator:
    """Return an operator."""
    found = ops.freeze().operator(name)
    assert found is not None
    return found


def argument(name: str, of: str) -> Argument:
    """Return an argument of an operator."""
    found = operator(name).schema.argument(of)
    assert found is not None
    return found


def tensor_of(
    *shape: int, layout: TensorLayout, device: str = "cpu", dtype: str = "float32"
) -> torch.Tensor:
    """Make a tensor as a sample does."""
    given = ow.sample(x=ow.tensor(*shape, layout=layout, dtype=dtype)).with_seed(3)
    found = arguments(operator("taken"), given, device)["x"]
    assert isinstance(found, torch.Tensor)
    return found


# (strides, offset) of a tensor of 2, 3, 4, 5.
STRIDES: dict[TensorLayout, tuple[tuple[int, ...], int]] = {
    "contiguous": ((60, 20, 5, 1), 0),
    "transposed": ((60, 20, 1, 4), 0),
    "reversed": ((1, 2, 6, 24), 0),
    "channels_last": ((60, 1, 15, 3), 0),
    "offset": ((60, 20, 5, 1), 1),
    "sliced": ((96, 32, 8, 1), 1),
    "strided": ((120, 40, 10, 2), 0),
    "expanded": ((0, 20, 5, 1), 0),
}


@pytest.mark.parametrize("device", ["cpu", "npu", "meta"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides_and_offsets(layout: TensorLayout, device: str) -> None:
    found = tensor_of(2, 3, 4, 5, layout=layout, device=device)
    assert found.device.type == device
    assert (found.stride(), found.storage_offset()) == STRIDES[layout]


@settings(deadline=None, max_examples=60)
@given(
    shape=st.lists(st.integers(0, 4), max_size=4),
    layout=st.sampled_from(LAYOUTS),
    dtype=st.sampled_from(["float32", "float16", "int64", "bool", "complex64"]),
)
def test_equal_values_on_all_devices(shape: list[int], layout: TensorLayout, dtype: str) -> None:
    on_cpu, on_npu = (
        tensor_of(*shape, layout=layout, dtype=dtype, device=device) for device in ("cpu", "npu")
    )
    assert torch.equal(on_cpu, on_npu.cpu())
    assert on_cpu.stride() == on_npu.stride()
    if layout != "expanded":
        dense = tensor_of(*shape, layout="contiguous", dtype=dtype)
        assert torch.equal(on_cpu, dense)


@given(shape=st.lists(st.integers(0, 4), max_size=4).map(tuple))
@settings(deadline=None, max_examples=60)
def test_a_layout_that_a_tensor_can_have_differs_from_contiguous(shape: tuple[int, ...]) -> None:
    dense = tensor_of(*shape, layout="contiguous")
    others = layouts_for(shape, is_written=False)[1:]
    assert others or 0 in shape or set(shape) <= {1}
    for layout in others:
        found = tensor_of(*shape, layout=layout)
        assert (found.stride(), found.storage_offset()) != (dense.stride(), 0)


def test_a_seed_changes_the_values() -> None:
    one, other = (
        arguments(operator("taken"), ow.sample(x=ow.tensor(8)).with_seed(seed), "cpu")["x"]
        for seed in (0, 1)
    )
    assert not torch.equal(one, other)


def test_without_tensors_a_device_argument_is_the_device() -> None:
    assert arguments(operator("made"), ow.sample(n=1), "npu")["device"] == torch.device("npu")
    assert arguments(operator("taken"), ow.sample(x=ow.tensor(1)), "npu")["device"] is None


def test_text_of_a_sample_is_python() -> None:
    given = ow.sample(x=ow.tensor(2, 3, layout="strided"), n=[1, None]).with_seed(5)
    names = {"sample": ow.sample, "tensor": ow.tensor}
    assert eval(describe(given), names) == given  # noqa: S307 - the text of this test


def test_the_tests_of_a_package_have_the_layout() -> None:
    text = str(value_group(ow.tensor(2, 3, layout="sliced"), argument("taken", "x"), "float32"))
    assert "layout='sliced'" in text or 'layout="sliced"' in text
    case = support.Case("taken", {"x": support.tensor(2, 3, dtype=torch.float32, layout="sliced")})
    on_cpu, on_npu = (support.make(case, device)["x"] for device in ("cpu", "npu"))
    assert on_cpu.stride() == on_npu.stride() == (6, 1)
    assert torch.equal(on_cpu, on_npu.cpu())


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(FieldError, match="allowed: contiguous, transposed"):
        ow.tensor(2, layout="diagonal")  # type: ignore[arg-type]

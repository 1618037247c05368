"""Legacy operators by their descriptions, without a device: names, attributes, formats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import grad as grad_of_convolution

from opwright.graph_engine import kernels
from opwright.graph_engine.errors import KernelArgumentError, KernelRunError, MissingKernelError
from opwright.graph_engine.legacy import kernels as legacy_kernels
from opwright.graph_engine.legacy.names import output_names
from opwright.graph_engine.legacy.operator import read_operator
from opwright.graph_engine.table import load_kernels
from opwright.graph_engine.tensors.layouts import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Sequence

FLOAT, INT32, INT64 = 0, 3, 9
ND = 2
CODES = {torch.float32: FLOAT, torch.int32: INT32, torch.int64: INT64}


@pytest.fixture(autouse=True, scope="module")
def _kernels() -> None:
    load_kernels(kernels, legacy_kernels)


def describe(tensor: torch.Tensor, name: str = "", **more: object) -> dict[str, Any]:
    """Return the description of an operand."""
    form = {"name": name, "dtype": CODES[tensor.dtype], "shape": list(tensor.shape), "format": ND}
    return form | more


def run(
    op_type: str,
    inputs: Sequence[tuple[dict[str, Any], torch.Tensor] | None],
    outputs: Sequence[torch.Tensor],
    *,
    reshape: bool = False,
    **attributes: object,
) -> list[tuple[int, ...]]:
    """Run an operator over the tensors' memory."""
    text = {
        "type": op_type,
        "inputs": [None if each is None else each[0] for each in inputs],
        "outputs": [describe(each) for each in outputs],
        "attributes": attributes,
    }
    given = [None if each is None else each[1].data_ptr() for each in inputs]
    places = [*given, *(out.data_ptr() for out in outputs)]
    return read_operator(json.dumps(text)).run(places, reshape=reshape)


def plain(*tensors: torch.Tensor) -> list[tuple[dict[str, Any], torch.Tensor]]:
    """Return operands without names."""
    return [(describe(each), each) for each in tensors]


def test_operands_go_by_position() -> None:
    first, second, out = torch.arange(4.0), torch.ones(4), torch.empty(4)
    run("Sub", plain(first, second), [out])
    assert out.tolist() == [-1, 0, 1, 2]


def test_a_dynamic_input_goes_by_numbered_names() -> None:
    parts = [torch.full((1, 2), float(i)) for i in range(3)]
    out = torch.empty(3, 2)
    inputs = [(describe(part, f"x{i}"), part) for i, part in enumerate(parts)]
    run("ConcatD", inputs, [out], concat_dim=0, N=3)
    assert out[:, 0].tolist() == [0, 1, 2]


def test_a_name_places_those_behind_it() -> None:
    x, weight = torch.rand(1, 2, 5, 5), torch.rand(3, 2, 3, 3)
    grad, out = torch.rand(1, 3, 3, 3), torch.empty(3, 2, 3, 3)
    size = torch.tensor(weight.shape, dtype=torch.int32)
    inputs = [(describe(x, "x"), x), *plain(size), (describe(grad, "out_backprop"), grad)]
    ones, none = [1] * 4, [0] * 4
    form: dict[str, Any] = {"strides": ones, "pads": none, "dilations": ones, "data_format": "NCHW"}
    run("Conv2DBackpropFilter", inputs, [out], groups=1, **form)
    wanted = grad_of_convolution.conv2d_weight(x, weight.shape, grad)  # type: ignore[no-untyped-call]
    assert torch.allclose(out, wanted, atol=1e-5)


def test_values_on_the_host_are_read_when_it_runs() -> None:
    x, axis, out = torch.arange(6.0).reshape(2, 3), torch.tensor([1]), torch.empty(2)
    text = {
        "type": "ReduceSum",
        "inputs": [describe(x), describe(axis)],
        "outputs": [describe(out)],
        "attributes": {"keep_dims": False},
    }
    operator = read_operator(json.dumps(text))
    operator.run([each.data_ptr() for each in (x, axis, out)], reshape=False)
    assert out.tolist() == [3, 12]
    axis[0] = 0
    with pytest.raises(KernelRunError, match=r"float32\[3\], which the operator computes"):
        operator.run([each.data_ptr() for each in (x, axis, out)], reshape=False)


def test_an_output_may_be_an_input() -> None:
    x = torch.arange(4.0)
    run("Mul", plain(x, x), [x])
    assert x.tolist() == [0, 1, 4, 9]


def test_outputs_may_turn_out_smaller() -> None:
    out = torch.full((4, 1), -1)
    assert run("NonZero", plain(torch.tensor([0.0, 5, 0, 6])), [out], reshape=True) == [(2, 1)]
    assert out.flatten().tolist() == [1, 3, -1, -1]


def test_a_part_of_an_operand_is_not_all_of_it() -> None:
    x = torch.arange(4.0)
    where = plain(x, torch.tensor([2]), torch.tensor([1]), torch.tensor([0]))
    assert run("AsStrided", where, [x], reshape=True) == [(2,)]
    with pytest.raises(KernelRunError, match=r"float32\[2\], which the operator computes"):
        run("AsStrided", where, [x])


IMAGE = torch.zeros(1, 1, 2, 2)
RESIZE = {"sizes": [2, 2], "mode": "cubic"}


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "words"),
    [
        ("ResizeD", [IMAGE], RESIZE | {"cubic_coeff_a": -0.5}, "cubic_coeff_a -0.5 is not"),
        ("ResizeD", [IMAGE], RESIZE | {"exclude_outside": 1}, "exclude_outside 1 is not"),
        ("ResizeD", [IMAGE], RESIZE | {"roi": [1]}, r"roi \[1\] is not available"),
        ("ResizeD", [IMAGE], {"sizes": [2, 2]}, "nearest_mode 'round_prefer_floor' is not"),
        ("DynamicGRUV2Grad", [IMAGE] * 14, {}, r"a mask of shape \[1, 1, 2, 2\] is not"),
        ("NLLLoss", [IMAGE] * 3, {"reduction": "batchmean"}, "available: 'none', 'mean', 'sum'"),
        ("LpLoss", [IMAGE] * 2, {"p": 2}, "p 2 is not available; available: 1"),
    ],
)
def test_a_choice_that_a_kernel_does_not_make_is_refused(
    op_type: str, inputs: list[torch.Tensor], attributes: dict[str, Any], words: str
) -> None:
    outputs = [torch.zeros(2, 2)] * len(output_names(op_type, 1))
    with pytest.raises(KernelRunError, match=words):
        run(op_type, plain(*inputs), outputs, **attributes)


def test_refusals_name_type_and_attribute() -> None:
    x = torch.ones(2)
    with pytest.raises(MissingKernelError, match="NoSuchOperator"):
        run("NoSuchOperator", plain(x), [x])
    with pytest.raises(KernelArgumentError, match=r"(?s)\(Mul\).*an attribute 'wrong'"):
        run("Mul", plain(x, x), [x], wrong=1)
    with pytest.raises(KernelArgumentError, match="3 inputs"):
        run("Mul", plain(x, x, x), [x])
    with pytest.raises(KernelArgumentError, match="no input 'x2'"):
        run("Mul", plain(x), [x])
    strange = [(describe(x, storage_format=27), x)]
    with pytest.raises(KernelArgumentError, match="the format NDHWC"):
        run("Identity", strange, [x])


def test_notes_of_the_scheduler_change_nothing() -> None:
    x, out = torch.ones(2), torch.empty(2)
    run("Mul", plain(x, x), [out], _performance_prior=True)
    assert out.tolist() == [1, 1]


def test_the_format_of_matrices() -> None:
    """Blocks stand column by column, their elements row by row."""
    x = torch.arange(40.0).reshape(2, 20)
    stored = LAYOUTS[29]((2, 20), 16).pack(x)
    assert stored.shape == (2, 1, 16, 16)
    assert stored[0, 0, 1].tolist() == list(map(float, range(20, 36)))
    assert stored[1, 0, 1, :5].tolist() == [36, 37, 38, 39, 0]


def test_the_format_of_images() -> None:
    x = torch.arange(2 * 17 * 3.0).reshape(2, 17, 1, 3)
    stored = LAYOUTS[3]((2, 17, 1, 3), 16).pack(x)
    assert stored.shape == (2, 2, 1, 3, 16)
    assert stored[1, 1, 0, 2, 0] == x[1, 16, 0, 2]


@given(
    number=st.sampled_from([3, 4, 29, 32, 33]),
    sizes=st.lists(st.integers(1, 35), min_size=0, max_size=5),
    c0=st.sampled_from([8, 16, 32]),
)
def test_formats_lose_nothing(number: int, sizes: list[int], c0: int) -> None:
    wanted = 5 if number in (32, 33) else min(len(sizes), 4)
    shape = tuple([*(size % 7 + 1 for size in sizes[:3]), *sizes[3:], *[2] * 5][:wanted])
    layout = LAYOUTS[number](shape, c0)
    x = torch.arange(1.0, torch.Size(shape).numel() + 1).reshape(shape)
    stored = layout.pack(x)
    assert stored.shape == layout.stored
    assert torch.equal(layout.unpack(stored), x)
    assert stored.double().sum() == x.double().sum()

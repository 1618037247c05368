"""Tests of the installed wheel ``custom_ops``; they need an NPU or its twin."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import custom_ops
import custom_ops_lib
from custom_ops import add_custom

SOURCE = Path(__file__).resolve().parents[1]
SHAPES = [(), (1,), (7,), (8, 2048), (2, 3, 5), (2, 1, 3, 4, 5), (0,), (3, 0, 2)]
# One rounding to float16 is at most 2**-11 of the value; both sides round the same sum once.
TOLERANCE = {torch.float32: 0.0, torch.float16: 2.0**-11}


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(2024)


def operands(
    shape: tuple[int, ...], dtype: torch.dtype = torch.float32, *, requires_grad: bool = False
) -> list[torch.Tensor]:
    return [torch.randn(shape).to(dtype).npu().requires_grad_(requires_grad) for _ in range(2)]


def assert_same(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(
        actual.cpu(), expected.cpu(), rtol=TOLERANCE[expected.dtype], atol=0.0
    )


def test_the_installed_wheel_is_tested_and_not_the_sources() -> None:
    for module in (custom_ops, custom_ops_lib):
        assert "site-packages" in Path(module.__file__).parts
        assert (SOURCE / "custom_ops") not in Path(module.__file__).parents


# forward


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_forward_agrees_with_cpu(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, y = operands(shape, dtype)
    out = add_custom(x, y)
    assert out.device.type == "npu"
    assert_same(out, x.cpu() + y.cpu())


def strided_views() -> dict[str, torch.Tensor]:
    base = torch.randn(6, 4).npu()
    return {
        "transposed": base.t(),
        "stepped": base[::2, 1:],
        "expanded": base[:, :1].expand(6, 4),
        "offset": base[3],
    }


@pytest.mark.parametrize("view", ["transposed", "stepped", "expanded", "offset"])
def test_forward_of_non_contiguous_operands(view: str) -> None:
    x = strided_views()[view]
    y = torch.randn(x.shape).npu()
    for left, right in ((x, y), (y, x), (x, x)):
        out = add_custom(left, right)
        assert out.is_contiguous()
        assert_same(out, left.cpu() + right.cpu())


def test_result_is_new_memory_and_operands_are_unchanged() -> None:
    x, y = operands((16,))
    before = x.cpu(), y.cpu()
    out = add_custom(x, y)
    out.zero_()
    assert_same(x, before[0])
    assert_same(y, before[1])


def test_operands_on_another_than_the_current_device() -> None:
    if torch.npu.device_count() < 2:
        pytest.skip("needs two devices")
    x, y = (torch.randn(32).to("npu:1") for _ in range(2))
    with torch.npu.device(0):
        out = add_custom(x, y)
    assert out.device == torch.device("npu:1")
    assert_same(out, x.cpu() + y.cpu())


@pytest.mark.parametrize(
    "call",
    [custom_ops_lib.add_custom, torch.ops.myops.my_op, torch.ops.myops.my_op.default],
    ids=["pybind", "packet", "overload"],
)
def test_every_entry_gives_the_same(call: object) -> None:
    x, y = operands((5, 3))
    assert_same(call(x, y), add_custom(x, y))
    assert_same(call(self=x, other=y), add_custom(x, y))


# backward


def cpu_gradients(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    leaves = [tensor.detach().cpu().requires_grad_() for tensor in (x, y)]
    return torch.autograd.grad((leaves[0] + leaves[1]).square(), leaves, weight.cpu())


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_backward_agrees_with_cpu(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, y = operands(shape, dtype, requires_grad=True)
    weight = torch.randn(shape).to(dtype).npu()
    out = add_custom(x, y)
    assert out.grad_fn is not None
    out.square().backward(weight)
    for leaf, expected in zip((x, y), cpu_gradients(x, y, weight), strict=True):
        assert_same(leaf.grad, expected)


def test_backward_of_a_sum_whose_gradient_is_expanded() -> None:
    x, y = operands((4, 3), requires_grad=True)
    add_custom(x, y).sum().backward()
    assert_same(x.grad, torch.ones(4, 3))
    assert_same(y.grad, torch.ones(4, 3))


def test_backward_returns_two_tensors_of_their_own() -> None:
    grad = torch.randn(6).npu()
    results = torch.ops.myops.my_op_backward(grad)
    addresses = {tensor.untyped_storage().data_ptr() for tensor in (grad, *results)}
    assert len(addresses) == 3
    results[0].zero_()
    assert_same(results[1], grad)


@pytest.mark.parametrize("wanted", [(True, False), (False, True), (False, False)], ids=str)
def test_only_the_operands_that_ask_get_a_gradient(wanted: tuple[bool, bool]) -> None:
    x, y = (tensor.requires_grad_(ask) for tensor, ask in zip(operands((3,)), wanted, strict=True))
    out = add_custom(x, y)
    assert out.requires_grad == any(wanted)
    if any(wanted):
        out.sum().backward()
    assert (x.grad is not None, y.grad is not None) == wanted


def test_gradient_of_the_gradient() -> None:
    x, y = operands((5,), requires_grad=True)
    (first,) = torch.autograd.grad(add_custom(x, y).pow(3).sum(), x, create_graph=True)
    second = torch.autograd.grad(first.sum(), (x, y))
    expected = 6 * (x.detach().cpu() + y.detach().cpu())
    for gradient in second:
        torch.testing.assert_close(gradient.cpu(), expected)


def test_gradient_agrees_with_finite_differences() -> None:
    # In float32 a central difference of this quadratic function has no error but rounding.
    x, y = operands((4,), requires_grad=True)
    step = 2.0**-3

    def loss(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return add_custom(left, right).square().sum()

    loss(x, y).backward()
    for leaf, index in itertools.product((x, y), range(4)):
        shift = torch.zeros(4)
        shift[index] = step
        shift = shift.npu()
        above, below = (
            loss(*(t.detach() + sign * shift if t is leaf else t.detach() for t in (x, y)))
            for sign in (1, -1)
        )
        slope = (above - below).item() / (2 * step)
        assert slope == pytest.approx(leaf.grad[index].item(), rel=1e-4, abs=1e-4)


def test_a_training_step_moves_the_parameters_as_on_cpu() -> None:
    start, target = torch.randn(8), torch.randn(8)
    parameters = [
        torch.nn.Parameter(start.clone().to(device)) for device in ("cpu", torch.device("npu"))
    ]
    for parameter, add in zip(parameters, (torch.add, add_custom), strict=True):
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            difference = add(parameter, -target.to(parameter.device))
            difference.square().mean().backward()
            optimizer.step()
    torch.testing.assert_close(parameters[1].detach().cpu(), parameters[0].detach())


# Meta: shapes, dtypes and strides without data


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_meta_agrees_with_the_device(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, y = operands(shape, dtype)
    forward = torch.ops.myops.my_op
    backward = torch.ops.myops.my_op_backward
    device_results = (forward(x, y), *backward(x))
    meta_results = (forward(x.to("meta"), y.to("meta")), *backward(x.to("meta")))
    for on_device, on_meta in zip(device_results, meta_results, strict=True):
        assert on_meta.device.type == "meta"
        assert (on_meta.shape, on_meta.dtype) == (on_device.shape, on_device.dtype)
        assert on_meta.stride() == on_device.stride()


def test_meta_tensors_go_backward() -> None:
    x, y = (torch.empty(4, 3, device="meta", requires_grad=True) for _ in range(2))
    add_custom(x, y).sum().backward()
    assert x.grad.shape == y.grad.shape == (4, 3)


def test_fake_tensors_stay_on_the_device() -> None:
    with FakeTensorMode():
        out = add_custom(torch.empty(4, 3, device="npu"), torch.empty(4, 3, device="npu"))
    assert (out.device.type, out.shape) == ("npu", (4, 3))


def test_sizes_stay_symbolic() -> None:
    x, y = operands((4, 3))
    graph = make_fx(add_custom, tracing_mode="symbolic")(x, y)
    (node,) = graph.graph.find_nodes(op="call_function", target=torch.ops.myops.my_op.default)
    assert [type(size) for size in node.meta["val"].shape] == [torch.SymInt, torch.SymInt]
    other = operands((6, 2))
    assert_same(graph(*other), other[0].cpu() + other[1].cpu())


# contract with PyTorch

# All of opcheck but its check of the autograd registration, which torch 2.13 has for CPU, CUDA and
# XPU only ("NYI devices other than ..."); the tests of the gradients above take its place.
OPCHECKS = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")


@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck_of_the_forward(*, requires_grad: bool) -> None:
    x, y = operands((4, 3), requires_grad=requires_grad)
    torch.library.opcheck(torch.ops.myops.my_op.default, (x, y), test_utils=OPCHECKS)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck_of_the_backward(*, requires_grad: bool) -> None:
    grad = torch.randn(4, 3).npu().requires_grad_(requires_grad)
    torch.library.opcheck(torch.ops.myops.my_op_backward.default, (grad,), test_utils=OPCHECKS)


def test_schemas() -> None:
    assert str(torch.ops.myops.my_op.default._schema) == (  # noqa: SLF001  it has no public name
        "myops::my_op(Tensor self, Tensor other) -> Tensor"
    )
    assert str(torch.ops.myops.my_op_backward.default._schema) == (  # noqa: SLF001
        "myops::my_op_backward(Tensor grad_output) -> (Tensor, Tensor)"
    )


# bad input


@pytest.mark.parametrize("device", ["npu", "meta"])
@pytest.mark.parametrize(
    "shapes",
    [((3,), (4,)), ((2, 3), (3,)), ((3,), (1,))],
    ids=["length", "rank", "broadcast"],
)
def test_different_shapes_are_refused(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], device: str
) -> None:
    x, y = (torch.ones(shape).to(device) for shape in shapes)
    with pytest.raises(RuntimeError, match=r"must have the same shape, got .* does not broadcast"):
        add_custom(x, y)


@pytest.mark.parametrize("device", ["npu", "meta"])
def test_different_dtypes_are_refused(device: str) -> None:
    x = torch.ones(3).to(device)
    with pytest.raises(RuntimeError, match="must have the same dtype, got Float and Half"):
        add_custom(x, x.half())


def test_an_operand_on_the_cpu_is_refused() -> None:
    x = torch.ones(3)
    for operands_ in ((x.npu(), x), (x, x.npu())):
        with pytest.raises(RuntimeError, match="must be on the same device"):
            add_custom(*operands_)


def test_two_operands_on_the_cpu_are_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"myops::my_op.*CPU"):
        add_custom(torch.ones(3), torch.ones(3))


def test_the_next_call_works_after_an_error() -> None:
    x, y = operands((3,))
    with pytest.raises(RuntimeError):
        add_custom(x, torch.ones(4).npu())
    assert_same(add_custom(x, y), x.cpu() + y.cpu())

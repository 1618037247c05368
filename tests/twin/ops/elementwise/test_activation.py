"""Activation functions, softmax and the fused LSTM cell: activation.cpp, softmax.cpp, rnn.cpp."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import (
    agree,
    check,
    check_in_place,
    check_out,
    layouts,
    rejects,
    run_on_npu,
)
from tests.twin.ops.gradients import check_gradients, leaf
from tests.twin.ops.samples import some

if TYPE_CHECKING:
    from collections.abc import Callable

DTYPES = (torch.float32, torch.bfloat16, torch.float16)

ACTIVATIONS: dict[str, Callable[..., torch.Tensor]] = {
    "relu": functional.relu,
    "relu6": functional.relu6,
    "leaky_relu": partial(functional.leaky_relu, negative_slope=0.2),
    "elu": partial(functional.elu, alpha=0.7),
    "celu": partial(functional.celu, alpha=1.3),
    "selu": functional.selu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "mish": functional.mish,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "hardshrink": partial(functional.hardshrink, lambd=0.4),
    "hardsigmoid": functional.hardsigmoid,
    "hardswish": functional.hardswish,
    "hardtanh": partial(functional.hardtanh, min_val=-0.8, max_val=1.5),
    "softplus": partial(functional.softplus, beta=1.5, threshold=3),
    "softshrink": partial(functional.softshrink, lambd=0.4),
    "threshold": partial(functional.threshold, threshold=0.2, value=-2.0),
    "logsigmoid": functional.logsigmoid,
}
IN_PLACE = ("relu", "leaky_relu", "elu", "celu", "selu", "silu", "mish", "hardsigmoid", "hardswish",
            "hardtanh", "threshold")  # fmt: skip
# Not gelu: torch_npu 2.13 loses the result if out is not contiguous.
WITH_OUT: dict[str, Callable[..., torch.Tensor]] = {
    "elu": torch.ops.aten.elu,
    "hardtanh": torch.ops.aten.hardtanh,
    "leaky_relu": torch.ops.aten.leaky_relu,
    "log_sigmoid": torch.ops.aten.log_sigmoid,
    "silu": torch.ops.aten.silu,
    "softplus": torch.ops.aten.softplus,
    "softshrink": torch.ops.aten.softshrink,
    "softmax": partial(torch.softmax, dim=-1),
    "log_softmax": partial(torch.log_softmax, dim=-1),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_forward(name: str, dtype: torch.dtype) -> None:
    for tensor in layouts(lambda shape: some(shape, dtype)):
        check(ACTIVATIONS[name], tensor)


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    def run(tensor: torch.Tensor) -> object:
        return ACTIVATIONS[name](tensor, inplace=True)

    for tensor in layouts(lambda shape: some(shape, torch.float32)):
        check_in_place(run, tensor)


@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name: str) -> None:
    check_out(WITH_OUT[name], some((3, 5), torch.float32))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_gradient(name: str) -> None:
    for shape in ((4, 6), (2, 3, 5), (0, 3), ()):
        check_gradients(ACTIVATIONS[name], leaf(shape))
    check_gradients(lambda x: ACTIVATIONS[name](x.t()), leaf((4, 6)))


def test_relu_of_integers() -> None:
    check(torch.relu, some((3, 4), torch.int32))
    rejects("relu", torch.relu, torch.tensor([True]))


def test_hardsigmoid_of_integers_is_truncated() -> None:
    x = torch.arange(-6, 7, dtype=torch.int32)
    expected = functional.hardsigmoid(x.float()).int()
    agree(run_on_npu(functional.hardsigmoid, x), expected)
    agree(run_on_npu(lambda y: functional.hardsigmoid(y, inplace=True), x), expected)


def test_celu_needs_alpha() -> None:
    rejects("celu", functional.celu, torch.ones(2), 0.0)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_glu(dim: int) -> None:
    check_gradients(functional.glu, leaf((4, 6, 2)), dim)


@pytest.mark.parametrize(
    ("shape", "weights"),
    [((2, 3, 4), 3), ((2, 3, 4), 1), ((2, 3), 3), ((5,), 1), ((), 1), ((0, 3), 3)],
)
def test_prelu(shape: tuple[int, ...], weights: int) -> None:
    check_gradients(functional.prelu, leaf(shape), leaf((weights,), seed=4))


def test_gradients_into_strided_outputs() -> None:
    x, weight, grad = (some(shape, torch.float32) for shape in ((4, 6), (6,), (4, 6)))
    x, weight = x.requires_grad_(), weight.requires_grad_()
    on_npu = [tensor.detach().to("npu") for tensor in (grad, x, weight)]

    def out() -> torch.Tensor:
        return torch.zeros(6, 4, device="npu").t()

    for name, function in (("Mish", functional.mish), ("Hardswish", functional.hardswish)):
        by_input = out()
        call(f"aclnn{name}Backward", *on_npu[:2], by_input)
        agree(by_input, torch.autograd.grad(function(x), x, grad)[0])
    by_input, by_weight = out(), torch.zeros(6, device="npu")
    call("aclnnPreluBackward", *on_npu, by_input, by_weight)
    expected = torch.autograd.grad(functional.prelu(x, weight), (x, weight), grad)
    agree([by_input, by_weight], list(expected))
    wide = torch.zeros(4, 6, dtype=torch.float64, device="npu")
    call("aclnnPrelu", *on_npu[1:], wide)
    agree(wide.float(), functional.prelu(x, weight).detach())


@pytest.mark.parametrize(
    ("function", "slopes"),
    [
        ("aclnnHardswishBackward", [0.0, -0.5, 0.5, 1.5, 1.0]),
        ("aclnnHardswishBackwardV2", [0.0, 0.0, 0.5, 1.0, 1.0]),
    ],
)
def test_slope_of_hardswish_where_its_parts_meet(function: str, slopes: list[float]) -> None:
    """The pages of the two functions differ at -3 and 3."""
    x = torch.tensor([-4.0, -3.0, 0.0, 3.0, 4.0]).to("npu")
    out = torch.zeros(5).to("npu")
    call(function, torch.full((5,), 2.0).to("npu"), x, out)
    assert out.tolist() == [2 * slope for slope in slopes]
    grad = torch.full((5,), 2.0).to("npu")
    call(function, grad, x, grad)  # the gradient may be written over its operand
    assert grad.tolist() == out.tolist()


def test_rrelu() -> None:
    check(functional.rrelu, some((4, 5), torch.float32), 0.1, 0.3, training=False)
    tensor = some((1000,), torch.float32).to("npu")
    result = functional.rrelu(tensor, 0.1, 0.3, training=True)
    slopes = (result / tensor)[tensor < 0]
    assert 0.1 <= slopes.min() < 0.12
    assert 0.28 < slopes.max() <= 0.3
    assert torch.equal(result[tensor >= 0], tensor[tensor >= 0])


@pytest.mark.parametrize("function", [torch.softmax, torch.log_softmax])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(function: Callable[..., torch.Tensor], dim: int) -> None:
    check_gradients(function, leaf((3, 4, 5)), dim)
    check_gradients(lambda x: function(x.t(), dim % 2), leaf((4, 6)))
    check(function, torch.empty(0, 3, 2), dim)


@pytest.mark.parametrize("function", [torch.softmax, torch.log_softmax])
def test_softmax_dtypes(function: Callable[..., torch.Tensor]) -> None:
    for dtype in DTYPES:
        check(function, some((4, 6), dtype), 1)
    check(function, some((4, 6), torch.float16), 1, dtype=torch.float32)
    check_gradients(partial(function, dim=1, dtype=torch.float32), leaf((4, 6), torch.bfloat16))


def test_masked_softmax() -> None:
    scores, mask = some((2, 3, 4, 5), torch.float32), some((2, 3, 4, 5), torch.bool)
    mask[..., 0] = False
    masked_softmax = torch.ops.aten._masked_softmax  # noqa: SLF001 - no public name
    check(lambda x, m: masked_softmax(x, m, 3, 2), scores, mask)


@pytest.mark.parametrize("bias", [True, False])
def test_fused_lstm_cell(bias: bool) -> None:  # noqa: FBT001
    """Against the cell that torch composes from single operators on the CPU."""
    batch, hidden = 3, 5
    sizes = [(batch, 4 * hidden), (batch, 4 * hidden), (batch, hidden)]
    tensors = [leaf(size, seed=seed) for seed, size in enumerate(sizes)]
    biases = [leaf((4 * hidden,), seed=seed) for seed in (5, 6)] if bias else []

    def composed(
        gates: torch.Tensor, more: torch.Tensor, cx: torch.Tensor, *biases: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        total = gates + more + sum(biases)
        i, f, g, o = total.chunk(4, 1)
        cell = f.sigmoid() * cx + i.sigmoid() * g.tanh()
        return o.sigmoid() * cell.tanh(), cell

    def run(*tensors: torch.Tensor) -> object:
        if tensors[0].device.type == "cpu":
            return composed(*tensors)
        fused = torch.ops.aten._thnn_fused_lstm_cell  # noqa: SLF001 - no public name
        return fused(*tensors)[:2]

    check_gradients(run, *tensors, *biases)

"""Elementwise operators whose converters declare no samples, static and dynamic, against eager."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair  # noqa: F401 - isolated tests are forked from a process that has it

from opwright.aclnn.dtypes import DTYPE_NUMBERS
from opwright.graph_engine.errors import KernelArgumentError
from opwright.graph_engine.kernels import (  # noqa: F401 - fill the table
    bitwise,
    comparison,
    creation,
    elementwise,
)
from opwright.graph_engine.tensors.four_bits import FOUR_BITS
from tests.graph_engine.agreement import assert_agree, call

if TYPE_CHECKING:
    from collections.abc import Callable

# Of x, floating point.
FLOATS: dict[str, Callable[[torch.Tensor], object]] = {
    "addcdiv": lambda x: torch.addcdiv(x, x, x + 10, value=2),
    "arange_of_size": lambda x: torch.arange(0, x.shape[1], device=x.device) + x[0, 0],
    "arange_of_fractions": lambda x: torch.arange(0.5, 4, 0.5, device=x.device) + x[0, 0],
    "bitcast": lambda x: (x * 1).view(torch.int32) + 0,
    "clone": lambda x: x.clone(),
    "complex": lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(-1, 2)) * 2),
    "copy": lambda x: torch.zeros_like(x).copy_(x[0]),
    "empty": lambda x: torch.empty_like(x).fill_(3) + x,
    "erfinv": lambda x: torch.erfinv(torch.tanh(x)),
    "expm1": lambda x: x.expm1(),
    "floor_divide": lambda x: (x // 1.5, torch.div(x, -1.5, rounding_mode="floor")),
    "full": lambda x: torch.full((2, 3), 2.5, device=x.device) + x[0, 0],
    "half": lambda x: (x.half() * 3 + 1).float(),
    "in_place": lambda x: x.clone().add_(2, alpha=3).mul_(2).div_(4).sub_(1),
    "infinite": lambda x: torch.isinf(x / 0),
    "lerp": lambda x: torch.lerp(x, x * 2, 0.3),
    "linspace": lambda x: torch.linspace(0, 1, 5, device=x.device) + x[0, 0],
    "logarithms": lambda x: (x.abs().log(), x.abs().log2(), x.abs().log10(), x.abs().log1p()),
    "masked_fill": lambda x: x.clone().masked_fill_(x > 0, 9.0),
    "maximum": lambda x: torch.maximum(x, -x),
    "nan_to_num": lambda x: torch.nan_to_num(x / 0, 1.0, 2.0, 3.0),
    "powers": lambda x: (x**2, x.abs() ** 0.5, 2**x),
    "remainder": lambda x: x % -1.5,
    "round": lambda x: torch.round(x * 2),
    "rsub": lambda x: torch.rsub(x, 2, alpha=3),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 1),
    "sign": lambda x: x.sign(),
    "where": lambda x: torch.where(x > 0, x, -1.0),
}
# Of i, integers.
INTEGERS: dict[str, Callable[[torch.Tensor], object]] = {
    "absolute": lambda i: i.abs(),
    "bytes": lambda i: i.abs().to(torch.uint8) + 250,
    "divide": lambda i: (i / 3, i // 3, torch.div(i, 3, rounding_mode="trunc")),
    "invert": lambda i: ~i,
    "negative": lambda i: -i,
    "power": lambda i: i**2,
    "remainder": lambda i: i % 3,
    "sigmoid": lambda i: i.sigmoid(),
    "subtract_from": lambda i: 5 - i,
    "truth": lambda i: (torch.logical_not(i), (i > 0).to(torch.int32), i.bool()),
}
# Without dynamic shapes each size is compiled by itself.
SIZES = {False: (2,), True: (2, 6, 2)}


@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True])
def test_floats(*, dynamic: bool) -> None:
    torch.manual_seed(7)
    runs = [{"x": torch.randn(rows, 4) * 3} for rows in SIZES[dynamic]]
    assert_agree(FLOATS, runs, dynamic=dynamic)


@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True])
def test_integers(*, dynamic: bool) -> None:
    torch.manual_seed(7)
    runs = [{"i": torch.randint(-60, 60, (rows, 4))} for rows in SIZES[dynamic]]
    assert_agree(INTEGERS, runs, dynamic=dynamic)


def test_division_of_integers_is_towards_zero() -> None:
    x1, x2 = torch.tensor([7, -7, 0]), torch.tensor([2, 2, 5])
    for name in ("Div", "RealDiv", "TruncateDiv"):
        torch.testing.assert_close(call(name, x1=x1, x2=x2), torch.tensor([3, -3, 0]))
    torch.testing.assert_close(call("FloorDiv", x1=x1, x2=x2), torch.tensor([3, -4, 0]))
    torch.testing.assert_close(call("FloorMod", x1=x1, x2=x2), torch.tensor([1, 1, 0]))
    torch.testing.assert_close(call("Mod", x1=x1, x2=x2), torch.tensor([1, -1, 0]))


def test_exp_and_log_have_a_base_a_scale_and_a_shift() -> None:
    x = torch.tensor([0.5, 2.0])
    torch.testing.assert_close(call("Exp", x=x, base=3.0, scale=2.0, shift=1.0), 3 ** (2 * x + 1))
    torch.testing.assert_close(
        call("Log", x=x, base=3.0, scale=2.0, shift=1.0), (2 * x + 1).log() / math.log(3)
    )


def test_a_condition_of_less_axes_selects_rows() -> None:
    condition, x = torch.tensor([True, False]), torch.arange(6.0).reshape(2, 3)
    chosen = call("Select", condition=condition, x1=x, x2=-x)
    torch.testing.assert_close(chosen, torch.stack([x[0], -x[1]]))


def test_division_without_nan() -> None:
    x1, x2 = torch.tensor([1.0, 0.0, 4.0]), torch.tensor([0.0, 0.0, 2.0])
    torch.testing.assert_close(call("DivNoNan", x1=x1, x2=x2), torch.tensor([0.0, 0.0, 2.0]))


@pytest.mark.parametrize("name", ["HIFLOAT8", "FLOAT4_E2M1", "FLOAT4_E1M2", "INT4"])
def test_casts_to_and_from_dtypes_that_torch_lacks_are_refused_by_name(name: str) -> None:
    number = DTYPE_NUMBERS[name]
    with pytest.raises(KernelArgumentError, match=f"dtype {name}, "):
        call("Cast", torch.ones(4), dst_type=number)
    if number in FOUR_BITS:
        numbers = torch.ones(4, dtype=torch.int8).view(FOUR_BITS[number])
        with pytest.raises(KernelArgumentError, match=f"dtype {name}, "):
            call("Cast", numbers, dst_type=DTYPE_NUMBERS["FLOAT"])
    assert call("Cast", torch.ones(4), dst_type=DTYPE_NUMBERS["FLOAT16"]).dtype == torch.float16

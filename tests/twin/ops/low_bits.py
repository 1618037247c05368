"""Number formats of few bits and microscaling, from their definitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "E1M2",
    "E2M1",
    "E4M3",
    "E5M2",
    "FORMATS",
    "HIFLOAT8",
    "Format",
    "float4",
    "four_bits",
    "hifloat8",
    "microscaled",
    "nearest_hifloat8",
    "nearly",
    "on_grid",
    "pack_int4",
    "pairs",
    "stored",
    "unpack_int4",
]

ROUND: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "rint": torch.round,
    "floor": torch.floor,
    "round": lambda values: values.sign() * (values.abs() + 0.5).floor(),
}


@dataclass(frozen=True)
class Format:
    """A floating-point format: what it holds, and its code for torch_npu."""

    code: int
    mantissa_bits: int
    least_exponent: int
    highest: float
    exponent: int  # of the highest number
    nibbles: bool = False


E2M1 = Format(torch_npu.float4_e2m1fn_x2, 1, 0, 6, 2, nibbles=True)
E1M2 = Format(torch_npu.float4_e1m2fn_x2, 2, 0, 1.75, 0, nibbles=True)
E4M3 = Format(torch_npu.float8_e4m3fn, 3, -6, 448, 8)
E5M2 = Format(torch_npu.float8_e5m2, 2, -14, 57344, 15)
FORMATS = (E2M1, E1M2, E4M3, E5M2)
HIFLOAT8: int = torch_npu.hifloat8


def on_grid(values: torch.Tensor, to: Format, mode: str = "rint") -> torch.Tensor:
    """Round to the numbers of the format; beyond its range to the highest."""
    wide = values.double()
    exponent = (torch.frexp(wide).exponent - 1).clamp_min(to.least_exponent)
    step = torch.ldexp(torch.ones_like(wide), exponent - to.mantissa_bits)
    return (ROUND[mode](wide / step) * step).clamp(-to.highest, to.highest).float()


def four_bits(packed: torch.Tensor) -> torch.Tensor:
    """Codes of two numbers in each byte, the first in the lower half."""
    codes = packed.cpu().view(torch.uint8).int()
    return torch.stack((codes & 15, codes >> 4), -1).flatten(-2)


def float4(packed: torch.Tensor, to: Format) -> torch.Tensor:
    """Numbers of a 4-bit float from their codes."""
    codes = four_bits(packed)
    exponent_bits = 3 - to.mantissa_bits
    exponent = (codes >> to.mantissa_bits) & (2**exponent_bits - 1)
    mantissa = codes & (2**to.mantissa_bits - 1)
    bias = 1 if exponent_bits > 1 else 0
    fraction = mantissa.float() / 2**to.mantissa_bits
    # with one exponent bit the numbers have equal distances
    subnormal = fraction * 2.0 ** (1 - bias) if exponent_bits > 1 else fraction
    normal = torch.ldexp(1 + fraction, exponent - bias) if exponent_bits > 1 else 1 + fraction
    return torch.where(exponent == 0, subnormal, normal) * torch.where(codes > 7, -1.0, 1.0)


def hifloat8(code: int) -> float:
    """One number of hifloat8, bit by bit."""
    bits = f"{code:08b}"
    sign = -1.0 if bits[0] == "1" else 1.0
    rest = bits[1:]
    if code & 127 == 0:
        return float("nan") if sign < 0 else 0.0
    if rest.startswith("0000"):
        return sign * 2.0 ** (int(rest[4:], 2) - 23)
    prefixes = {"0001": 0, "001": 1, "01": 2, "10": 3, "11": 4}
    prefix = next(prefix for prefix in prefixes if rest.startswith(prefix))
    rest = rest[len(prefix) :]
    field, mantissa = rest[: prefixes[prefix]], rest[prefixes[prefix] :]
    exponent = 0
    if field:
        magnitude = int("1" + field[1:], 2)
        exponent = -magnitude if field[0] == "1" else magnitude
    if exponent == 15 and mantissa == "1":
        return sign * float("inf")
    return float(sign * 2.0**exponent * (1 + int(mantissa, 2) / 2 ** len(mantissa)))


def nearest_hifloat8(values: torch.Tensor) -> torch.Tensor:
    """Round to numbers of hifloat8, halves away from zero; beyond the highest to that."""
    table = torch.tensor([hifloat8(code) for code in range(128)], dtype=torch.float64)
    table = table[table.isfinite()].sort().values
    between = (table[1:] + table[:-1]) / 2
    positions = torch.bucketize(values.double().abs(), between, right=True)
    return table[positions].float() * values.sign()


def stored(result: torch.Tensor, to: Format) -> torch.Tensor:
    """Numbers that the device wrote in the format."""
    return float4(result, to) if to.nibbles else result.cpu().float()


def numbers_of(to: Format | None) -> torch.Tensor:
    """All finite numbers of a format, in order; None: of hifloat8."""
    if to is None:
        found = torch.tensor([hifloat8(code) for code in range(256)]).double()
        return found[found.isfinite()].sort().values
    exponents = torch.arange(to.least_exponent, to.exponent + 1, dtype=torch.float64)
    mantissas = torch.arange(2 ** (to.mantissa_bits + 1)) / 2**to.mantissa_bits
    found = torch.outer(mantissas.double(), exponents.exp2()).flatten()
    found = found[found <= to.highest]
    return torch.tensor(sorted({*(-found).tolist(), *found.tolist()}), dtype=torch.float64)


def nearly(actual: torch.Tensor, expected: torch.Tensor, to: Format | None) -> None:
    """Compare numbers of a format (None: hifloat8), rounded after arithmetic in another order.

    Each is the expected one or its neighbour, and few are not the expected ones.
    """
    assert actual.shape == expected.shape
    numbers = numbers_of(to)
    first, second = (
        torch.searchsorted(numbers, each.double().contiguous()) for each in (actual, expected)
    )
    for places, values in ((first, actual), (second, expected)):
        assert torch.equal(numbers[places.clamp_max(len(numbers) - 1)], values.double())
    differences = (first - second).abs()
    assert differences.max() <= 1
    assert differences.sum() <= max(1, 0.02 * differences.numel())


def pairs(codes: torch.Tensor, axis: int) -> torch.Tensor:
    """Scales as the device has them: an even number along the axis, pairs in the last dimension."""
    last = codes.movedim(axis, -1)
    even = torch.nn.functional.pad(last, (0, last.size(-1) % 2))
    halves = torch.unflatten(even, -1, (-1, 2))
    return halves.movedim(-2, axis if axis >= 0 else axis + codes.dim())


def microscaled(
    x: torch.Tensor,
    axis: int,
    to: Format,
    mode: str = "rint",
    *,
    algorithm: int = 0,
    highest: float = 0,
    block: int = 32,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers and codes of scales (exponent + 127), one for each block along the axis."""
    rows = x.double().movedim(axis, -1)
    size = rows.size(-1)
    blocks = torch.unflatten(torch.nn.functional.pad(rows, (0, -size % block)), -1, (-1, block))
    largest = blocks.abs().amax(-1)
    if algorithm == 0:
        exponent = torch.frexp(largest).exponent - 1 - to.exponent
    else:
        ratio = torch.frexp((largest / (highest or to.highest)).float())
        exponent = ratio.exponent - (ratio.mantissa == 0.5).int()
    codes = torch.where(largest == 0, 0, exponent + 127).clamp(0, 254)
    scale = torch.ldexp(torch.ones_like(largest), codes - 127).unsqueeze(-1)
    numbers = on_grid(blocks / scale, to, mode).flatten(-2)[..., :size]
    return numbers.movedim(-1, axis), codes.movedim(-1, axis).to(torch.uint8)


def pack_int4(values: torch.Tensor) -> torch.Tensor:
    """Eight integers of 4 bits in each int32, the first in the lowest bits."""
    nibbles = values.long().bitwise_and(15).view(*values.shape[:-1], -1, 8)
    return nibbles.bitwise_left_shift(torch.arange(0, 32, 4)).sum(-1).int()


def unpack_int4(packed: torch.Tensor) -> torch.Tensor:
    """The integers that `pack_int4` packed."""
    spread = packed.cpu().unsqueeze(-1).bitwise_right_shift(torch.arange(0, 32, 4).int())
    nibbles = spread.bitwise_and(15)
    return torch.where(nibbles > 7, nibbles - 16, nibbles).flatten(-2)

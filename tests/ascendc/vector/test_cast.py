"""Cast: every pair of types, in every rounding mode, against exact arithmetic."""

from __future__ import annotations

import ctypes
from fractions import Fraction
from math import ceil, floor, inf, trunc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.ascendc.kernels import KernelError, run

pytestmark = [pytest.mark.torch, pytest.mark.build]

SOURCE = Path(__file__).with_name("cast.cpp")
BYTES = 8192
TYPES = ["half", "float", "int8", "uint8", "int16", "int32", "int64", "bfloat16", "int4"]
NUMPY = {"half": np.float16, "float": np.float32, "int4": np.int8, "bfloat16": np.uint16}
BITS = {"int4": 4, "bfloat16": 16}
NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
DIRECTED = (RINT, FLOOR, CEIL, ROUND, TRUNC)
WITH_NONE = (NONE, *DIRECTED)
# source, destination, what they may round with
PAIRS = [
    ("int4", "half", (NONE,)),
    ("int8", "half", (NONE,)),
    ("uint8", "half", (NONE,)),
    ("int16", "half", WITH_NONE),
    ("int16", "float", (NONE,)),
    ("half", "int4", WITH_NONE),
    ("half", "int8", WITH_NONE),
    ("half", "uint8", WITH_NONE),
    ("half", "int16", DIRECTED),
    ("half", "int32", DIRECTED),
    ("half", "float", (NONE,)),
    ("bfloat16", "int32", DIRECTED),
    ("bfloat16", "float", (NONE,)),
    ("int32", "int16", (NONE,)),
    ("int32", "float", WITH_NONE),
    ("int32", "int64", (NONE,)),
    ("float", "int16", DIRECTED),
    ("float", "half", (*WITH_NONE, ODD)),
    ("float", "bfloat16", DIRECTED),
    ("float", "int32", DIRECTED),
    ("float", "float", DIRECTED),
    ("float", "int64", DIRECTED),
    ("int64", "int32", (NONE,)),
    ("int64", "float", DIRECTED),
]
# significand bits, the exponent of the smallest unit, the largest number
FORMATS = {
    "half": (11, -24, Fraction(65504)),
    "bfloat16": (8, -133, Fraction(255 * 2**120)),
    "float": (24, -149, Fraction(2) ** 128 - Fraction(2) ** 104),
}

Array = np.ndarray[Any, Any]


class Case(ctypes.Structure):
    _fields_ = (
        ("from_type", ctypes.c_int32),
        ("to_type", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("count", ctypes.c_int32),
        ("repeats", ctypes.c_int32),
        ("dst_repeat", ctypes.c_int32),
        ("src_repeat", ctypes.c_int32),
        ("scale", ctypes.c_float),
        ("saturates", ctypes.c_int32),
    )


def rounded(value: Fraction, mode: int) -> int:
    """Return the whole number that a mode gives."""
    match mode:
        case 2:
            return floor(value)
        case 3:
            return ceil(value)
        case 4:
            return floor(abs(value) + Fraction(1, 2)) * (1 if value >= 0 else -1)
        case 5:
            return trunc(value)
        case 6:
            low = floor(value)
            return low if low == value or low % 2 else low + 1
        case _:
            return round(value)


def to_float(value: Fraction, kind: str, mode: int) -> float:
    bits, smallest, largest = FORMATS[kind]
    if value == 0:
        return 0.0
    exponent = floor(abs(value)).bit_length() - 1 if abs(value) >= 1 else None
    if exponent is None:
        exponent = -1
        while Fraction(2) ** exponent > abs(value):
            exponent -= 1
    unit = Fraction(2) ** max(exponent - bits + 1, smallest)
    result = rounded(value / unit, mode) * unit
    if abs(result) <= largest:
        return float(result)
    toward_zero = {TRUNC, ODD, FLOOR if value > 0 else CEIL}
    return float(largest if mode in toward_zero else inf) * (1 if value > 0 else -1)


def bits_of_bfloat16(values: list[float]) -> Array:
    return (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def source_values(kind: str) -> Array:
    """Return values at and between the numbers of the destinations, and at their limits."""
    rng = np.random.default_rng(7)
    match kind:
        case "int4":
            return rng.integers(-8, 8, 256, np.int8)
        case "half" | "float" | "bfloat16":
            near = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 6.5, 7.5, -8.5, 127.5, 255.5]
            near += [32767.5, -32768.5, 65504.0, 65519.0, 65520.0, 2.0**-24, 2.0**-25, 3.0e-8, 1e-5]
            values = np.concatenate(
                [
                    near,
                    rng.normal(0, 3, 100),
                    rng.normal(0, 3e4, 67),
                    2.0 ** rng.uniform(-20, 15, 67),
                ]
            )
            if kind == "float":
                values[-4:] = [1e38, -3e9, 1e19, 2147483648.0]
            if kind == "bfloat16":
                return bits_of_bfloat16([float(v) for v in values])
            with np.errstate(over="ignore"):
                return values.astype(NUMPY[kind])
        case _:
            dtype = np.dtype(kind)
            limits = np.iinfo(dtype)
            whole = rng.integers(limits.min, limits.max, 240, dtype, endpoint=True)
            return np.concatenate(
                [whole, rng.integers(0, 100, 14, dtype), [limits.min, limits.max]]
            ).astype(dtype)


def numbers(kind: str, values: Array) -> list[Fraction | float]:
    if kind == "bfloat16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return [Fraction(v) if np.isfinite(v) else v for v in values.tolist()]


def limit(value: int, kind: str) -> int:
    low, high = (-8, 7) if kind == "int4" else (np.iinfo(kind).min, np.iinfo(kind).max)
    return min(max(value, low), high)


def expected_values(values: list[Fraction | float], kind: str, mode: int, source: str) -> Array:
    if kind in FORMATS and not (source == "float" and kind == "float"):
        result = [v if isinstance(v, float) else to_float(v, kind, mode) for v in values]
        return np.array(result, np.float32 if kind == "bfloat16" else NUMPY[kind])
    if kind == "float":
        return np.array([float(rounded(Fraction(v), mode)) for v in values], np.float32)
    whole = [
        limit(rounded(v, mode) if isinstance(v, Fraction) else int(np.sign(v)) * 2**70, kind)
        for v in values
    ]
    return np.array(whole, np.int8 if kind == "int4" else kind)


def pack(kind: str, values: Array) -> Array:
    if kind != "int4":
        return values.view(np.uint8)
    nibbles = values.view(np.uint8) & 0xF
    return nibbles[::2] | nibbles[1::2] << 4


def unpack(kind: str, image: Array, count: int) -> Array:
    if kind == "bfloat16":
        return (image.view(np.uint16)[:count].astype(np.uint32) << 16).view(np.float32)
    if kind != "int4":
        return image.view(NUMPY.get(kind, kind))[:count]
    nibbles = np.stack([image & 0xF, image >> 4], axis=-1).reshape(-1)[:count]
    return (nibbles.astype(np.int8) ^ 8) - 8


def launch(source: str, kind: str, values: Array, case: Case) -> Array:
    image = np.full(2 * BYTES, 0xEE, np.uint8)
    packed = pack(source, values)
    image[BYTES : BYTES + packed.size] = packed
    tensor = torch.from_numpy(image)
    case.from_type, case.to_type = TYPES.index(source), TYPES.index(kind)
    run(SOURCE, "cast", [tensor, case])
    return image[:BYTES]


@pytest.mark.parametrize(
    ("source", "kind", "mode"),
    [(source, kind, mode) for source, kind, modes in PAIRS for mode in modes],
)
def test_a_conversion_rounds_as_its_mode_says(source: str, kind: str, mode: int) -> None:
    values = source_values(source)
    image = launch(source, kind, values, Case(mode=mode, count=len(values), scale=1))
    expected = expected_values(numbers(source, values), kind, mode, source)
    np.testing.assert_array_equal(unpack(kind, image, len(values)), expected)
    after = image[len(values) * BITS.get(kind, 8 * expected.itemsize) // 8 :]
    assert (after == 0xEE).all()


def test_repeats_count_the_lanes_of_the_wider_type() -> None:
    values = source_values("half")
    case = Case(mode=RINT, count=40, repeats=3, dst_repeat=8, src_repeat=4, scale=1)
    image = launch("half", "int32", values, case)
    got = image.view(np.int32)[: 3 * 64].reshape(3, 64)
    expected = expected_values(numbers("half", values), "int32", RINT, "half")[: 3 * 64].reshape(
        3, 64
    )
    np.testing.assert_array_equal(got[:, :40], expected[:, :40])
    assert (got[:, 40:].view(np.uint32) == 0xEEEEEEEE).all()


def test_int32_becomes_half_times_the_scale() -> None:
    values = np.arange(-100, 100, dtype=np.int32)
    image = launch("int32", "half", values, Case(mode=NONE, count=200, scale=0.25))
    np.testing.assert_array_equal(image.view(np.float16)[:200], values * np.float16(0.25))


@pytest.mark.parametrize(("saturates", "beyond", "nan"), [(0, np.inf, np.nan), (1, 65504, 0)])
def test_what_half_cannot_hold_saturates_when_it_is_asked_to(
    saturates: int, beyond: float, nan: float
) -> None:
    values = np.array([1e6, -1e6, np.nan, 1, np.inf, 0, 0, 0], np.float32)
    image = launch("float", "half", values, Case(mode=NONE, count=8, scale=1, saturates=saturates))
    np.testing.assert_array_equal(
        image.view(np.float16)[:5], np.array([beyond, -beyond, nan, 1, beyond], np.float16)
    )


def test_a_mode_that_a_conversion_does_not_take_is_refused() -> None:
    with pytest.raises(KernelError, match=r"CAST_FLOOR; allowed: CAST_NONE"):
        launch("half", "float", source_values("half"), Case(mode=FLOOR, count=64, scale=1))


@pytest.mark.parametrize("by_vector", [False, True])
def test_quantised_lanes_go_to_half_of_each_block(*, by_vector: bool) -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(-3000, 3000, 128, np.int16)
    image = np.full(2 * BYTES, 0xEE, np.uint8)
    image[BYTES : BYTES + 256] = values.view(np.uint8)
    # Scales with few bits: the device keeps ten of the significand.
    scales = np.concatenate([rng.integers(1, 16, 16) / 256, rng.integers(-50, 50, 16)]).astype(
        np.float32
    )
    run(
        SOURCE,
        "dequantise",
        [torch.from_numpy(image), torch.from_numpy(scales), int(by_vector), 128],
    )
    scale, offset = (scales[:16], scales[16:]) if by_vector else (scales[0], scales[16])
    expected = np.clip(np.rint(values.reshape(8, 16) * scale) + offset, -128, 127).astype(np.int8)
    blocks = image[:256].view(np.int8).reshape(8, 32)
    written, kept = (
        (blocks[:, 16:], blocks[:, :16]) if by_vector else (blocks[:, :16], blocks[:, 16:])
    )
    np.testing.assert_array_equal(written, expected)
    assert (kept.view(np.uint8) == 0xEE).all()

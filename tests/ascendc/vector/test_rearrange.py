"""Comparisons, selections, fills, gathers, sorts, transposes: against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.ascendc.kernels import KernelError, run

pytestmark = [pytest.mark.torch, pytest.mark.build]

SOURCE = Path(__file__).with_name("rearrange.cpp")
IMAGE = 32768
FIRST, SECOND, THIRD = 8192, 16384, 24576
DTYPES = {"half": np.float16, "float": np.float32, "int32": np.int32}
NUMBERS = {"half": 0, "float": 1, "int32": 2}
COMPARISONS = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal]
EQUAL = 2

Array = np.ndarray[Any, Any]


def image(**parts: Array) -> Array:
    """Return an image; a part named `at_<offset>` lies at that byte."""
    result = np.full(IMAGE, 0xEE, np.uint8)
    for name, part in parts.items():
        start = int(name.removeprefix("at_"))
        flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
        result[start : start + flat.size] = flat
    return result


def launch(kernel: str, data: Array, *arguments: Any, checks: bool = True) -> None:  # noqa: ANN401  # each kernel's own
    run(SOURCE, kernel, [torch.from_numpy(data), *arguments], checks=checks)


def part(data: Array, start: int, dtype: Any, count: int) -> Array:  # noqa: ANN401  # any numpy dtype
    result: Array = data[start:].view(dtype)[:count]
    return result


def bits_of(truth: Array) -> Array:
    return np.packbits(truth, bitorder="little")


def operands(kind: str, count: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    a, b = rng.integers(-3, 4, (2, count)).astype(DTYPES[kind])
    if kind != "int32":
        a[::17] = np.nan
    return a, b


@pytest.mark.parametrize("kind", ["half", "float", "int32"])
@pytest.mark.parametrize("mode", range(len(COMPARISONS)))
@pytest.mark.parametrize("scalar", [None, 1.0])
def test_a_comparison_gives_a_bit_per_element(kind: str, mode: int, scalar: float | None) -> None:
    count = 256
    a, b = operands(kind, count)
    data = image(at_8192=a, at_16384=b)
    arguments = [NUMBERS[kind], int(scalar is not None), mode, count, scalar or 0.0]
    if kind == "int32" and mode != EQUAL:
        with pytest.raises(KernelError, match="EQ only"):
            launch("compare", data, *arguments)
        return
    launch("compare", data, *arguments)
    expected = bits_of(COMPARISONS[mode](a, b if scalar is None else a.dtype.type(scalar)))
    np.testing.assert_array_equal(data[: len(expected)], expected)
    assert data[len(expected)] == 0xEE


def test_a_comparison_of_repeats_ignores_the_mask_and_writes_contiguous_bits() -> None:
    a, b = operands("float", 1024)
    data = image(at_8192=a, at_16384=b)
    launch("compare", data, 1, 2, 0, 3, 0.0)
    blocks = a.reshape(-1, 16, 8)[:3, ::2].reshape(3, 64)
    np.testing.assert_array_equal(data[:24], bits_of(blocks < b[:192].reshape(3, 64)))


def test_the_part_behind_the_last_256_bytes_is_not_compared() -> None:
    a, b = operands("float", 256)
    data = image(at_8192=a, at_16384=b)
    with pytest.raises(KernelError, match="count is 130"):
        launch("compare", data, 1, 0, 0, 130, 0.0)
    launch("compare", data, 1, 0, 0, 130, 0.0, checks=False)
    np.testing.assert_array_equal(data[:16], bits_of(a[:128] < b[:128]))
    assert (data[16:20] == 0xEE).all()


def test_the_compare_register_holds_the_bits_of_one_repeat() -> None:
    a, b = operands("half", 128)
    data = image(at_8192=a, at_16384=b)
    launch("compare", data, 0, 4, 1, 100, 0.0)
    expected = (a > b) & (np.arange(128) < 100)
    np.testing.assert_array_equal(data[:16], bits_of(expected))


SELECTIONS = [(0, 300), (1, 300), (2, 300), (3, 3), (4, 3), (5, 3), (6, 3)]


@pytest.mark.parametrize("kind", ["half", "float"])
@pytest.mark.parametrize(("form", "count"), SELECTIONS)
def test_a_selection_takes_the_first_where_a_bit_is_set(kind: str, form: int, count: int) -> None:
    dtype = DTYPES[kind]
    lanes = 256 // np.dtype(dtype).itemsize
    total = count if form < 3 else count * lanes
    rng = np.random.default_rng(form)
    a, b = rng.normal(size=(2, total)).astype(dtype)
    truth = rng.integers(0, 2, 1024).astype(bool)
    data = image(at_8192=a, at_16384=b, at_24576=bits_of(truth))
    launch("choose", data, NUMBERS[kind], form, count, 2.0)
    chosen = np.resize(truth[:lanes], total) if form in {0, 4} else truth[:total]
    other = np.full(total, 2.0, dtype) if form in {1, 6} else b
    expected = np.where(chosen, a, other)
    got = part(data, 0, dtype, total)
    if form == 3:  # 40 lanes of each repeat
        got, expected = got.reshape(-1, lanes)[:, :40], expected.reshape(-1, lanes)[:, :40]
    np.testing.assert_array_equal(got, expected)


def test_fills() -> None:
    scores = np.arange(16, dtype=np.uint16) * 3
    data = image(at_8192=scores)
    launch("fills", data)
    assert (part(data, 0, np.float16, 100) == 2.5).all()
    assert data[200] == 0xEE
    spread = part(data, 1024, np.float32, 2 * 128).reshape(2, 16, 8)
    assert (spread[:, 0, :3] == 7).all()
    assert (spread[:, 0, 3:].view(np.uint32) == 0xEEEEEEEE).all()
    np.testing.assert_array_equal(part(data, 3072, np.int32, 100), np.arange(5, 105))
    np.testing.assert_array_equal(part(data, 4096, np.float16, 256), np.arange(1, 257))
    np.testing.assert_array_equal(part(data, 5120, np.float32, 64), 0.5 + 0.25 * np.arange(64))
    np.testing.assert_array_equal(part(data, 6144, np.uint16, 256), np.repeat(scores, 16))


def test_gathers() -> None:
    rng = np.random.default_rng(0)
    source = rng.normal(size=1024).astype(np.float32)
    places = rng.integers(0, 1000, 256)
    blocks = rng.integers(0, 128, 16)
    data = image(
        at_8192=source,
        at_16384=(places * 4).astype(np.uint32),
        at_24576=(blocks * 32).astype(np.uint32),
    )
    launch("gathers", data)
    np.testing.assert_array_equal(part(data, 0, np.float32, 100), source[places[:100] + 16])
    repeats = part(data, 1024, np.float32, 192).reshape(3, 64)[:, :10]
    np.testing.assert_array_equal(repeats, source[places[:192].reshape(3, 64)[:, :10]])
    expected = source.reshape(-1, 8)[blocks]
    np.testing.assert_array_equal(part(data, 2048, np.float32, 128).reshape(16, 8), expected)


@pytest.mark.parametrize("place", [1 << 20, 6])
def test_an_offset_outside_of_the_buffer_or_between_elements_is_refused(place: int) -> None:
    offsets = np.full(256, place, np.uint32)
    with pytest.raises(KernelError, match="Gather"):
        launch("gathers", image(at_16384=offsets, at_24576=np.zeros(16, np.uint32)))


# pattern, counter mode, mask, repeats, stride of the pattern
MASKED = [
    *((pattern, 0, 0, 2, 0) for pattern in range(1, 8)),
    (2, 1, 70, 2, 0),
    (0, 0, 0, 2, 1),
    (0, 1, 70, 2, 0),
]


@pytest.mark.parametrize(("pattern", "counter", "mask", "repeats", "stride"), MASKED)
def test_a_masked_gather_packs_what_its_pattern_takes(
    pattern: int, counter: int, mask: int, repeats: int, stride: int
) -> None:
    rng = np.random.default_rng(pattern)
    source = rng.normal(size=1024).astype(np.float32)
    truth = rng.integers(0, 2, 1024).astype(bool)
    data = image(at_8192=source, at_16384=bits_of(truth))
    counts = torch.zeros(1, dtype=torch.int64)
    launch("gather_mask", data, counts, pattern, counter, mask, repeats, stride)
    lane = np.arange(mask if counter else 64)
    expected = []
    for repeat in range(repeats):
        if pattern == 0:
            taken = truth[repeat * stride * 256 :][: len(lane)]
        elif pattern == 7:
            taken = lane >= 0
        else:
            taken = lane % 2 == pattern - 1 if pattern <= 2 else lane % 4 == pattern - 3
        expected.append(source[repeat * 64 :][: len(lane)][taken])
    kept = np.concatenate(expected)
    assert counts.item() == len(kept)
    np.testing.assert_array_equal(part(data, 0, np.float32, len(kept)), kept)
    assert data[4 * len(kept)] == 0xEE


@pytest.mark.parametrize("kind", ["half", "float"])
@pytest.mark.parametrize("stops", [False, True])
def test_sorted_runs_are_merged_from_large_to_small(kind: str, *, stops: bool) -> None:
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 40, 128).astype(DTYPES[kind])  # with ties
    index = np.arange(128, dtype=np.uint32)
    data = image(at_8192=scores, at_16384=index)
    counts = torch.zeros(4, dtype=torch.int16)
    launch("sorts", data, counts, NUMBERS[kind], int(stops))
    pairs = data[: 128 * 8].reshape(128, 8)
    # Of equal scores the one of the earlier run is first, and within a run the one that came first.
    order = np.argsort(-scores.astype(np.float64), kind="stable")
    runs = order // 32
    taken = next(i for i in range(128) if (np.bincount(runs[: i + 1], minlength=4) == 32).any()) + 1
    total = taken if stops else 128
    got = np.ascontiguousarray(pairs[:total, 4:]).view(np.uint32).reshape(-1)
    np.testing.assert_array_equal(got, order[:total])
    width = np.dtype(DTYPES[kind]).itemsize
    values = np.ascontiguousarray(pairs[:total, :width]).view(DTYPES[kind]).reshape(-1)
    np.testing.assert_array_equal(values, scores[order[:total]])
    np.testing.assert_array_equal(counts, np.bincount(runs[:total], minlength=4))


def test_transposes() -> None:
    square = np.arange(256, dtype=np.float16).reshape(16, 16)
    data = image(at_8192=square)
    launch("transpose", data, 0)
    np.testing.assert_array_equal(part(data, 0, np.float16, 256).reshape(16, 16), square.T)
    images = np.arange(2 * 3 * 4 * 8, dtype=np.float32).reshape(2, 3, 4, 8)
    data = image(at_8192=images)
    launch("transpose", data, 1)
    got = part(data, 0, np.float32, images.size).reshape(2, 4, 8, 3)
    np.testing.assert_array_equal(got, images.transpose(0, 2, 3, 1))
    data = image(at_8192=np.ascontiguousarray(got))
    launch("transpose", data, 2)
    np.testing.assert_array_equal(part(data, 0, np.float32, images.size), images.reshape(-1))


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("repeats", [1, 3])
def test_16_rows_of_blocks_become_columns(size: int, repeats: int) -> None:
    dtype = {2: np.float16, 4: np.float32}[size]
    columns = 32 // size * repeats
    rows = np.arange(16 * columns, dtype=dtype).reshape(16, columns)
    data = image(at_8192=rows)
    launch("trans_data", data, size, repeats)
    got = part(data, 0, dtype, rows.size).reshape(columns, 16)
    np.testing.assert_array_equal(got, rows.T)


def test_bytes_are_transposed_by_halves_of_blocks() -> None:
    rows = np.arange(16 * 32, dtype=np.uint16).astype(np.uint8).reshape(16, 32)
    data = image(at_8192=rows)
    launch("trans_data", data, 1, 1)
    blocks = data[: 16 * 32].reshape(16, 32)
    np.testing.assert_array_equal(blocks[:, :16], rows[:, 16:].T)
    assert (blocks[:, 16:] == 0xEE).all()


@pytest.mark.parametrize("per_block", [False, True])
def test_interpolation_sums_weighted_blocks(*, per_block: bool) -> None:
    rng = np.random.default_rng(2)
    source = rng.integers(0, 8, 2048).astype(np.float16)
    places = rng.integers(0, 128, 32)
    weights = rng.integers(0, 4, 32).astype(np.float16)
    data = image(at_8192=source, at_16384=(places * 32).astype(np.uint32), at_17408=weights)
    launch("interpolate", data, int(per_block))
    blocks = source.reshape(-1, 16)[places].reshape(2, 2, 8, 16)
    factor = weights.reshape(2, 2, 8, 1) if per_block else weights[:4].reshape(2, 2, 1, 1)
    expected = (blocks * factor).sum(axis=1).reshape(2, 128)
    np.testing.assert_array_equal(part(data, 0, np.float16, 256).reshape(2, 128), expected)


def test_copies_within_the_buffer() -> None:
    source = np.arange(18 * 64, dtype=np.int32).reshape(18, 64)
    data = image(at_8192=source)
    launch("copies", data)
    expected = source[:, :8].reshape(-1)
    np.testing.assert_array_equal(part(data, 0, np.int32, 144), expected)
    np.testing.assert_array_equal(part(data, 1024, np.int32, 144), expected)


def test_instructions_whose_destination_has_another_type() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-20, 20, (2, 128)).astype(np.float16)
    wide = rng.uniform(-2, 2, (2, 128)).astype(np.float32)
    whole = rng.integers(-500, 500, (2, 128)).astype(np.int32)
    before = np.ones(100, np.float32)
    data = image(at_0=before, at_1024=before, at_8192=a, at_8448=b, at_16384=wide, at_24576=whole)
    launch("mixed", data)
    a, b, wide, whole = a[:100], b[:100], wide[:, :100], whole[:, :100]
    fa, fb = a.astype(np.float32), b.astype(np.float32)
    np.testing.assert_array_equal(part(data, 0, np.float32, 100), fa * fb + 1)
    np.testing.assert_array_equal(part(data, 1024, np.float32, 100), 3 * fa + 1)
    sums = np.clip(np.rint(np.maximum(fa + fb, 0)), -128, 127)
    np.testing.assert_array_equal(part(data, 2048, np.int8, 100), sums)
    differences = np.maximum(wide[0] - wide[1], 0).astype(np.float16)
    np.testing.assert_array_equal(part(data, 2304, np.float16, 100), differences)
    products = np.clip(np.rint(fa * fb), 0, 255)
    np.testing.assert_array_equal(part(data, 2560, np.uint8, 100), products)
    scaled = np.maximum((whole[0] + whole[1]) * 0.5, 0).astype(np.float16)
    np.testing.assert_array_equal(part(data, 2816, np.float16, 100), scaled)
    # And of 32-bit elements counts halves of them.
    np.testing.assert_array_equal(part(data, 3072, np.int32, 50), (whole[0] & whole[1])[:50])
    assert part(data, 3072 + 200, np.uint32, 1)[0] == 0xEEEEEEEE


def test_single_numbers_are_converted() -> None:
    result = np.zeros(4, np.int32)
    launch("single_numbers", result, -2.50006)
    np.testing.assert_array_equal(result[:3], [-2, -3, -3])
    # Between two numbers of half the one with an odd significand.
    assert result.view(np.float16)[6] == np.float16(-2.501953125)

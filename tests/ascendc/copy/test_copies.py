"""DataCopy and DataCopyPad in their forms, against index arrays; atomic updates by blocks."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.ascendc.kernels import KernelError, run

pytestmark = [pytest.mark.torch, pytest.mark.build]

SOURCE = Path(__file__).with_name("copies.cpp")
BYTES = 16384
MARK = 0x7777

Array = np.ndarray[Any, Any]


class Padded(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_int32)
        for name in (
            "count",
            "bytes",
            "src_gap",
            "dst_gap",
            "pads",
            "left",
            "right",
            "value",
            "in_register",
        )
    )


def memories(dtype: str = "int16") -> tuple[Array, Array]:
    """Return a source of different elements and a destination that shows what was not written."""
    count = BYTES // np.dtype(dtype).itemsize
    return np.arange(count).astype(dtype), np.full(count, MARK).astype(dtype)


def launch(
    kernel: str,
    source: Array,
    result: Array,
    *arguments: Any,  # noqa: ANN401  # each kernel's own
    checks: bool = True,
) -> None:
    memories = [torch.from_numpy(source), torch.from_numpy(result)]
    run(SOURCE, kernel, [*memories, *arguments], checks=checks)


@pytest.mark.parametrize("kernel", ["strided_in", "strided_out"])
@pytest.mark.parametrize(
    ("count", "length", "src_gap", "dst_gap"),
    [(1, 8, 0, 0), (2, 3, 1, 2), (5, 1, 0, 3), (0, 4, 1, 1), (3, 0, 1, 1)],
)
def test_runs_of_blocks_with_gaps(
    kernel: str, count: int, length: int, src_gap: int, dst_gap: int
) -> None:
    source, result = memories()
    expected = result.copy()
    for run_number in range(count):
        to, start = (run_number * (length + gap) * 16 for gap in (dst_gap, src_gap))
        expected[to : to + length * 16] = source[start : start + length * 16]
    launch(kernel, source, result, count, length, src_gap, dst_gap)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("count", [16, 100, 15])
def test_a_contiguous_copy_moves_whole_blocks(count: int) -> None:
    source, result = memories()
    whole = count // 16 * 16
    if count != whole:
        with pytest.raises(KernelError, match=f"count takes {2 * count} bytes"):
            launch("contiguous_in", source, result, count)
    launch("contiguous_in", source, result, count, checks=False)
    np.testing.assert_array_equal(result[:whole], source[:whole])
    assert (result[whole:] == MARK).all()


# pads, left, right, in the register: with a value, from the register, without either
PADDINGS = [(1, 2, 3, 0), (1, 0, 12, 0), (0, 0, 12, 1), (1, 0, 0, 0), (0, 0, 0, 0)]


@pytest.mark.parametrize(("pads", "left", "right", "in_register"), PADDINGS)
def test_a_padded_run_is_filled_to_a_whole_block(
    pads: int, left: int, right: int, in_register: int
) -> None:
    source, result = memories()
    count, elements, value = 3, 21, -5
    case = Padded(count, 2 * elements, 6, 1, pads, left, right, value, in_register)
    launch("padded_in", source, result, case)
    filled = -(-(left + elements + right) // 16) * 16
    expected = np.full_like(result, MARK)
    for number in range(count):
        start, to = number * (elements + 3), number * (filled + 16)
        data = source[start : start + elements]
        filler = value if left or right else data[0]
        expected[to : to + filled] = filler
        expected[to + left : to + left + elements] = data
    np.testing.assert_array_equal(result, expected)


def test_a_run_without_a_padding_value_leaves_the_rest_to_chance() -> None:
    source, result = memories()
    launch("padded_in", source, result, Padded(1, 42, 0, 0, 0, 2, 3, 0, 0))
    np.testing.assert_array_equal(result[2:23], source[:21])


def test_padded_runs_go_out_without_their_padding() -> None:
    source, result = memories()
    launch("padded_out", source, result, Padded(3, 42, 1, 6))
    expected = np.full_like(result, MARK)
    for number in range(3):
        expected[number * 24 : number * 24 + 21] = source[number * 48 : number * 48 + 21]
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("bytes_", "left", "text"),
    [(41, 0, "multiple of the element's 2"), (42, 17, "32 at most"), (1 << 20, 0, "DataCopyPad")],
)
def test_what_padding_cannot_do_is_refused(bytes_: int, left: int, text: str) -> None:
    source, result = memories()
    with pytest.raises(KernelError, match=text):
        launch("padded_in", source, result, Padded(1, bytes_, 0, 0, 1, left))


class Nd2Nz(ctypes.Structure):
    _fields_ = tuple((f"field{i}", ctypes.c_uint16) for i in range(8))


def test_rows_become_parts_of_32_bytes() -> None:
    source, result = memories()
    matrices, rows, columns = 2, 3, 24
    launch("rows_to_parts", source, result, Nd2Nz(matrices, rows, columns, 144, 48, 11, 2, 96 * 4))
    expected = np.full_like(result, MARK)
    for matrix in range(matrices):
        for row in range(rows):
            padded = np.zeros(32, np.int16)
            padded[:columns] = source[matrix * 144 + row * 48 :][:columns]
            for number, values in enumerate(padded.reshape(2, 16)):
                to = matrix * 96 * 4 + number * 11 * 16 + row * 2 * 16
                expected[to : to + 16] = values
    np.testing.assert_array_equal(result, expected)


class Nz2Nd(ctypes.Structure):
    _fields_ = tuple((f"field{i}", ctypes.c_uint16) for i in range(7))


def test_parts_become_rows() -> None:
    source, result = memories("float32")
    launch("parts_to_rows", source, result, Nz2Nd(2, 4, 32, 1, 4, 144, 40))
    expected = np.full_like(result, MARK)
    for matrix in range(2):
        parts = source[matrix * 256 :][:128].reshape(2, 4, 16)
        for row in range(4):
            to = matrix * 40 + row * 144
            expected[to : to + 32] = parts[:, row].reshape(-1)
    np.testing.assert_array_equal(result, expected)


def test_slices() -> None:
    source, result = memories("float32")
    launch("slices", source, result)
    rows = source[: 3 * 87].reshape(3, 87)[::2]
    expected = np.concatenate([rows[:, 16:40], rows[:, 47:71]], axis=1)
    np.testing.assert_array_equal(result[:96].reshape(2, 48), expected)
    assert (result[96:] == MARK).all()


TYPES = [torch.float16, torch.float32, torch.int8, torch.int16, torch.int32, torch.bfloat16]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("operation", "expected"), [(0, 6.0), (1, 5.0), (2, 1.0)])
def test_blocks_update_the_same_elements(
    dtype: torch.dtype, operation: int, expected: float
) -> None:
    count, blocks = 100, 5
    source = torch.ones(BYTES // dtype.itemsize, dtype=dtype)
    result = torch.full((count + 1,), 1 if operation == 0 else 5, dtype=dtype)
    run(SOURCE, "atomic", [source, result, TYPES.index(dtype), operation, count], blocks=blocks)
    assert (result[:count] == expected).all()
    assert result[count] == (1 if operation == 0 else 5)

"""Reductions of repeats, blocks, pairs and of all elements, under new and former names."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.ascendc.kernels import run
from tests.ascendc.vector.lanes import lane_indices

pytestmark = [pytest.mark.torch, pytest.mark.build]

SOURCE = Path(__file__).with_name("rearrange.cpp")
IMAGE, FIRST = 32768, 8192
DTYPES = [np.float16, np.float32]
WORDS = [np.uint16, np.uint32]
SUM, MAX, MIN = range(3)
REPEATS, BLOCKS, PAIRS, ALL, ALL_REPEATS, OLD_REPEATS, OLD_BLOCKS, OLD_PAIRS, OLD_SUM = range(9)
VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX = range(4)

Array = np.ndarray[Any, Any]


class Case(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_int32)
        for name in (
            "type",
            "kind",
            "what",
            "order",
            "count",
            "repeats",
            "dst_stride",
            "src_block",
            "src_repeat",
            "index",
        )
    )


def source(kind: int) -> Array:
    # Small whole numbers: their sums are exact in any order, and there are ties.
    return np.random.default_rng(kind).integers(-8, 9, 4096).astype(DTYPES[kind])


def launch(case: Case) -> Array:
    data = np.full(IMAGE, 0xEE, np.uint8)
    values = source(case.type).view(np.uint8)
    data[FIRST : FIRST + 8192] = values[:8192]
    run(SOURCE, "reduce", [torch.from_numpy(data), case], checks=True)
    return data


def rows_of(case: Case) -> Array:
    dtype = np.dtype(DTYPES[case.type])
    lanes = 256 // dtype.itemsize
    index = lane_indices(dtype.itemsize, lanes, case.repeats, case.src_block, case.src_repeat)
    return source(case.type)[index]


FUNCTIONS: list[Any] = [np.sum, np.max, np.min]
POSITIONS: list[Any] = [None, np.argmax, np.argmin]


@pytest.mark.parametrize("dtype", [0, 1])
@pytest.mark.parametrize("kind", [SUM, MAX, MIN])
@pytest.mark.parametrize("order", [VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX])
@pytest.mark.parametrize(("block", "repeat", "stride"), [(1, 8, 1), (2, 18, 3)])
def test_each_repeat_gives_a_result(
    dtype: int, kind: int, order: int, block: int, repeat: int, stride: int
) -> None:
    case = Case(dtype, kind, REPEATS, order, 50, 3, stride, block, repeat)
    data = launch(case)
    rows = rows_of(case)[:, :50]
    values = FUNCTIONS[kind](rows, axis=1).astype(DTYPES[dtype])
    if kind == SUM or order == ONLY_VALUE:
        got = data.view(DTYPES[dtype])[: 3 * stride : stride]
        np.testing.assert_array_equal(got, values)
        return
    index = POSITIONS[kind](rows, axis=1)
    if order == ONLY_INDEX:
        np.testing.assert_array_equal(data.view(np.uint32)[: 3 * stride : stride], index)
        return
    pairs = data.view(DTYPES[dtype])[: 6 * stride].reshape(3 * stride, 2)[::stride]
    words = data.view(WORDS[dtype])[: 6 * stride].reshape(3 * stride, 2)[::stride]
    np.testing.assert_array_equal(pairs[:, order], values)
    np.testing.assert_array_equal(words[:, 1 - order], index)


@pytest.mark.parametrize("dtype", [0, 1])
@pytest.mark.parametrize("kind", [SUM, MAX, MIN])
def test_each_block_gives_a_result_where_a_lane_takes_part(dtype: int, kind: int) -> None:
    lanes = 20
    case = Case(dtype, kind, BLOCKS, 0, lanes, 2, 1, 1, 8)
    data = launch(case)
    per_block = 16 if dtype == 0 else 8
    got = data.view(DTYPES[dtype])[:16].reshape(2, 8)
    blocks = -(-lanes // per_block)
    rows = rows_of(case)[:, :lanes]
    for block in range(blocks):
        expected = FUNCTIONS[kind](rows[:, block * per_block : (block + 1) * per_block], axis=1)
        np.testing.assert_array_equal(got[:, block], expected)
    assert (got[:, blocks:].view(WORDS[dtype]) == [0xEEEE, 0xEEEEEEEE][dtype]).all()


@pytest.mark.parametrize("dtype", [0, 1])
def test_each_pair_gives_its_sum(dtype: int) -> None:
    case = Case(dtype, SUM, PAIRS, 0, 33, 2, 1, 1, 8)
    data = launch(case)
    lanes = 128 if dtype == 0 else 64
    rows = rows_of(case).copy()
    rows[:, 33:] = 0
    got = data.view(DTYPES[dtype])[:lanes].reshape(2, lanes // 2)
    np.testing.assert_array_equal(got[:, :17], rows.reshape(2, -1, 2).sum(axis=2)[:, :17])
    assert (got[:, 17:].view(WORDS[dtype]) == [0xEEEE, 0xEEEEEEEE][dtype]).all()


@pytest.mark.parametrize("dtype", [0, 1])
@pytest.mark.parametrize("kind", [SUM, MAX, MIN])
@pytest.mark.parametrize("count", [1, 63, 64, 1000, 2048])
def test_all_elements_give_one_result(dtype: int, kind: int, count: int) -> None:
    data = launch(Case(dtype, kind, ALL, 0, count, index=1))
    values = source(dtype)[:count]
    got = data.view(DTYPES[dtype])
    assert got[0] == FUNCTIONS[kind](values.astype(np.float32))
    assert got[16] == got[0]  # the special register
    if kind != SUM:
        assert data.view(WORDS[dtype])[1] == POSITIONS[kind](values)


@pytest.mark.parametrize("kind", [SUM, MAX])
def test_all_elements_of_masked_repeats_give_one_result(kind: int) -> None:
    case = Case(1, kind, ALL_REPEATS, 0, 40, 5, 1, 1, 9, 1)
    data = launch(case)
    rows = rows_of(case)[:, :40]
    got = data.view(np.float32)
    assert got[0] == FUNCTIONS[kind](rows)
    if kind == MAX:
        repeat, lane = np.unravel_index(np.argmax(rows), rows.shape)
        assert data.view(np.uint32)[1] == repeat * 64 + lane


@pytest.mark.parametrize(
    ("what", "kind", "new"),
    [
        (OLD_REPEATS, SUM, REPEATS),
        (OLD_REPEATS, MAX, REPEATS),
        (OLD_BLOCKS, SUM, BLOCKS),
        (OLD_BLOCKS, MAX, BLOCKS),
        (OLD_PAIRS, SUM, PAIRS),
        (OLD_SUM, SUM, REPEATS),
    ],
)
def test_a_former_name_does_what_the_new_one_does(what: int, kind: int, new: int) -> None:
    former, now = (
        launch(Case(1, kind, which, VALUE_INDEX, 64, 4, 1, 1, 8)) for which in (what, new)
    )
    np.testing.assert_array_equal(former, now)


def test_a_sum_of_half_is_a_tree_of_rounded_sums() -> None:
    values = np.random.default_rng(9).normal(0, 100, 128).astype(np.float16)
    data = np.full(IMAGE, 0xEE, np.uint8)
    data[FIRST : FIRST + 256] = values.view(np.uint8)
    run(SOURCE, "reduce", [torch.from_numpy(data), Case(0, SUM, REPEATS, 0, 128, 1, 1, 1, 8)])
    tree = values
    while len(tree) > 1:
        tree = tree[::2] + tree[1::2]
    assert data.view(np.float16)[0] == tree[0]

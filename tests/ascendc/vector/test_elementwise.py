"""Instructions that compute lane by lane, against numpy, in all call forms."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
import torch

from tests.ascendc.kernels import KernelError, compile_kernel, run
from tests.ascendc.vector.lanes import active, lane_indices

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.torch, pytest.mark.build]

SOURCE = Path(__file__).with_name("elementwise.cpp")
BYTES = 16384  # of each operand
TYPES: dict[str, Any] = {
    "half": np.float16,
    "float": np.float32,
    "int16": np.int16,
    "int32": np.int32,
}
UNSIGNED: dict[str, Any] = {"uint16": np.uint16, "uint32": np.uint32}
NUMBERS = {name: number for number, name in enumerate([*TYPES, *UNSIGNED])}
FLOATS = ("half", "float")
FOUR = tuple(TYPES)
SHIFTED = ("int16", "int32", "uint16", "uint32")
COUNT, FIRST, BITS, REGISTER, COUNTER = range(5)
# Results of functions may differ from numpy's by a unit in the last place; the rest is exact.
LAST_PLACE = {np.float16: 1e-3, np.float32: 2e-7}

Array = np.ndarray[Any, Any]


class Case(ctypes.Structure):
    _fields_ = (
        ("operation", ctypes.c_int32),
        ("type", ctypes.c_int32),
        ("form", ctypes.c_int32),
        ("count", ctypes.c_int32),
        ("repeats", ctypes.c_int32),
        ("block_strides", ctypes.c_int32 * 3),
        ("repeat_strides", ctypes.c_int32 * 3),
        ("scalar", ctypes.c_float),
        ("mask", ctypes.c_uint64 * 2),
    )


class Form(NamedTuple):
    """One way to call: how the lanes are given."""

    name: str
    number: int
    elements: int = 0
    repeats: int = 1
    blocks: tuple[int, int, int] = (1, 1, 1)
    strides: tuple[int, int, int] = (8, 8, 8)
    mask: int | tuple[int, int] = 0

    def indices(self, itemsize: int) -> tuple[Array, Array, Array]:
        """Return the elements of dst, src0 and src1 that are computed."""
        lanes = 256 // itemsize
        if self.number == COUNT:
            return (np.arange(self.elements),) * 3
        repeats = -(-self.elements // lanes) if self.number == COUNTER else self.repeats
        chosen = active(lanes, repeats, lanes if self.number == COUNTER else self.mask).copy()
        if self.number == COUNTER:
            chosen.reshape(-1)[self.elements :] = False
        dst, src0, src1 = (
            lane_indices(itemsize, lanes, repeats, block, stride)[chosen]
            for block, stride in zip(self.blocks, self.strides, strict=True)
        )
        return dst, src0, src1


FORMS = [
    Form("count", COUNT, elements=301),
    Form("first lanes", FIRST, repeats=3, mask=37),
    Form("all lanes", FIRST, repeats=4, mask=128),
    Form("strides", FIRST, repeats=3, mask=50, blocks=(2, 1, 3), strides=(20, 9, 24)),
    Form("bits", BITS, repeats=2, mask=(0x8421_F00F_0F0F_5555, 0x8000_0000_0000_0003)),
    Form("source repeated", BITS, repeats=3, mask=(0xFFFF, 0), blocks=(1, 0, 1), strides=(8, 0, 8)),
    Form("mask register", REGISTER, repeats=2, mask=(0x0F0F_0F0F_0F0F_0F0F, 0xFF)),
    Form("counter mode", COUNTER, elements=203, blocks=(1, 2, 1), strides=(8, 16, 8)),
    Form("nothing", FIRST, repeats=0, mask=128),
]


def wide(values: Array) -> Array:
    return values.astype(np.float32) if values.dtype == np.float16 else values


def relu(values: Array) -> Array:
    return np.where(values < 0, np.zeros_like(values), values)


class Lanes(NamedTuple):
    """The numbers of the lanes that are computed."""

    a: Array  # src0
    b: Array  # src1
    d: Array  # dst, before
    s: Any  # the scalar


def identity(o: Lanes) -> Array:
    return o.a


class Row(NamedTuple):
    """An instruction and its formula."""

    name: str
    number: int
    types: tuple[str, ...]
    formula: Callable[[Lanes], Array]
    exact: bool = True


UNARY = [
    Row("Abs", 0, FLOATS, lambda o: np.abs(o.a)),
    Row("Exp", 1, FLOATS, lambda o: np.exp(o.a), exact=False),
    Row("Ln", 2, FLOATS, lambda o: np.log(o.a), exact=False),
    Row("Sqrt", 3, FLOATS, lambda o: np.sqrt(o.a)),
    Row("Rsqrt", 4, FLOATS, lambda o: 1 / np.sqrt(o.a), exact=False),
    Row("Reciprocal", 5, FLOATS, lambda o: 1 / o.a),
    Row("Relu", 6, ("half", "float", "int32"), lambda o: relu(o.a)),
    Row("Not", 7, ("int16", "uint16"), lambda o: ~o.a),
]
BINARY = [
    Row("Add", 10, FOUR, lambda o: o.a + o.b),
    Row("Sub", 11, FOUR, lambda o: o.a - o.b),
    Row("Mul", 12, FOUR, lambda o: o.a * o.b),
    Row("Div", 13, FLOATS, lambda o: o.a / o.b),
    Row("Max", 14, FOUR, lambda o: np.maximum(o.a, o.b)),
    Row("Min", 15, FOUR, lambda o: np.minimum(o.a, o.b)),
    Row("And", 16, ("int16", "uint16"), lambda o: o.a & o.b),
    Row("Or", 17, ("int16", "uint16"), lambda o: o.a | o.b),
    Row("AddRelu", 18, ("half", "float", "int16"), lambda o: relu(o.a + o.b)),
    Row("SubRelu", 19, ("half", "float", "int16"), lambda o: relu(o.a - o.b)),
    Row("FusedMulAdd", 20, FLOATS, lambda o: o.a * o.d + o.b),
    Row("MulAddRelu", 21, FLOATS, lambda o: relu(o.a * o.d + o.b)),
    Row("MulAddDst", 40, FLOATS, lambda o: o.a * o.b + o.d),
]
SCALAR = [
    Row("Adds", 30, FOUR, lambda o: o.a + o.s),
    Row("Muls", 31, FOUR, lambda o: o.a * o.s),
    Row("Maxs", 32, FOUR, lambda o: np.maximum(o.a, o.s)),
    Row("Mins", 33, FOUR, lambda o: np.minimum(o.a, o.s)),
    Row("LeakyRelu", 34, FLOATS, lambda o: np.where(o.a >= 0, o.a, o.a * o.s)),
    Row("ShiftLeft", 35, ("uint16", "uint32"), lambda o: o.a << o.s),
    Row("ShiftRight", 36, SHIFTED, lambda o: o.a >> o.s),
    Row("Axpy", 41, FLOATS, lambda o: o.s * o.a + o.d),
]
ROWS = [*UNARY, *BINARY, *SCALAR]
CASES = [
    pytest.param(row, kind, form, id=f"{row.name}-{kind}-{form.name}")
    for row in ROWS
    for kind in row.types
    for form in FORMS
]


def values(kind: str, seed: int) -> Array:
    """Return an operand: floats where every function is defined, integers over their range."""
    rng = np.random.default_rng(seed)
    dtype = {**TYPES, **UNSIGNED}[kind]
    count = BYTES // np.dtype(dtype).itemsize
    if kind in FLOATS:
        floats: Array = rng.uniform(0.1, 4, count).astype(dtype)
        return floats
    limits = np.iinfo(dtype)
    integers: Array = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
    return integers


def signed(kind: str, row: Row, seed: int) -> Array:
    positive = {"Ln", "Sqrt", "Rsqrt"}
    result = values(kind, seed)
    if kind in FLOATS and row.name not in positive:
        result[::2] = -result[::2]
    return result


def launch(row: Row, kind: str, form: Form, scalar: float, operands: list[Array]) -> Array:
    image = torch.from_numpy(np.concatenate([each.view(np.uint8) for each in operands]))
    mask = form.mask if isinstance(form.mask, tuple) else (form.mask, 0)
    case = Case(
        row.number,
        NUMBERS[kind],
        form.number,
        form.elements,
        form.repeats,
        form.blocks,
        form.strides,
        scalar,
        mask,
    )
    run(SOURCE, "elementwise", [image, case])
    return image[:BYTES].numpy().view(operands[0].dtype)


@pytest.mark.parametrize(("row", "kind", "form"), CASES)
def test_an_instruction_computes_its_formula_in_the_lanes_of_its_mask(
    row: Row, kind: str, form: Form
) -> None:
    dst, src0, src1 = (signed(kind, row, seed) for seed in (1, 2, 3))
    scalar = 3 if row.name.startswith("Shift") else 1.5 if kind in FLOATS else 5
    to, first, second = form.indices(dst.itemsize)
    expected = dst.copy()
    scalar_value = np.float32(scalar) if kind in FLOATS else dst.dtype.type(scalar)
    with np.errstate(all="ignore"):
        result = row.formula(
            Lanes(wide(src0[first]), wide(src1[second]), wide(dst[to]), scalar_value)
        )
        expected[to] = result.astype(dst.dtype)
    got = launch(row, kind, form, scalar, [dst, src0, src1])
    if row.exact:
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=LAST_PLACE[dst.dtype.type])


def test_a_shift_to_the_left_keeps_the_sign() -> None:
    dst, src0, src1 = (values("int16", seed) for seed in (1, 2, 3))
    src0[:2] = np.array([0b1010101010101010, 0b0101010101010101], np.uint16).view(np.int16)
    form = Form("count", COUNT, elements=2)
    got = launch(Row("ShiftLeft", 35, (), identity), "int16", form, 1, [dst, src0, src1])
    expected = np.array([0b1101010101010100, 0b0010101010101010], np.uint16)
    np.testing.assert_array_equal(got[:2].view(np.uint16), expected)


def test_a_shift_to_the_right_rounds_where_it_is_asked_to() -> None:
    dst, src0, src1 = (values("int16", seed) for seed in (1, 2, 3))
    src0[:4] = [17, 15, -17, 16]
    form = Form("bits", BITS, mask=(0xF, 0))
    row = Row("ShiftRight", 50, (), identity)
    got = launch(row, "int16", form, 5, [dst, src0, src1])
    np.testing.assert_array_equal(got[:4], [1, 0, -1, 1])


@pytest.mark.parametrize(("number", "function"), [(51, np.divide), (52, np.add)])
def test_an_expression_computes_the_whole_tensor(
    number: int, function: Callable[[Array, Array], Array]
) -> None:
    operands = [values("float", seed) for seed in (1, 2, 3)]
    row = Row("expression", number, (), identity)
    got = launch(row, "float", FORMS[0], 0, operands)
    np.testing.assert_array_equal(got, function(operands[1], operands[2]))


REFUSED = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void refused(GM_ADDR) {
  AscendC::LocalTensor<int8_t> tensor(AscendC::TPosition::VECCALC, 0, 64);
  AscendC::Add(tensor, tensor, tensor, 64);
}
"""


def test_an_element_type_that_the_device_does_not_take_does_not_compile(tmp_path: Path) -> None:
    source = tmp_path / "refused.cpp"
    source.write_text(REFUSED)
    with pytest.raises(
        KernelError, match=r"does not take these element types .* docs/ascend_c_instructions\.md"
    ):
        compile_kernel(source)

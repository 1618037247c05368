"""Checks before a call: live kernels and the emitted C++ say the same, word for word."""

from __future__ import annotations

import operator as operators
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.live.dispatching import (  # loads the twin
    MARKS,
    NAMESPACE,
    defined,
    like,
    operator,
    plan,
    reference,
)

# isort: split
import torch
import torch_npu

import opwright as ow
from opwright.kit.derive import derive
from opwright.kit.emit import EmitOptions
from opwright.kit.emit.cpp import emit_cpp
from opwright.kit.live import _aclnn
from opwright.kit.packaging.cache import cache_folder
from opwright.kit.packaging.compile import Builder, compile_units, link
from opwright.kit.packaging.toolchain import cores, find_toolchain
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = MARKS


def declaration(namespace: str) -> ow.OperatorSet:
    """Return a set whose operators check all that can be checked."""
    ops = ow.OperatorSet(namespace)

    @ops.operator(
        "shaped(Tensor x, Tensor y, Tensor? z=None) -> Tensor",
        aclnn="aclnnChecksShaped(x, y, z, out)",
        shapes={"x": "*B, N, D", "y": "*B, D", "z": "N, 2 * D"},
        dtypes={"x": "float32 float16", "y": "x", "z": "int32"},
    )
    def shaped(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor | None = None) -> torch.Tensor:
        return x + y.sum() + (0 if z is None else z.sum())

    @ops.operator(
        "chosen(Tensor x, int k, float p=0.5, str mode='sum', int? axis=None, *, "
        "int[] sizes=[1, 2], str? name=None) -> Tensor",
        aclnn="aclnnChecksChosen(x, k, p, out)",
        requires=[
            "1 <= k <= x.shape[-1] // 2",
            "0.0 < p < 0.25 * k",
            "p != 0.375",
            "mode in ('sum', 'mean')",
            "axis in (0, 1)",
            "len(sizes) == 2",
            "sizes[-1] % 2 == 0",
            "name == 'a\"b'",
        ],
    )
    def chosen(x: torch.Tensor, k: int, p: float = 0.5, *_: object, **__: object) -> torch.Tensor:
        return x * k + p

    @ops.operator(
        "grouped(Tensor x, int groups) -> Tensor",
        aclnn="aclnnChecksGrouped(x, groups, out)",
        requires=["x.shape[0] // groups > 1"],
    )
    def grouped(x: torch.Tensor, groups: int) -> torch.Tensor:
        return x / groups

    @ops.operator(
        "halves(Tensor x, float p) -> Tensor",
        aclnn="aclnnChecksHalves(x, p, out)",
        requires=["p in (0.5, 1.0)"],
    )
    def halves(x: torch.Tensor, p: float) -> torch.Tensor:
        return x * p

    @ops.operator(
        "listed(Tensor x, Tensor[] list) -> Tensor",
        aclnn="aclnnChecksListed(x, list, out)",
        dtypes={"x": "list", "list": "float32 bfloat16"},
    )
    def listed(x: torch.Tensor, list: list[torch.Tensor]) -> torch.Tensor:  # noqa: A002 - a hard name
        return x + sum(each.sum() for each in list)

    @ops.operator(
        "typed(Tensor x, Tensor? y=None, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)",
        aclnn="aclnnChecksTyped(x, y, out)",
        dtypes={"out": "dtype or y"},
    )
    def typed(
        x: torch.Tensor,
        y: torch.Tensor | None = None,
        dtype: torch.dtype | None = None,
        *,
        out: torch.Tensor,
    ) -> torch.Tensor:
        return out.copy_(x if y is None else x + y.sum().to(dtype))

    return ops


LIVE, BUILT = "opwright_checks", "opwright_checks_built"


def maker(device: str) -> Callable[..., torch.Tensor]:
    """Return what makes tensors on a device."""

    def make(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype, device=device)

    return make


# Operator, arguments, and what is said behind `namespace::operator: `; a TypeError is about dtypes.
FAILING: list[tuple[str, Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]], str]] = [
    (
        "shaped",
        lambda t: ((t(2), t(2)), {}),
        "argument 'x' has 1 axes; it needs at least 2, as in '*B, N, D'",
    ),
    (
        "shaped",
        lambda t: ((t(2, 3), t(3), t(2, dtype=torch.int32)), {}),
        "argument 'z' has 1 axes; it needs 2, as in 'N, 2 * D'",
    ),
    (
        "shaped",
        lambda t: ((t(5, 2, 3), t(5, 4)), {}),
        "axis -1 of argument 'y' has size 4; '*B, D' asks for 3",
    ),
    (
        "shaped",
        lambda t: ((t(2, 3), t(3), t(2, 3, dtype=torch.int32)), {}),
        "axis 1 of argument 'z' has size 3; 'N, 2 * D' asks for 6",
    ),
    (
        "shaped",
        lambda t: ((t(5, 4, 2, 3), t(4, 5, 3)), {}),
        "argument 'y' has axes [4, 5]; '*B, D' asks for [5, 4]",
    ),
    (
        "shaped",
        lambda t: ((t(2, 3), t(1, 3)), {}),
        "argument 'y' has axes [1]; '*B, D' asks for []",
    ),
    (
        "shaped",
        lambda t: ((t(2, 3, dtype=torch.int8), t(3)), {}),
        "argument 'x' has dtype Char; allowed: [Float, Half]",
    ),
    (
        "shaped",
        lambda t: ((t(2, 3), t(3, dtype=torch.float16)), {}),
        "argument 'y' has dtype Half; allowed: [Float]",
    ),
    (
        "shaped",
        lambda t: ((t(2, 3), t(3), t(2, 6)), {}),
        "argument 'z' has dtype Float; allowed: [Int]",
    ),
    (
        "listed",
        lambda t: ((t(2), [t(1), t(1, dtype=torch.complex64)]), {}),
        "argument 'list' has dtype ComplexFloat; allowed: [Float, BFloat16]",
    ),
    (
        "listed",
        lambda t: ((t(2, dtype=torch.bool), [t(1)]), {}),
        "argument 'x' has dtype Bool; allowed: [Float]",
    ),
    (
        "typed",
        lambda t: ((t(2), t(2)), {"out": t(2, dtype=torch.float64)}),
        "argument 'out' has dtype Double; allowed: [Float]",
    ),
    (
        "typed",
        lambda t: ((t(2), t(2), torch.int64), {"out": t(2, dtype=torch.uint8)}),
        "argument 'out' has dtype Byte; allowed: [Long]",
    ),
    (
        "chosen",
        lambda t: ((t(9), 5), {}),
        "'1 <= k <= x.shape[-1] // 2' does not hold: 5 and 4",
    ),
    (
        "chosen",
        lambda t: ((t(9), 0), {}),
        "'1 <= k <= x.shape[-1] // 2' does not hold: 1 and 0",
    ),
    (
        "chosen",
        lambda t: ((t(9), 3, 1.0), {}),
        "'0.0 < p < 0.25 * k' does not hold: 1 and 0.75",
    ),
    (
        "chosen",
        lambda t: ((t(9), 3, -1e-07), {}),
        "'0.0 < p < 0.25 * k' does not hold: 0 and -1e-07",
    ),
    ("chosen", lambda t: ((t(9), 3, 0.375), {}), "'p != 0.375' does not hold: 0.375 and 0.375"),
    (
        "chosen",
        lambda t: ((t(9), 3, float("nan")), {}),
        "'0.0 < p < 0.25 * k' does not hold: 0 and nan",
    ),
    (
        "chosen",
        lambda t: ((t(9), 3, 0.5, "max"), {}),
        "argument 'mode' is max; 'mode in ('sum', 'mean')' allows sum, mean",
    ),
    (
        "chosen",
        lambda t: ((t(9), 3, 0.5, "sum", 2), {}),
        "argument 'axis' is 2; 'axis in (0, 1)' allows 0, 1",
    ),
    (
        "chosen",
        lambda t: ((t(9), 3), {"sizes": [2, 4, 6]}),
        "'len(sizes) == 2' does not hold: 3 and 2",
    ),
    (
        "chosen",
        lambda t: ((t(9), 3), {"sizes": [2, -3]}),
        "'sizes[-1] % 2 == 0' does not hold: 1 and 0",
    ),
    (
        "chosen",
        lambda t: ((t(9), 3), {"name": "b"}),
        "argument 'name' is b; 'name == 'a\"b'' allows a\"b",
    ),
    (
        "halves",
        lambda t: ((t(9), 1.5), {}),
        "argument 'p' is 1.5; 'p in (0.5, 1.0)' allows 0.5, 1",
    ),
]
failing = pytest.mark.parametrize(
    ("name", "arguments", "text"), FAILING, ids=[r[2] for r in FAILING]
)


def error_of(text: str) -> type[Exception]:
    """Return what is raised."""
    return TypeError if "has dtype" in text else ValueError


def raised(function: Callable[..., object], arguments: Any, device: str) -> tuple[type, str]:  # noqa: ANN401 - a row's
    """Return the exception of a call and its first line; C++ adds where it was raised."""
    args, kwargs = arguments(maker(device))
    with pytest.raises(Exception, match="::") as caught:
        function(*args, **kwargs)
    return caught.type, str(caught.value).splitlines()[0]


@pytest.fixture(scope="module")
def live() -> Iterator[ow.OperatorSet]:
    ops = declaration(LIVE)
    with ops.load():
        yield ops


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - torch.ops has no types
    folder = tmp_path_factory.mktemp("checks")
    for path, text in emit_cpp(
        derive(declaration(BUILT).freeze()), EmitOptions(package="checks", torch=installed_minor())
    ).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return load_built(folder)


def load_built(folder: Path) -> Any:  # noqa: ANN401 - torch.ops has no types
    """Compile emitted C++, load it, and return the namespace."""
    builder = Builder(
        toolchain=find_toolchain({**os.environ, "CXXFLAGS": "-Werror"}, installed_minor()),
        sources=(folder / "csrc",),
        cache=cache_folder(os.environ),
        stable_abi=False,
    )
    units = sorted((folder / "csrc").glob("*.cpp"))
    compiled = compile_units(builder, units, cores(), lambda _: None)
    library = link(builder, [each.object for each in compiled], "libchecks.so").file
    torch.ops.load_library(str(library))  # type: ignore[no-untyped-call] # torch's
    return getattr(torch.ops, BUILT)


@failing
@pytest.mark.parametrize("device", ["npu", "meta", "cpu"])
def test_live(live: ow.OperatorSet, name: str, arguments: Any, text: str, device: str) -> None:  # noqa: ANN401
    got = raised(live.load().overload(name), arguments, device)
    assert got == (error_of(text), f"{LIVE}::{name}: {text}")


@pytest.mark.build
@failing
@pytest.mark.parametrize("device", ["npu", "meta"])
def test_built(built: Any, name: str, arguments: Any, text: str, device: str) -> None:  # noqa: ANN401
    got = raised(getattr(built, name), arguments, device)
    assert got == (error_of(text), f"{BUILT}::{name}: {text}")


@pytest.mark.parametrize("device", ["npu", "meta", "cpu"])
def test_what_holds_passes(live: ow.OperatorSet, device: str) -> None:
    t, loaded = maker(device), live.load()
    assert loaded.overload("shaped")(t(4, 2, 3), t(4, 3)).shape == (4, 2, 3)
    assert loaded.overload("shaped")(t(2, 3), t(3), t(2, 6, dtype=torch.int32)).shape == (2, 3)
    assert loaded.overload("chosen")(t(9), 3, 0.5, "mean", 1, name='a"b').shape == (9,)
    assert loaded.overload("halves")(t(9), 0.5).shape == (9,)
    assert loaded.overload("listed")(t(2), [t(1), t(2)]).shape == (2,)
    if device != "npu":  # an aclnn function gets an empty list as a null pointer
        assert loaded.overload("listed")(t(2), []).shape == (2,)  # no tensor decides x's dtype
    assert loaded.overload("typed")(t(2), out=t(2)).shape == (2,)


@pytest.mark.parametrize("device", ["npu", "meta", "cpu"])
def test_a_division_by_zero_is_a_value_error(live: ow.OperatorSet, device: str) -> None:
    with pytest.raises(ValueError, match="the rule for an output's size divides 8 by 0"):
        live.load().overload("grouped")(maker(device)(8), 0)


def test_nothing_is_allocated_or_called_where_a_check_fails(live: ow.OperatorSet) -> None:
    x = torch.zeros(8, device="npu")
    torch_npu.npu.synchronize()
    before = torch_npu.npu.memory_stats()["allocation.all.allocated"]
    with pytest.raises(ValueError, match="does not hold"):
        live.load().overload("chosen")(x, 5)
    assert torch_npu.npu.memory_stats()["allocation.all.allocated"] == before


def test_a_tensor_that_is_not_defined_is_not_given() -> None:
    texts = ("argument 'x' has ", " axes; it needs 3")
    rule = plan("aclnnChecksNone", ONLY_OUT, [like(1)]) | {
        "checks": ((("rank", 0, 3, False, texts), (0,)),)
    }
    with (
        reference("aclnnChecksNone(aclTensor *out)", lambda out: out.zero_()),
        operator("(Tensor? x, Tensor y) -> Tensor", rule) as op,
    ):
        y = torch.ones(2, device="npu")
        assert op(None, y).cpu().tolist() == [0, 0]
        with pytest.raises(ValueError, match=r"argument 'x' has 1 axes; it needs 3$"):
            op(y, y)


ONLY_OUT = (("aclTensor", ("output", 0)),)
OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "//": operators.floordiv,
    "%": operators.mod,
    "min": min,
    "max": max,
}
floats = st.floats(-1000, 1000, width=32)


@given(left=floats, right=floats.filter(lambda value: abs(value) > 1e-3))
def test_floats_are_computed_as_python_does(left: float, right: float) -> None:
    checks = tuple(
        (
            (
                "value",
                (word, ("arg", 1), ("const", right)),
                "==",
                ("const", float(OPERATIONS[word](left, right))),
                (f"{word}: ", " and ", ""),
            ),
            (1,),
        )
        for word in OPERATIONS
    )
    rule = plan("aclnnChecksFloat", ONLY_OUT, [like(0)]) | {"checks": checks}
    with (
        reference("aclnnChecksFloat(aclTensor *out)", lambda out: out.zero_()),
        operator("(Tensor x, float p) -> Tensor", rule) as op,
    ):
        op(torch.ones(1, device="npu"), left)


TEXTS = ("", "")
GOOD = plan("aclnnChecksFloat", ONLY_OUT, [like(0)])


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ((("rank", 0, 1, False, TEXTS),), r"\['checks'\]\[0\]: .* has fewer than 2 entries"),
        ((("ranks", 0, 1, False, TEXTS), ()), "no check is called 'ranks'"),
        ((("rank", 0, 1, TEXTS), ()), "does not have 5 entries"),
        ((("rank", 1, 1, False, TEXTS), ()), "argument 'p' of type float is not a tensor"),
        ((("rank", 0, 1, False, TEXTS), (7,)), "there is no argument 7"),
        ((("rank", 0, 1, False, ("", "", "")), ()), r"\[4\]: has 3 texts; around 1 value"),
        ((("rank", 0, 1, False, 3), ()), "3 is not a tuple of texts"),
        ((("dtype", 0, ("float33",), ("", "", "")), ()), "no dtype 'float33'"),
        ((("size", 0, 0, ("const", 0.5), ("", "", "")), ()), "0.5 is not a number"),
        ((("size", 0, 0, ("arg", 1), ("", "", "")), ()), "'p' of type float is not an int"),
        ((("value", 1, "=", 1, ("", "", "")), ()), "no comparison is called '='"),
        ((("member", 0, (1,), TEXTS), ()), "'x' of type Tensor is not an int, a float or a text"),
        ((("member", 1, ("a",), TEXTS), ()), "'a' is not a number"),
    ],
)
def test_checks_that_cannot_work(check: object, message: str) -> None:
    with (
        defined("(Tensor x, float p) -> Tensor") as name,
        pytest.raises(ValueError, match=message),
    ):
        _aclnn.implement(NAMESPACE, name, GOOD | {"checks": (check,)})


def test_an_unknown_entry_is_refused() -> None:
    with (
        defined("(Tensor x, float p) -> Tensor") as name,
        pytest.raises(ValueError, match="no entry is called 'contigous'"),
    ):
        _aclnn.implement(NAMESPACE, name, GOOD | {"contigous": (0,)})

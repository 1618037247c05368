"""TorchAir's converters of live operators: when they come and go, and what is refused."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch

import opwright as ow
from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.twin, pytest.mark.compile]

NAMES = ("times", "add_", "_mutate_add_", "add_functional")


def declared(factor: int) -> ow.OperatorSet:
    """Return a set whose operator multiplies by a factor as well."""
    ops = ow.OperatorSet("converting")

    @ops.operator(
        "times(Tensor x, SymInt by=2, *, int? or_=None) -> Tensor",
        aclnn="aclnnTimes(x, by, or_ or 7, out)",
        samples=[ow.sample(x=ow.tensor(2, 3))],
    )
    def times(x: torch.Tensor, by: int = 2, *, or_: int | None = None) -> torch.Tensor:  # noqa: ARG001
        return x * by * factor

    @ops.operator("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", aclnn="aclnnAddTo(x, y)")
    def add_(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.add_(y)

    return ops


def import_torchair() -> Any:  # noqa: ANN401 - a module
    """Import TorchAir: at the top of this module it would be there before the operators."""
    return importlib.import_module("torchair")


def overloads() -> list[object]:
    """Return the operators of the set."""
    return [getattr(torch.ops.converting, name).default for name in NAMES]


def converters_of(operators: list[object]) -> list[bool]:
    """Say for each operator whether it has a converter."""
    return [hasattr(each, "_ge_converter") for each in operators]


def with_samples() -> list[str]:
    """Return our operators for which TorchAir has samples."""
    module = importlib.import_module("torchair._ge_concrete_graph.fx2ge_converter")
    names = map(str, module._declare_supported_converters())  # noqa: SLF001 - what TorchAir keeps
    return [name for name in names if "converting" in name]


def compiled(function: Callable[..., Any], *, dynamic: bool = False) -> Callable[..., Any]:
    """Compile a function with TorchAir, for the first time."""
    torch._dynamo.reset()  # noqa: SLF001
    torchair = import_torchair()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return torch.compile(function, backend=backend, dynamic=dynamic)


def tripled(x: torch.Tensor) -> Any:  # noqa: ANN401 - of torch.ops
    return torch.ops.converting.times(x, 3)


@pytest.mark.isolated
def test_converters_come_with_torchair_and_go_with_their_set() -> None:
    first = declared(1).load()
    assert converters_of(overloads()) == [False] * 4
    import_torchair()
    assert converters_of(overloads()) == [True] * 4
    assert with_samples() == ["converting.times.default"]
    kept = overloads()
    first.unload()
    assert converters_of(kept) == [False] * 4
    assert with_samples() == []


@pytest.mark.isolated
def test_converters_of_a_set_that_is_replaced_are_replaced() -> None:
    first = declared(1).load()
    x = torch.arange(3.0).to("npu")
    assert compiled(tripled)(x).tolist() == [0, 3, 6]
    second = declared(10).load()
    assert compiled(tripled)(x).tolist() == [0, 30, 60]
    kept = overloads()
    assert converters_of(kept) == [True] * 4
    second.unload()
    assert first.is_removed
    assert converters_of(kept) == [False] * 4
    assert with_samples() == []


@pytest.mark.isolated
def test_a_size_that_only_the_graph_knows_is_no_attribute() -> None:
    def by_its_size(x: torch.Tensor) -> Any:  # noqa: ANN401 - of torch.ops
        return torch.ops.converting.times(x, x.shape[0])

    with declared(1).load():
        known_late = "attribute 'by' of Times: got a size that is known only when the graph runs"
        with pytest.raises(RuntimeError, match=known_late):
            compiled(by_its_size, dynamic=True)(torch.arange(3.0).to("npu"))


@pytest.mark.isolated
def test_a_converter_with_other_parameters_is_refused() -> None:
    torchair = import_torchair()
    ops = ow.OperatorSet("converting")
    ops.declare(
        "times(Tensor x, int by=2) -> Tensor",
        converter=lambda x: torchair.ge.custom_op("Times", x, 2),
    )
    with pytest.raises(OpwrightError) as caught:
        ops.load()
    title, where, got = str(caught.value).splitlines()[:3]
    assert title == "OPW-E004 the converter takes other parameters than the operator"
    assert "operator converting::times, converter <lambda>" in where
    assert got.strip() == "got:     (x): too many positional arguments"

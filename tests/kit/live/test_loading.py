"""Loading and removing sets of operators: all of it, or nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.live.registered import state
from tests.kit.live.zoo import NAMESPACE, zoo  # loads the twin

# isort: split
import torch
from torch._dynamo.exc import Unsupported
from torch._dynamo.testing import CompileCounter

import opwright as ow
from opwright.kit.live.errors import (
    CppRuleError,
    RegistrationError,
    UnknownOperatorError,
    UnloadedError,
)
from opwright.kit.live.registration import end_library
from opwright.kit.validate import InvalidDeclarationError
from tests.twin.on_twin import printed, python

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.twin

PROGRAMS = Path(__file__).parent / "programs"  # each in a process that begins without torch


def small(namespace: str, **fields: Any) -> ow.OperatorSet:  # noqa: ANN401 - fields of an operator
    """Return a set with one operator."""
    ops = ow.OperatorSet(namespace)
    fields.setdefault("aclnn", f"aclnn{namespace.title().replace('_', '')}(x, out)")

    @ops.operator("doubled(Tensor x) -> Tensor", **fields)
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    return ops


def test_unloading_leaves_no_trace() -> None:
    before = state()
    loaded = zoo.load()
    during = state()
    assert f"{NAMESPACE}::axpy" in during["operators"]
    assert during["references"].keys() - before["references"].keys()
    torch.ops.opwright_zoo.axpy(torch.ones(2), torch.ones(2))
    torch.ops.opwright_zoo.biased(torch.ones(2, 2).to("npu"))
    loaded.unload()
    assert state() == before
    loaded.unload()
    assert state() == before
    assert loaded.is_removed


def test_a_with_block_unloads_and_loading_again_works() -> None:
    for _ in range(3):
        with zoo.load() as loaded:
            torch.testing.assert_close(
                loaded.overload("twice")(torch.ones(2)), torch.full((2,), 2.0)
            )
        assert loaded.is_removed


def test_a_call_loads() -> None:
    ops = small("opwright_by_call")
    assert ops.loaded is None
    operator = ops.freeze().operators[0]
    assert operator.reference is not None
    with ops.load() as loaded:
        assert ops.load() is loaded


def test_a_function_that_calls_an_operator_is_compiled_once() -> None:
    ops = ow.OperatorSet("opwright_compiled_once")

    @ops.operator("doubled(Tensor x) -> Tensor", aclnn=False)
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    counter = CompileCounter()
    with ops.load():
        step = torch.compile(lambda x: doubled(x) + 1, backend=counter, fullgraph=True)
        for _ in range(2):
            torch.testing.assert_close(step(torch.ones(2)), torch.full((2,), 3.0))
    torch.compiler.reset()
    assert counter.frame_count == 1


def adding(namespace: str) -> tuple[ow.OperatorSet, Callable[[torch.Tensor], torch.Tensor]]:
    """Return a set that is not loaded, and a function that calls an operator of it."""
    ops = ow.OperatorSet(namespace)

    @ops.operator("doubled(Tensor x) -> Tensor", aclnn=False)
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    return ops, lambda x: doubled(x) + 1


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_torch_compile_loads(device: str) -> None:
    ops, function = adding("opwright_in_trace")
    counter = CompileCounter()
    step = torch.compile(function, backend=counter, fullgraph=True)
    x = torch.ones(2, device=device)
    for again in (1, 2):
        for _ in range(2):
            torch.testing.assert_close(step(x), torch.full_like(x, 3))
        assert counter.frame_count == again
        assert ops.loaded is not None
        ops.loaded.unload()


def test_torch_export_loads() -> None:
    ops, function = adding("opwright_in_export")

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x)

    for strict in (False, True):
        program = torch.export.export(Model(), (torch.ones(2),), strict=strict)
        assert "torch.ops.opwright_in_export.doubled.default" in str(program)
        assert ops.loaded is not None
        ops.loaded.unload()
    torch.compiler.reset()


def test_torch_compile_says_what_loads_again() -> None:
    ops, function = adding("opwright_again_in_trace")
    with ops.load():
        ops.declare("tripled(Tensor x) -> Tensor", shapes={"out": ow.like("x")})
        step = torch.compile(function, backend="eager", fullgraph=True)
        with pytest.raises(Unsupported, match=r"call its load\(\) before"):
            step(torch.ones(2))
        with ops.load():
            torch.testing.assert_close(step(torch.ones(2)), torch.full((2,), 3.0))


def test_other_operators_of_the_namespace_stay() -> None:
    library: Any = torch.library.Library
    theirs = library("opwright_shared", "FRAGMENT")
    theirs.define("mine(Tensor x) -> Tensor")
    theirs.impl("mine", lambda x: x + 1, "CPU")
    try:
        small("opwright_shared").load().unload()
        got = torch.ops.opwright_shared.mine(torch.ones(1))
        torch.testing.assert_close(got, torch.full((1,), 2.0))
    finally:
        end_library(theirs)
        delattr(torch.ops, "opwright_shared")


def test_an_operator_of_something_else_is_not_replaced() -> None:
    library: Any = torch.library.Library
    theirs = library("opwright_taken", "FRAGMENT")
    theirs.define("doubled(Tensor x) -> Tensor")
    before = state()
    try:
        with pytest.raises(RegistrationError, match=r"OPW-L002(.|\n)*something else registered"):
            small("opwright_taken").load()
        assert state() == before
    finally:
        end_library(theirs)


def test_nothing_is_registered_after_an_error() -> None:
    before = state()
    with pytest.raises(InvalidDeclarationError, match="OPW-D010"):
        small("opwright_bad", backward={"x": "grad * nothing"}).load()
    with pytest.raises(CppRuleError, match="OPW-L003"):
        small("opwright_bad", shapes={"out": ow.cpp("x.sizes()")}).load()
    with pytest.raises(RegistrationError, match="OPW-L002"):
        small("opwright_bad", tags=("out",)).load()
    ops = small("opwright_bad")

    @ops.operator(
        "second(Tensor x, int n) -> Tensor",
        aclnn="aclnnSecond(x, aclTensorList n, out)",
    )
    def second(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    with pytest.raises((ValueError, InvalidDeclarationError)):
        ops.load()
    assert state() == before


def test_handles_say_what_is_wrong() -> None:
    with small("opwright_handles").load() as loaded:
        with pytest.raises(UnknownOperatorError, match=r"OPW-L005(.|\n)*'doubledd'(.|\n)*doubled"):
            loaded.overload("doubledd")
        stale = loaded.overload("doubled")
    with pytest.raises(UnloadedError, match="OPW-L004"):
        loaded.overload("doubled")
    assert stale is not None


def test_tags_say_what_the_declaration_says() -> None:
    with small("opwright_tags", deterministic=False, tags=("needs_fixed_stride_order",)).load():
        tags = torch.ops.opwright_tags.doubled.default.tags
    assert {str(tag) for tag in tags} == {
        "Tag.pt2_compliant_tag",
        "Tag.needs_fixed_stride_order",
        "Tag.nondeterministic_bitwise",
    }


def test_threads_load_once_and_call_at_once() -> None:
    ops = small("opwright_threads", backward="reference")
    barrier = threading.Barrier(8)

    def run(index: int) -> tuple[object, float]:
        barrier.wait()
        loaded = ops.load()
        x = torch.full((4,), float(index), requires_grad=True)
        for _ in range(20):
            result = loaded.overload("doubled")(x)
            result.sum().backward()
        on_device = loaded.overload("doubled")(x.detach().to("npu")).cpu()
        assert torch.equal(on_device, result.detach())
        return loaded, float(result.detach().sum())

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(run, range(8)))
    assert len({id(loaded) for loaded, _ in outcomes}) == 1
    assert [total for _, total in outcomes] == [8.0 * index for index in range(8)]
    ops.load().unload()


def test_sets_come_and_go_while_another_is_called() -> None:
    done = threading.Event()
    with small("opwright_steady", backward="reference").load() as steady:

        def call() -> int:
            count = 0
            while not done.is_set() or not count:
                x = torch.ones(2, requires_grad=True)
                steady.overload("doubled")(x).sum().backward()
                assert torch.equal(x.grad, torch.full((2,), 2.0))  # type: ignore[arg-type]
                count += 1
            return count

        with ThreadPoolExecutor(2) as pool:
            calls = [pool.submit(call) for _ in range(2)]
            for _ in range(10):
                small("opwright_coming").load().unload()
            done.set()
        assert all(each.result() for each in calls)


def test_npu_kernels_come_with_torch_npu() -> None:
    printed(python(PROGRAMS / "late_torch_npu.py", TORCH_DEVICE_BACKEND_AUTOLOAD="0"))


def test_torch_alone_is_enough() -> None:
    printed(python(PROGRAMS / "torch_alone.py", TORCH_DEVICE_BACKEND_AUTOLOAD="0"))


def test_an_operator_declared_after_a_call_is_loaded() -> None:
    ops = small("opwright_after_call")

    @ops.operator("first(Tensor x) -> Tensor", aclnn="aclnnAfterCallFirst(x, out)")
    def first(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert first(torch.ones(1)).item() == 2
    early = ops.loaded

    second = ops.operator("second(Tensor x) -> Tensor", aclnn="aclnnAfterCallSecond(x, out)")(
        lambda x: x + 2
    )

    assert second(torch.ones(1)).item() == 3
    assert first(torch.ones(1)).item() == 2
    assert early is not None
    assert not early.is_removed
    ops.load().unload()
    assert early.is_removed

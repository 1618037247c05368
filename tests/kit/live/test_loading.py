"""Loading, replacing and removing sets of operators: all of it, or nothing."""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.live.zoo import NAMESPACE, zoo  # loads the twin

# isort: split
import torch
from torch._dynamo.exc import Unsupported
from torch._dynamo.testing import CompileCounter
from torch._library.simple_registry import singleton

import opwright as ow
from opwright.kit.live import loading
from opwright.kit.live.errors import (
    CppRuleError,
    NamespaceTakenError,
    RegistrationError,
    ReplacedError,
    UnknownOperatorError,
    UnloadedError,
)
from opwright.kit.live.registration import end_library
from opwright.kit.validate import InvalidDeclarationError
from opwright.twin.user_kernels.registry import registry
from tests.twin.on_twin import printed, python

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

pytestmark = pytest.mark.twin

PROGRAMS = Path(__file__).parent / "programs"  # each in a process that begins without torch


def state() -> dict[str, Any]:
    """Return what a registration changes."""
    names = torch._C._dispatch_get_all_op_names()  # noqa: SLF001 - what the test is about
    builtins = torch.jit._builtins._builtin_table or {}  # noqa: SLF001
    return {
        "operators": sorted(names),
        "dispatcher": {n: torch._C._dispatch_dump(n) for n in names if "opwright_" in n},  # noqa: SLF001
        "torch.ops": sorted(vars(torch.ops)),
        "fake": sorted(name for name in singleton._data if "opwright_" in name),  # noqa: SLF001
        "kernels": sorted(torch.library._impls),  # noqa: SLF001
        "schemas": sorted(torch.library._defs),  # noqa: SLF001
        "scripting": sorted(name for name in builtins.values() if "opwright_" in name),
        "references": dict(registry.entries),
        "finders": list(sys.meta_path),
    }


def small(namespace: str, **fields: Any) -> ow.OperatorSet:  # noqa: ANN401 - fields of an operator
    """Return a set with one operator."""
    ops = ow.OperatorSet(namespace)
    fields.setdefault("aclnn", f"aclnn{namespace.title().replace('_', '')}(x, out)")

    @ops.operator("doubled(Tensor x) -> Tensor", **fields)
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    return ops


# Text: a file that is edited and run again.
MODULE = """
    import torch
    import opwright as ow

    ops = ow.OperatorSet("{namespace}")

    @ops.operator(
        "times(Tensor x) -> Tensor", aclnn="aclnnEdited{function}(x, out)", backward="reference"
    )
    def times(x):
        return x * {factor}

    ops.load()
"""


def write(path: Path, **values: object) -> None:
    path.write_text(dedent(MODULE).format(**values), encoding="utf-8")


def run_module(path: Path) -> ModuleType:
    """Run a file as a module, as an edited notebook cell or importlib.reload does."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


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


def test_an_edit_replaces_the_registration(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    values = {"namespace": "opwright_edited", "function": "Once"}
    write(path, factor=2, **values)
    first = run_module(path)
    x = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda t: first.times(t) + 1, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), torch.full((3,), 3.0))
    write(path, factor=5, **values)
    second = run_module(path)
    try:
        for module in (first, second):  # what holds the old function gets the new operator
            torch.testing.assert_close(module.times(x), torch.full((3,), 5.0))
            torch.testing.assert_close(module.times(x.to("npu")).cpu(), torch.full((3,), 5.0))
        torch.testing.assert_close(compiled(x), torch.full((3,), 6.0))
        second.times(x).sum().backward()
        torch.testing.assert_close(x.grad, torch.full((3,), 5.0))
        assert not first.ops.load().is_removed
        first.ops.loaded.unload()  # the old handle is no longer in charge
        assert not second.ops.loaded.is_removed
    finally:
        second.ops.loaded.unload()
    assert first.ops.loaded.is_removed


def test_an_edit_with_a_mistake_leaves_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "mistaken.py"
    values = {"namespace": "opwright_mistaken", "function": "Mistaken"}
    write(path, factor=2, **values)
    module = run_module(path)
    path.write_text(path.read_text().replace("(x, out)", "(x, wrong)"), encoding="utf-8")
    with pytest.raises(InvalidDeclarationError):
        run_module(path)
    with module.ops.load():
        torch.testing.assert_close(module.times(torch.ones(1)), torch.full((1,), 2.0))


def test_two_files_cannot_have_one_namespace(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    write(one, namespace="opwright_twofold", function="Two", factor=2)
    write(two, namespace="opwright_twofold", function="Two", factor=3)
    module = run_module(one)
    before = state()
    with pytest.raises(NamespaceTakenError) as caught:
        run_module(two)
    assert str(one) in caught.value.got
    assert str(two) in caught.value.where
    assert state() == before
    module.ops.loaded.unload()
    run_module(two).ops.loaded.unload()


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


# Text: modules that are edited and imported again.
NESTED = """
    import time
    import opwright as ow

    ops = ow.OperatorSet("opwright_nested")

    @ops.operator("inner(Tensor x) -> Tensor", shapes={{"x": "*s"}})
    def inner(x):
        return x + {factor}

    @ops.operator("outer(Tensor x) -> Tensor", shapes={{"x": "*s"}})
    def outer(x):
        time.sleep(0.1)
        return inner(x) * 2
"""
CALLED = """
    import opwright as ow

    ops = ow.OperatorSet("opwright_called")

    @ops.operator("one(Tensor x) -> Tensor", shapes={{"x": "*s"}}, backward="reference")
    def one(x):
        return x + {factor}
"""


def write_version(path: Path, text: str, factor: int) -> None:
    """Write a version of a module; each has a length of its own, by which Python knows it."""
    path.write_text(dedent(text).format(factor=factor) + "#" * factor, encoding="utf-8")


@pytest.mark.isolated
def test_queued_references_that_call_operators_finish_before_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulthandler.dump_traceback_later(600, exit=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "opwright_nested.py"
    write_version(path, NESTED, 1)
    module = importlib.import_module("opwright_nested")
    x = torch.ones(2).npu()
    for factor in range(2, 5):
        queued = [module.outer(x) for _ in range(3)]
        write_version(path, NESTED, factor)
        importlib.reload(module)
        module.ops.load()
        # They run the old function, which finds the new one of the other operator.
        assert queued[-1].cpu()[0].item() in {2 * factor, 2 * (factor + 1)}
        assert module.outer(x).cpu().tolist() == [2 * (factor + 1)] * 2
    queued = [module.outer(x) for _ in range(3)]
    module.ops.load().unload()
    assert queued[-1].cpu().tolist() == [10, 10]


@pytest.mark.isolated
def test_operators_are_replaced_while_threads_call_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "opwright_called.py"
    write_version(path, CALLED, 1)
    module = importlib.import_module("opwright_called")
    module.ops.load()
    done = threading.Event()
    wrong: list[object] = []

    def call(*, through_torch: bool) -> int:
        count = 0
        while not done.is_set():
            x = torch.ones(4)
            try:
                y = torch.ops.opwright_called.one(x) if through_torch else module.one(x)
                if not 2 <= y[0].item() <= 101:
                    wrong.append(y)
            except RuntimeError as error:
                wrong.append(error)
            count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(call, through_torch=bool(k % 2)) for k in range(4)]
        try:
            for factor in range(2, 100):
                write_version(path, CALLED, factor)
                importlib.reload(module)
                module.ops.load()
        finally:
            done.set()
    assert sum(each.result() for each in calls) > 0
    assert not [each for each in wrong if "was removed while it was called" not in str(each)], wrong


@pytest.mark.parametrize(
    "schema", ["times(Tensor x) -> Tensor", "times(Tensor x, int n=1) -> Tensor"]
)
def test_a_set_that_cannot_be_registered_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: str
) -> None:
    path = tmp_path / "failing.py"
    write(path, namespace="opwright_failing", function="Failing", factor=2)
    module = run_module(path)
    before = sorted(state()["operators"])
    text = path.read_text().replace("times(Tensor x) -> Tensor", schema).replace("x * 2", "x * 3")
    if "int n" in schema:
        text = text.replace("def times(x)", "def times(x, n)").replace("(x, out)", "(x, n, out)")
    path.write_text(text)
    register, failures = loading.register_npu_kernels, [RuntimeError("no room")]

    def fail_once(*args: Any) -> None:  # noqa: ANN401 - as the function
        register(*args)
        if failures:
            raise failures.pop()

    monkeypatch.setattr(loading, "register_npu_kernels", fail_once)
    with pytest.raises(RuntimeError, match="no room"):
        run_module(path)
    with module.ops.load() as loaded:
        assert loaded is module.ops.loaded
        assert sorted(state()["operators"]) == before
        for device in ("cpu", "npu"):
            x = torch.ones(2, device=device, requires_grad=True)
            result = torch.ops.opwright_failing.times(x)
            assert result.tolist() == [2, 2]
            result.sum().backward()
            assert x.grad is not None
            assert x.grad.tolist() == [2, 2]


def test_a_graph_does_not_use_the_backward_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "graphs.py"
    write(path, namespace="opwright_graphs", function="Graphs", factor=2)
    first = run_module(path)
    x = torch.ones(2, requires_grad=True)
    old = first.times(x).sum()
    write(path, namespace="opwright_graphs", function="Graphs", factor=5)
    second = run_module(path)
    with pytest.raises(ReplacedError, match=r"OPW-L024(.|\n)*loaded again"):
        old.backward()
    new = second.times(x).sum()
    second.ops.loaded.unload()
    with pytest.raises(ReplacedError, match=r"OPW-L024(.|\n)*unloaded"):
        new.backward()

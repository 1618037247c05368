"""Sets of operators whose file is edited and loaded again, at rest and while they are called."""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.live.registered import state  # loads the twin

# isort: split
import torch

from opwright import twin
from opwright.kit.live import loading
from opwright.kit.live.errors import NamespaceTakenError, ReplacedError
from opwright.kit.validate import InvalidDeclarationError

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

pytestmark = pytest.mark.twin

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


def negate(x: torch.Tensor, out: torch.Tensor) -> None:
    """Kernel of an operator beside the edited ones."""
    torch.neg(x, out=out)


def test_an_edit_may_give_an_operator_other_parameters(tmp_path: Path) -> None:
    """Also where a library has been made of its reference function, which stays loaded."""
    path = tmp_path / "grown.py"
    write(path, namespace="opwright_grown", function="Grown", factor=2)
    x = torch.ones(3, device="npu")
    first = run_module(path)
    torch.testing.assert_close(first.times(x).cpu(), torch.full((3,), 2.0))
    with twin.kernel("aclnnBesideGrown(const aclTensor *x, aclTensor *out)")(negate).registration:
        text = path.read_text(encoding="utf-8").replace("(Tensor x)", "(Tensor x, int by)")
        text = text.replace("(x, out)", "(x, by, out)").replace("times(x)", "times(x, by)")
        path.write_text(text.replace("x * 2", "x * by"), encoding="utf-8")
        second = run_module(path)
        try:
            torch.testing.assert_close(second.times(x, 7).cpu(), torch.full((3,), 7.0))
        finally:
            second.ops.loaded.unload()


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
    x = torch.ones(2).to("npu")
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

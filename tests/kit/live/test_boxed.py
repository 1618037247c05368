"""Autograd and version counters of the live tier, on CPU tensors: nothing here needs a device."""

from __future__ import annotations

import gc
import sys
import weakref
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.live.dispatching import MARKS, NAMESPACE, defined, dispatch_state, library, overload

# isort: split
import torch
from torch.autograd import forward_ad

from opwright.kit.live import _boxed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = MARKS

EVERYTHING = (
    "(Tensor x, Tensor? y, Tensor[] xs, Tensor?[] ys, SymInt n, SymInt[] sizes, int? k, Scalar s,"
    " float[] fs, bool[] bs, str text, *, Tensor w, ScalarType? dtype=None,"
    " MemoryFormat? format=None, Layout? layout=None, Device? device=None, complex z=1j) -> "
)


@pytest.fixture
def kernels() -> Iterator[Callable[..., tuple[Any, str]]]:
    """Make operators with a CPU kernel; they last as long as the test."""
    with ExitStack() as stack:

        def make(parameters: str, function: Callable[..., object]) -> tuple[Any, str]:
            name = stack.enter_context(defined(parameters))
            stack.enter_context(library("IMPL", "CPU")).impl(name, function)
            return overload(name), name

        yield make


def autograd(name: str, slow: Callable[..., object], *positions: int) -> _boxed.Handle:
    return _boxed.autograd(NAMESPACE, name, "Autograd", slow, positions)


def version(tensor: torch.Tensor) -> int:
    return tensor._version  # noqa: SLF001 - the public way to read it


class Double(torch.autograd.Function):
    """y = 2 x, by the operator below autograd."""

    @staticmethod
    def forward(ctx: Any, op: Any, x: torch.Tensor) -> torch.Tensor:  # noqa: ANN401, ARG004
        with torch._C._AutoDispatchBelowAutograd():  # noqa: SLF001 - as torch.library does
            result: torch.Tensor = op(x)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:  # noqa: ANN401, ARG004
        return None, grads[0] * 2


double: Callable[..., torch.Tensor] = Double.apply


def test_slow_path_only_where_a_gradient_can_flow(kernels: Callable[..., tuple[Any, str]]) -> None:
    op, name = kernels("(Tensor x) -> Tensor", lambda x: x * 2)
    calls = 0

    def slow(x: torch.Tensor) -> object:
        nonlocal calls
        calls += 1
        return double(op, x)

    x = torch.rand(3)
    with autograd(name, slow, 0):
        assert not op(x).requires_grad
        with torch.no_grad():
            op(x.clone().requires_grad_())
        with torch.inference_mode():
            op(torch.ones(3))
        assert calls == 0
        leaf = x.clone().requires_grad_()
        op(leaf).sum().backward()
        assert calls == 1
        torch.testing.assert_close(leaf.grad, torch.full((3,), 2.0))


def test_nothing_of_python_without_gradients(kernels: Callable[..., tuple[Any, str]]) -> None:
    op, name = kernels("(Tensor x) -> Tensor", torch.neg)
    frames: list[str] = []
    x = torch.rand(3)

    def profile(frame: Any, event: str, _: object) -> None:  # noqa: ANN401
        if event == "call":
            frames.append(frame.f_code.co_name)

    def count() -> int:
        frames.clear()
        sys.setprofile(profile)
        op(x)
        sys.setprofile(None)
        return len(frames)

    op(x)
    before = count()
    with autograd(name, lambda _: pytest.fail("not to be called"), 0):
        op(x)
        assert count() == before


@pytest.mark.parametrize("position", range(4))
def test_tensors_in_any_kind_of_argument(
    kernels: Callable[..., tuple[Any, str]], position: int
) -> None:
    schema = "(Tensor x, Tensor? y, Tensor[] xs, Tensor?[] ys) -> Tensor"
    op, name = kernels(schema, lambda x, y, xs, ys: x.clone())  # noqa: ARG005
    x, leaf = torch.rand(2), torch.rand(2).requires_grad_()
    with autograd(name, lambda *_: torch.tensor(7.0), position):
        plain = [x, None, [x], [None, x]]
        torch.testing.assert_close(op(*plain), x)
        for other in range(4):
            given: list[Any] = list(plain)
            given[other] = (leaf, leaf, [leaf], [None, leaf])[other]
            result = op(*given)
            assert (result.shape == ()) == (other == position)


def test_arguments_and_results(kernels: Callable[..., tuple[Any, str]]) -> None:
    op, name = kernels(EVERYTHING + "(Tensor, int, Tensor[], str)", pytest.fail)
    got: tuple[tuple[object, ...], dict[str, object]] = ((), {})

    def slow(*args: object, **kwargs: object) -> object:
        nonlocal got
        got = args, kwargs
        return args[0], 5, [args[0]], "done"

    x = torch.rand(2).requires_grad_()
    y = torch.rand(1)
    args = (x, None, [x, y], [None, y], 4, [2, 3], None, 2.5, [0.5], [True, False], "text")
    kwargs = {
        "w": y,
        "dtype": torch.float16,
        "format": torch.channels_last,
        "layout": torch.strided,
        "device": torch.device("cpu"),
        "z": 2 + 1j,
    }
    with autograd(name, slow, 0):
        result = op(*args, **kwargs)
    assert got[1].keys() == kwargs.keys()
    assert all(got[1][key] is value or got[1][key] == value for key, value in kwargs.items())
    assert got[0][0] is x
    assert got[0][1] is None
    assert got[0][4:] == args[4:]
    assert [entry is given for entry, given in zip(got[0][2], args[2], strict=True)] == [True] * 2  # type: ignore[call-overload]
    assert result[0] is x
    assert (result[1], result[3]) == (5, "done")


@pytest.mark.parametrize(
    ("returns", "value"),
    [("()", 3), ("(Tensor, Tensor)", torch.ones(1)), ("(Tensor, Tensor)", (torch.ones(1),))],
)
def test_results_that_are_not_the_schemas(
    kernels: Callable[..., tuple[Any, str]], returns: str, value: object
) -> None:
    op, name = kernels(f"(Tensor x) -> {returns}", lambda x: None)  # noqa: ARG005
    with (
        autograd(name, lambda _: value, 0),
        pytest.raises(TypeError, match=r"instead of \d results"),
    ):
        op(torch.ones(1).requires_grad_())


def test_exceptions_pass_through(kernels: Callable[..., tuple[Any, str]]) -> None:
    op, name = kernels("(Tensor x) -> Tensor", torch.neg)

    def slow(x: torch.Tensor) -> object:  # noqa: ARG001
        message = "not today"
        raise LookupError(message)

    with autograd(name, slow, 0), pytest.raises(LookupError, match="not today"):
        op(torch.ones(1).requires_grad_())


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch's own use of it
def test_forward_gradients_are_not_lost(kernels: Callable[..., tuple[Any, str]]) -> None:
    op, name = kernels("(Tensor x) -> Tensor", lambda x: x * 2)
    with autograd(name, lambda x: double(op, x), 0), forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(2), torch.ones(2))  # type: ignore[no-untyped-call] # torch's
        with pytest.raises(RuntimeError, match="jvp"):
            op(x)


@pytest.mark.parametrize(
    ("schema", "position", "touch"),
    [
        ("(Tensor(a!) x) -> Tensor(a!)", 0, lambda x: (x,)),
        ("(Tensor(a!) x) -> ()", 0, lambda x: (x,)),
        ("(int n, *, Tensor(a!)? x) -> ()", 1, lambda x: (1, x)),
        ("(Tensor(a!)[] xs) -> ()", 0, lambda x: ([torch.ones(1), x],)),
    ],
)
def test_versions(
    kernels: Callable[..., tuple[Any, str]],
    schema: str,
    position: int,
    touch: Callable[[torch.Tensor], tuple[Any, ...]],
) -> None:
    result = (lambda x: x) if schema.endswith("Tensor(a!)") else (lambda *_, **__: None)
    op, name = kernels(schema, result)
    keyword = "*" in schema

    def run(x: torch.Tensor) -> None:
        if keyword:
            op(1, x=x)
        else:
            op(*touch(x))

    with _boxed.version_bump(NAMESPACE, name, [position]):
        x = torch.ones(2)
        run(x)
        assert version(x) == 1
        with torch.inference_mode():
            run(torch.ones(2))
    run(x)
    assert version(x) == 1


def test_below_autograd_versions_are_still_bumped(kernels: Callable[..., tuple[Any, str]]) -> None:
    op, name = kernels("(Tensor(a!) x) -> ()", lambda x: None)  # noqa: ARG005
    with (
        autograd(name, lambda _: pytest.fail("no gradient"), 0),
        _boxed.version_bump(NAMESPACE, name, [0]),
    ):
        x = torch.ones(2)
        op(x)
        assert version(x) == 1


def test_undo_frees_the_function(kernels: Callable[..., tuple[Any, str]]) -> None:
    _, name = kernels("(Tensor(a!) x) -> ()", lambda x: None)  # noqa: ARG005
    before = dispatch_state(name)

    def slow(x: torch.Tensor) -> None: ...

    watched = weakref.ref(slow)
    for key in ("Autograd", "AutogradPrivateUse1", "AutogradCPU"):
        handle = _boxed.autograd(NAMESPACE, name, key, slow, [0])
        other = _boxed.version_bump(NAMESPACE, name, [0])
        for each in (handle, other, handle, other):
            each.remove()
        assert dispatch_state(name) == before
    del slow
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize(
    ("positions", "message"),
    [([1], r"argument 'n' is int, which has no tensor"), ([5], "there is no argument 5")],
)
def test_positions_without_tensors(
    kernels: Callable[..., tuple[Any, str]], positions: list[int], message: str
) -> None:
    _, name = kernels("(Tensor x, int n) -> ()", lambda x, n: None)  # noqa: ARG005
    with pytest.raises(ValueError, match=message):
        _boxed.autograd(NAMESPACE, name, "Autograd", print, positions)
    with pytest.raises(ValueError, match=message):
        _boxed.version_bump(NAMESPACE, name, positions)
    with pytest.raises(RuntimeError, match="no such operator"):
        _boxed.version_bump(NAMESPACE, "nothing", [0])

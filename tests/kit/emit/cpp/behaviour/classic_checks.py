"""Behaviour of the classic build beyond both_checks.py."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend
from torch.autograd import forward_ad
from torch.func import functionalize, grad, hessian, jacrev
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing import assert_close

from tests.kit.emit.cpp.behaviour.both_checks import demo, npu


@torch.library.impl("demo::row_norm_backward", "CompositeImplicitAutograd")
def row_norm_backward(
    grad: Tensor, x: Tensor, weight: Tensor | None, rstd: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Stand in for what the Python package registers."""
    return grad * rstd, None if weight is None else (grad * x * rstd).sum((0, 1))


@torch.library.impl("demo::scale_parts_backward", "CompositeImplicitAutograd")
def scale_parts_backward(grads: list[Tensor | None], factor: float) -> list[Tensor]:
    """Stand in for what the Python package registers."""
    return [torch.zeros(()) if each is None else each * factor for each in grads]


@torch.library.impl("demo::cut_backward", "CompositeImplicitAutograd")
def cut_backward(
    total: Tensor | None,
    pieces: list[Tensor | None],
    same: list[Tensor | None],
    x: Tensor,
    sizes: list[int],
    copies: int,
) -> Tensor:
    """Stand in for what the Python package registers."""
    assert (len(pieces), len(same)) == (len(sizes), copies)
    grad = x * 0 if total is None else x * 0 + total
    for size, each in zip(sizes, pieces, strict=True):
        if each is not None:
            grad[:size] += each
    return sum((each for each in same if each is not None), grad)


def test_gradients_of_lists_of_results_reach_their_places() -> None:
    x = npu(3, 2).requires_grad_()
    total, pieces, same = demo.cut(x, [1, 2], 2)
    (total + 10 * pieces[1].sum() + 100 * same[0].sum()).backward()
    assert x.grad is not None
    assert_close(x.grad.cpu()[:, 0], torch.tensor([111.0, 111, 101]))
    first = npu(2).requires_grad_()
    demo.scale_parts([first, npu(3)], 3.0)[0].sum().backward()
    assert first.grad is not None
    assert_close(first.grad.cpu(), torch.full((2,), 3.0))


def test_gradients_come_from_the_backward_operator() -> None:
    x, y = npu(3, 4).requires_grad_(), npu(3, 4).requires_grad_()
    demo.scale_add(x, y, alpha=2.5).sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert_close(x.grad.cpu(), torch.ones(3, 4))
    assert_close(y.grad.cpu(), torch.full((3, 4), 2.5))


@torch.library.impl("demo::keep_backward", "CompositeImplicitAutograd")
def keep_backward(
    grad: Tensor,
    dim: list[int] | None,
    axis: list[int] | None,
    sizes: list[int] | None,
    rates: list[float] | None,
    flags: list[bool] | None,
    both: list[bool] | None,
    *rest: list[Tensor],
) -> Tensor:
    """Multiply the gradient by the number of elements of each list that was given."""
    given = [dim, axis, sizes, rates, flags, both]
    counts = [0 if each is None else len(each) for each in (*given, *rest[-2:])]
    factor: int = sum(10**place * count for place, count in enumerate(counts))
    return grad * factor


@pytest.mark.parametrize(
    ("given", "factor"),
    [
        ({}, 21_000_000),
        ({"dim": [1, 2], "axis": [0], "sizes": [3, 4, 5], "rates": [0.5]}, 21_001_312),
        ({"dim": [], "flags": [True] * 4, "both": [True, False], "mode": "m"}, 21_240_000),
    ],
)
def test_values_of_each_type_reach_the_backward(given: dict[str, object], factor: int) -> None:
    x = npu(3).requires_grad_()
    demo.keep(x, **given, parts=[None], others=[x.detach(), x.detach()]).sum().backward()
    assert x.grad is not None
    assert_close(x.grad.cpu(), torch.full((3,), float(factor)))


def test_a_result_that_has_no_gradients_gets_no_history() -> None:
    x = npu(3).requires_grad_()
    assert demo.keep(x, dtype=torch.float64, parts=[], others=[]).requires_grad
    assert not demo.keep(x, dtype=torch.int64, parts=[], others=[]).requires_grad


def test_no_graph_where_nothing_requires_grad() -> None:
    x = npu(3, 4)
    assert demo.scale_add(x, x).grad_fn is None
    with torch.no_grad():
        assert demo.scale_add(x.clone().requires_grad_(), x).grad_fn is None


def test_an_operator_without_backward_raises_in_backward() -> None:
    x = npu(2, 3, 8).requires_grad_()
    out = demo.attend(x, key=npu(2, 5, 8), extras=[])
    with pytest.raises(RuntimeError, match=r"demo::attend is not implemented"):
        out.sum().backward()


def test_an_out_argument_refuses_gradients() -> None:
    with pytest.raises(RuntimeError, match="do not support gradients"):
        demo.scale_add(npu(3).requires_grad_(), npu(3), out=npu(3))


NORM_REFUSED = (
    "demo::row_norm, output 'rstd': a gradient that depends on a saved output cannot be "
    "differentiated again; make it a differentiable output"
)


def norm(x: Tensor) -> Tensor:
    return torch.as_tensor(demo.row_norm(x)[0]).sum()


def test_a_saved_output_without_gradient_is_no_constant_of_the_gradient() -> None:
    x = npu(2, 4).requires_grad_()
    y, rstd = demo.row_norm(x)
    assert not rstd.requires_grad
    loss = y.square().sum() + rstd.sum()
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    assert_close(first, 2 * y * rstd)
    with pytest.raises(RuntimeError, match=NORM_REFUSED):
        torch.autograd.grad(first.sum(), x)
    given = torch.ones_like(y, requires_grad=True)
    (first,) = torch.autograd.grad(demo.row_norm(x)[0], x, given, create_graph=True)
    assert_close(torch.autograd.grad(first.sum(), given)[0], rstd.expand_as(x))


def test_transformations_refuse_alike() -> None:
    x = npu(2, 4)
    once = grad(norm)
    assert_close(once(x), demo.row_norm(x)[1].expand_as(x))
    for twice in (grad(lambda x: once(x).sum()), jacrev(once)):
        with pytest.raises(RuntimeError, match=NORM_REFUSED):
            twice(x)
    with pytest.raises(RuntimeError, match=NORM_REFUSED):
        torch.autograd.grad(grad(norm)(x.requires_grad_()).sum(), x)


def test_tangents_are_refused() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(npu(3), npu(3))  # type: ignore[no-untyped-call]
        with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
            demo.scale_add(dual, npu(3))


def test_tangents_of_an_outer_transformation_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="no forward-mode derivative; use reverse mode"):
        hessian(lambda x: demo.scale_add(x, x).square().sum())(npu(3))


def test_gradients_flow_through_a_written_argument() -> None:
    start, value = npu(5, 4).requires_grad_(), npu(2, 4).requires_grad_()
    slots = torch.tensor([1, 3]).to("npu")
    cache = start * 1
    demo.cache_write_(cache, value, slots)
    (cache * 2).sum().backward()  # type: ignore[no-untyped-call]
    assert start.grad is not None
    assert value.grad is not None
    assert_close(start.grad.cpu().sum(1), torch.tensor([8.0, 0, 8, 0, 8]))
    assert_close(value.grad.cpu(), torch.full((2, 4), 2.0))


def test_gradients_flow_through_a_written_view() -> None:
    base, value = torch.zeros(6, 4).to("npu"), npu(2, 4).requires_grad_()
    demo.cache_write_(base[1:], value, torch.tensor([1, 3]).to("npu"))
    base.sum().backward()  # type: ignore[no-untyped-call]
    assert value.grad is not None
    assert_close(value.grad.cpu(), torch.ones(2, 4))


def test_a_leaf_cannot_be_written() -> None:
    with pytest.raises(RuntimeError, match="leaf"):
        demo.cache_write_(npu(5, 4).requires_grad_(), npu(5, 4))


@pytest.mark.parametrize("name", ["cache_write_", "cache_clear"])
def test_a_write_is_counted_once(name: str) -> None:
    cache, slots = npu(5, 4), torch.tensor([1, 3]).to("npu")
    arguments = (cache, npu(2, 4), slots) if name == "cache_write_" else (cache, slots)
    getattr(demo, name)(*arguments)
    assert cache._version == 1  # noqa: SLF001 - it has no other name


def test_a_write_without_backward_raises_in_backward() -> None:
    cache = npu(5, 4).requires_grad_() * 1
    demo.cache_clear(cache, torch.tensor([1]).to("npu"))
    with pytest.raises(RuntimeError, match=r"demo::cache_clear is not implemented"):
        cache.sum().backward()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("has_total", [True, False])
def test_what_may_be_missing_counts_writes_and_raises_in_backward(*, has_total: bool) -> None:
    total = npu(3, 4).requires_grad_() * 1 if has_total else None
    parts = [npu(3, 4), npu(3, 4).requires_grad_() * 1]
    demo.merge(total, parts, npu(3, 4))
    assert [each._version for each in parts] == [1, 1]  # noqa: SLF001 - it has no other name
    for each in parts[1:] if total is None else (total, *parts[1:]):
        with pytest.raises(RuntimeError, match=r"demo::merge is not implemented"):
            each.sum().backward()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("has_total", [True, False])
def test_what_may_be_missing_is_functionalized(*, has_total: bool) -> None:
    def merged(total: Tensor | None, part: Tensor, x: Tensor) -> Tensor:
        new, parts = total if total is None else total.clone(), [part.clone(), part * 2]
        demo.merge(new, parts, x)
        return sum(parts, x if new is None else new)

    arguments = (npu(3, 4) if has_total else None, npu(3, 4), npu(3, 4))
    assert_close(functionalize(merged)(*arguments).cpu(), merged(*arguments).cpu())


def writes(cache: Tensor, value: Tensor, slots: Tensor) -> Tensor:
    copy = cache.clone()
    demo.cache_write_(copy, value, slots)
    demo.cache_clear(copy, slots[:1])
    return torch.add(copy, 1)


def test_functionalization_calls_the_twins() -> None:
    arguments = (npu(5, 4), npu(2, 4), torch.tensor([1, 3]).to("npu"))
    assert_close(functionalize(writes)(*arguments).cpu(), writes(*arguments).cpu())
    graph = make_fx(functionalize(writes), tracing_mode="fake")(*arguments).graph
    called = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    ours = [name for name in called if name.startswith("demo")]
    assert ours == ["demo.cache_write_functional.default", "demo.cache_clear_functional.default"]


def test_one_graph_for_dynamic_sizes() -> None:
    def program(x: Tensor, y: Tensor) -> Tensor:
        normed, _ = demo.row_norm(x)
        scores: Tensor = demo.attend(x, key=x, extras=[])
        return torch.add(demo.scale_add(normed, y, alpha=2.0), scores.sum())

    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(program, backend=counter, dynamic=True, fullgraph=True)
    for size in (3, 5, 7):
        x, y = npu(size, 4), npu(size, 4)
        assert_close(compiled(x, y).cpu(), program(x, y).cpu())
    assert counter.frame_count == 1


def test_meta_tensors_have_shapes_only() -> None:
    y, rstd = demo.row_norm(torch.empty(2, 3, device="meta"))
    assert (y.shape, rstd.shape, y.device.type) == ((2, 3), (2, 1), "meta")


def test_a_call_draws_from_the_callers_generator() -> None:
    x = npu(3, 4)

    def drawn(generator: torch.Generator | None) -> list[Tensor]:
        return [demo.noisy(x, 0.5, generator=generator).cpu() for _ in range(2)]

    first, second = drawn(torch.Generator("npu").manual_seed(5))
    assert not torch.equal(first, second)
    again = drawn(torch.Generator("npu").manual_seed(5))
    assert torch.equal(first, again[0])
    assert torch.equal(second, again[1])
    other = drawn(torch.Generator("npu").manual_seed(6))
    assert not torch.equal(first, other[0])
    torch.manual_seed(5)  # the device's generator, where the caller gives none
    assert torch.equal(first, drawn(None)[0])
    with pytest.raises(RuntimeError, match="Expected a 'npu' device type for generator but found"):
        demo.noisy(x, 0.5, generator=torch.Generator())


def test_an_argument_may_have_the_operators_name() -> None:
    x = npu(3, 4).requires_grad_()
    y = demo.cap(x, cap=2.0)
    assert y.requires_grad
    assert_close(y, torch.tanh(x / 2) * 2)

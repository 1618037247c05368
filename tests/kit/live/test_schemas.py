"""Every kind of schema in every way to run it: the same result as the reference function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.live.zoo import CASES, NAMESPACE, Case, arguments, copied, zoo  # loads the twin

# isort: split
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.optests.generate_tests import opcheck

from opwright.kit.live.errors import ForwardGradientError, NotDifferentiableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.twin

everything = pytest.mark.parametrize("case", CASES, ids=str)
differentiable = pytest.mark.parametrize("case", [c for c in CASES if c.differentiable], ids=str)


@pytest.fixture(autouse=True, scope="module")
def loaded() -> Iterator[None]:
    with zoo.load():
        yield


def overload(case: Case) -> Any:  # noqa: ANN401 - torch.ops has no types
    return zoo.load().overload(case.name)


def outcome(function: Callable[..., Any], values: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return what a call returns, and the arguments after it."""
    return function(**values), values


def expected(case: Case, dtype: torch.dtype = torch.float64) -> tuple[Any, dict[str, Any]]:
    operator = zoo.freeze().operator(case.name)
    assert operator is not None
    assert operator.reference is not None
    return outcome(operator.reference, arguments(case, dtype))


def same(got: Any, wanted: Any) -> None:  # noqa: ANN401 - results
    torch.testing.assert_close([t.cpu() for t in tensors(got)], tensors(wanted))


@everything
def test_eager_on_the_cpu(case: Case) -> None:
    values = arguments(case)
    same(outcome(overload(case), values), expected(case))


@everything
def test_eager_on_the_npu(case: Case) -> None:
    values = copied(arguments(case), lambda t: t.to("npu"))
    if case.name == "ramp":
        values["device"] = torch.device("npu")
    result, values = outcome(overload(case), values)
    assert all(t.device.type == "npu" for t in tensors(result))
    values.pop("device", None)
    same((result, values), expected(case))


def tensors(value: Any) -> list[torch.Tensor]:  # noqa: ANN401 - results
    found: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor)
        return tensor

    copied(value, keep)
    return found


@everything
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_fake_and_meta_agree_with_eager(case: Case, device: str) -> None:
    values = copied(arguments(case), lambda t: t.to(device))
    if case.name == "ramp":
        values["device"] = torch.device(device)
    wanted = tensors(overload(case)(**copied(values)))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        faked = tensors(overload(case)(**copied(values, mode.from_tensor)))
    if case.name == "ramp":
        values["device"] = torch.device("meta")
    meta = tensors(overload(case)(**copied(values, lambda t: t.to("meta"))))
    for one, fake, other in zip(wanted, faked, meta, strict=True):
        assert (fake.shape, fake.dtype, fake.stride()) == (one.shape, one.dtype, one.stride())
        assert fake.device == one.device
        assert (other.shape, other.dtype, other.stride()) == (one.shape, one.dtype, one.stride())
        assert other.device.type == "meta"


def after_the_call(case: Case, values: dict[str, Any]) -> list[torch.Tensor]:
    """Call, and return the results and what was written, as functions of the arguments."""
    mine = copied(values, lambda t: t * 1)
    result = overload(case)(**mine)
    return [t for t in (*tensors(result), *tensors(mine)) if t.is_floating_point()]


def total(results: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack([(t * (i + 1)).double().sum() for i, t in enumerate(results)]).sum()


@differentiable
def test_gradients_are_those_of_finite_differences(case: Case) -> None:
    if case.values.get("dtype") is not None:
        pytest.skip("float32 has too few digits for finite differences")
    values = arguments(case)
    leaves = [t.requires_grad_() for t in tensors(values)]

    def function(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        left = iter(given)
        return tuple(after_the_call(case, copied(values, lambda _: next(left))))

    assert torch.autograd.gradcheck(function, leaves)
    assert torch.autograd.gradgradcheck(function, leaves)


@differentiable
def test_gradients_on_the_npu_are_those_on_the_cpu(case: Case) -> None:
    found = []
    for device in ("cpu", "npu"):
        single = arguments(case, torch.float32)  # torch_npu converts to no float64
        values = copied(single, lambda t, device=device: t.to(device).requires_grad_())  # type: ignore[misc]
        results = after_the_call(case, values)
        torch.autograd.backward(total(results))
        found.append([t.grad.cpu() for t in tensors(values) if t.grad is not None])
    assert found[0]
    torch.testing.assert_close(found[1], found[0])


@everything
def test_functionalized(case: Case) -> None:
    if case.name == "ramp":
        pytest.skip("without a tensor there is nothing to functionalize")
    values = arguments(case)
    run = torch.func.functionalize(lambda given: outcome(overload(case), given))
    same(run(copied(values)), expected(case))
    graph = torch.fx.experimental.proxy_tensor.make_fx(run)(copied(values))
    called = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    ours = [target for target in called if str(target).startswith(NAMESPACE)]
    assert not any(target._schema.is_mutable for target in ours)  # noqa: SLF001


@everything
@pytest.mark.compile
@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_compiled(case: Case, device: str, *, dynamic: bool) -> None:
    torch._dynamo.reset()  # noqa: SLF001 - documented
    values = copied(arguments(case), lambda t: t.to(device))
    operator = overload(case)

    def function(given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        mine = copied(given)
        return operator(**mine), mine

    run = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    same(run(values), expected(case))


@differentiable
@pytest.mark.compile
def test_compiled_with_gradients(case: Case) -> None:
    torch._dynamo.reset()  # noqa: SLF001 - documented
    found = []
    for compiled in (False, True):
        values = copied(arguments(case), torch.Tensor.requires_grad_)

        def function(given: dict[str, Any]) -> list[torch.Tensor]:
            return after_the_call(case, given)

        run = torch.compile(function, backend="aot_eager", fullgraph=True) if compiled else function
        torch.autograd.backward(total(run(values)))
        found.append([t.grad for t in tensors(values) if t.grad is not None])
    assert found[0]
    torch.testing.assert_close(found[1], found[0])


@everything
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_vmap_is_a_loop(case: Case, device: str) -> None:
    single = copied(arguments(case), lambda t: t.to(device))
    several = [copied(single, lambda t, i=i: t + i) for i in range(3)]  # type: ignore[misc]
    wanted = [outcome(overload(case), copied(values)) for values in several]
    names = [name for name, value in single.items() if tensors(value)]
    if not names:
        pytest.skip("without a tensor there is no batch")
    rest = {name: value for name, value in single.items() if name not in names}
    parts = [[tensors(values[name]) for values in several] for name in names]
    stacks = [torch.stack(column) for part in parts for column in zip(*part, strict=True)]

    def function(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        left = iter(given)
        mine = {name: copied(single[name], lambda _: next(left)) for name in names}
        result = overload(case)(**mine, **rest)
        return tuple(tensors(result)) or tuple(tensors(mine))

    batched = torch.vmap(function)(*(stack.clone() for stack in stacks))
    each = [tensors(result) or tensors(after) for result, after in wanted]
    torch.testing.assert_close(list(batched), [torch.stack(c) for c in zip(*each, strict=True)])


@differentiable
def test_gradients_for_each_sample(case: Case) -> None:
    values = arguments(case)
    leaves = tensors(values)

    def loss(*given: torch.Tensor) -> torch.Tensor:
        left = iter(given)
        results = after_the_call(case, copied(values, lambda _: next(left)))
        return torch.stack([t.double().sum() for t in results]).sum()

    places = tuple(range(len(leaves)))
    batch = [torch.stack([t, t + 1]) for t in leaves]
    got = torch.vmap(torch.func.grad(loss, argnums=places))(*batch)
    one, two = (torch.func.grad(loss, argnums=places)(*(t[i] for t in batch)) for i in (0, 1))
    torch.testing.assert_close(list(got), [torch.stack(p) for p in zip(one, two, strict=True)])


def height(call: Callable[..., Any], values: dict[str, Any]) -> Callable[..., torch.Tensor]:
    """Return a number as a function of the tensors; it has a second derivative everywhere."""

    def function(*given: torch.Tensor) -> torch.Tensor:
        left = iter(given)
        mine = copied(values, lambda _: next(left) * 1)
        results = call(**mine)
        found = [t for t in (*tensors(results), *tensors(mine)) if t.is_floating_point()]
        return total([t.double().pow(3) if t.device.type == "cpu" else t.pow(3) for t in found])

    return function


def slope(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the squared gradient of a function for its first argument."""
    return lambda *given: torch.func.grad(function)(*given).pow(2).sum()


# How a function is transformed; what that returns is called with a batch of its arguments.
func = torch.func
TRANSFORMS: dict[str, Callable[[Callable[..., torch.Tensor]], Callable[..., Any]]] = {
    "vmap": torch.vmap,
    "grad": lambda f: func.grad(lambda *given: torch.vmap(f)(*given).sum()),
    "vmap of vmap": lambda f: (
        lambda *given: torch.vmap(torch.vmap(f))(*(torch.stack([t, t + 1]) for t in given))
    ),
    "vmap of grad": lambda f: torch.vmap(func.grad(f)),
    "vmap of grad of grad": lambda f: torch.vmap(func.grad(slope(f))),
    "grad of grad": lambda f: lambda *given: func.grad(slope(f))(*(t[0] for t in given)),
    "grad of grad for the last": lambda f: (
        lambda *given: func.grad(slope(f), argnums=len(given) - 1)(*(t[0] for t in given))
    ),
    "grad of vmap of grad": lambda f: func.grad(
        lambda *given: torch.vmap(func.grad(f))(*given).pow(2).sum()
    ),
    "jacrev": lambda f: lambda *given: func.jacrev(f)(*(t[0] for t in given)),
    "jacrev of jacrev": lambda f: (
        lambda *given: func.jacrev(func.jacrev(f))(*(t[0] for t in given))
    ),
}

SECOND = [way for way in TRANSFORMS if way.count("grad") + way.count("jacrev") > 1]
# Their references write, so the gradients are differentiated again only without torch.func.
OPAQUE = ("scale_", "update_", "absorb_")


def plain_scale_(
    x: torch.Tensor, factor: float = 2.0, y: torch.Tensor | None = None
) -> torch.Tensor:
    """Do what `scale_` does, in a way that torch.func can differentiate without the operator."""
    before = x.clone()
    return x.copy_(before * before * factor + (0 if y is None else y))


@differentiable
@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("way", TRANSFORMS)
def test_transformations_are_those_of_the_reference(case: Case, device: str, way: str) -> None:
    operator = zoo.freeze().operator(case.name)
    assert operator is not None
    reference = plain_scale_ if case.name == "scale_" else operator.reference
    assert reference is not None
    values = arguments(case, torch.float32 if device == "npu" else torch.float64)
    batch = [torch.stack([t, t + 0.25]) for t in tensors(values)]
    wanted = TRANSFORMS[way](height(reference, values))(*batch)
    moved = [t.to(device) for t in batch]
    run = TRANSFORMS[way](height(overload(case), values))
    if way in SECOND and case.name in OPAQUE:
        name = f"{NAMESPACE}::{case.name}backward"
        with pytest.raises(NotDifferentiableError, match=f"(?s)OPW-L021.*{name}"):
            run(*moved)
        return
    got = run(*moved)
    torch.testing.assert_close(got.cpu(), wanted, check_dtype=False)


@differentiable
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_forward_mode_is_refused(case: Case, device: str) -> None:
    values = arguments(case, torch.float32)
    given = [t.to(device) for t in tensors(values)]
    with pytest.raises(ForwardGradientError, match=f"(?s)OPW-L023.*{NAMESPACE}::"):
        torch.func.jacfwd(height(overload(case), values))(*given)


@everything
@pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor that is not a leaf"
)  # torch's own
def test_opcheck(case: Case) -> None:
    if case.name == "ramp":
        pytest.skip("opcheck needs a tensor")
    operator = overload(case)
    values = arguments(case)
    if case.differentiable and not operator._schema.is_mutable:  # noqa: SLF001 - a leaf cannot be written
        values = copied(values, torch.Tensor.requires_grad_)
    positional = [a.name for a in operator._schema.arguments if not a.kwarg_only]  # noqa: SLF001
    args = [values.pop(name) for name in positional if name in values]
    if len(args) < len([n for n in positional if n in case.values]) or (
        positional[: len(args)] != [n for n in positional if n in case.values]
    ):
        pytest.skip("opcheck has no way to leave out an argument in the middle")
    opcheck(operator, tuple(args), values)

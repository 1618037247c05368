"""Refusals of operators of the live tier, and what autograd and autocast make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import opwright as ow
from opwright.kit.live.errors import (
    BackwardResultError,
    ForwardGradientError,
    NotDifferentiableError,
    OutGradientError,
    ReferenceAliasError,
    ReferenceDtypeError,
    ReferenceResultError,
    ReferenceShapeError,
    VmapMutationError,
    VmapResultError,
)
from tests.kit.live.zoo import NAMESPACE, zoo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.twin
ones = torch.ones


@pytest.fixture(autouse=True, scope="module")
def loaded() -> Iterator[None]:
    with zoo.load():
        yield


def declared(
    schema: str,
    reference: Callable[..., Any] | None = None,
    **fields: Any,  # noqa: ANN401 - fields of an operator
) -> Any:  # noqa: ANN401 - torch.ops has no types
    """Return a loaded set with one operator, and the operator."""
    ops = ow.OperatorSet("opwright_behaviour")
    if reference is None:
        ops.declare(schema, **fields)
    else:
        ops.operator(schema, **fields)(reference)
    loaded_set = ops.load()
    return loaded_set, loaded_set.overload(schema.partition("(")[0])


# Checks: the same words on every device.

REFUSED: tuple[tuple[str, tuple[Any, ...], dict[str, Any], str], ...] = (
    ("biased", (ones(()),), {}, "argument 'x' has 0 axes; it needs at least 1, as in '*batch, D'"),
    (
        *("biased", (ones(2, 4), ones(1, 4)), {}),
        "argument 'bias' has 2 axes; it needs 1, as in 'D'",
    ),
    (
        *("biased", (ones(2, 4), ones(3)), {}),
        "axis 0 of argument 'bias' has size 3; 'D' asks for 4",
    ),
    ("low_high", (ones(4), 5), {}, "'0 <= k <= D' does not hold: 5 and 4"),
    ("low_high", (ones(4), -1), {}, "'0 <= k <= D' does not hold: 0 and -1"),
    (
        *("activate", (ones(4), "gelu"), {}),
        "argument 'kind' is gelu; 'kind in ('relu', 'tanh')' allows relu, tanh",
    ),
    (
        *("by_keyword", (ones(4, dtype=torch.int32),), {"scale": ones(4)}),
        "argument 'x' has dtype Int; allowed: [Float, Double, Half]",
    ),
    (
        *("by_keyword", (ones(4),), {"scale": ones(4).half()}),
        "argument 'scale' has dtype Half; allowed: [Float]",
    ),
)


@pytest.mark.parametrize("device", ["cpu", "npu", "meta", "fake"])
@pytest.mark.parametrize(("name", "args", "kwargs", "message"), REFUSED)
def test_a_check_says_the_same_everywhere(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], message: str, device: str
) -> None:
    def moved(value: Any) -> Any:  # noqa: ANN401 - any argument
        if not isinstance(value, torch.Tensor):
            return value
        return mode.from_tensor(value) if device == "fake" else value.to(device)

    mode = FakeTensorMode()
    operator = zoo.load().overload(name)
    with pytest.raises((ValueError, TypeError)) as caught:
        operator(*map(moved, args), **{key: moved(value) for key, value in kwargs.items()})
    assert str(caught.value).splitlines()[0] == f"{NAMESPACE}::{name}: {message}"


def test_spans_are_compared() -> None:
    def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    shapes = {"x": "*b, D", "y": "*b, D"}
    fields = {"aclnn": "aclnnSpans(x, y, out)", "shapes": shapes}
    loaded_set, operator = declared("spans(Tensor x, Tensor y) -> Tensor", reference, **fields)
    with loaded_set:
        for device in ("cpu", "npu", "meta"):
            x = ones(2, 3, device=device)
            with pytest.raises(ValueError, match=r"'y' has axes \[1\]; '\*b, D' asks for \[2\]"):
                operator(x, x[:1])
            with pytest.raises(ValueError, match=r"'y' has axes \[\]; '\*b, D' asks for \[2\]"):
                operator(x, x[0])
            assert operator(x, x).shape == (2, 3)


def test_sizes_that_depend_on_data_stay_unknown() -> None:
    environment = ShapeEnv()
    with FakeTensorMode(shape_env=environment):
        size = environment.create_unbacked_symint()
        assert size.node.shape_env is environment
        x = torch.empty(size, 4)
        low, high, order = torch.ops.opwright_zoo.low_high(x, 1)
        assert str(low.shape[0]) == str(x.shape[0])
        assert (high.shape[1], order.dtype) == (3, torch.int64)
        for other in (torch.empty(4), torch.empty(1, 4), x):
            assert str(torch.ops.opwright_zoo.axpy(x, other).shape[0]) == str(x.shape[0])
        with pytest.raises(ValueError, match="cannot be broadcast together"):
            torch.ops.opwright_zoo.axpy(x, torch.empty(3))


# References that are not what the declaration says.

WRONG = (
    ("f(Tensor x) -> Tensor", lambda x: x[:1] * 1, ReferenceShapeError),
    ("f(Tensor x) -> Tensor", lambda x: x.double(), ReferenceDtypeError),
    ("f(Tensor x) -> Tensor", lambda x: x, ReferenceAliasError),
    ("f(Tensor x) -> Tensor", lambda x: x.view(-1), ReferenceAliasError),
    ("f(Tensor x) -> Tensor", lambda x: (x * 1, x * 2), ReferenceResultError),
    ("f(Tensor x) -> Tensor", lambda x: None, ReferenceResultError),  # noqa: ARG005 - the operator has it
    ("f(Tensor x) -> (Tensor a, Tensor b)", lambda x: [x * 1] * 2, ReferenceAliasError),
    ("f(Tensor x) -> (Tensor a, Tensor b)", lambda x: x * 1, ReferenceResultError),
    ("f_(Tensor(a!) x) -> Tensor(a!)", lambda x: x * 2, ReferenceResultError),
    ("f(Tensor x) -> ()", lambda x: x * 2, ReferenceResultError),
)


@pytest.mark.parametrize(("schema", "reference", "error"), WRONG)
def test_a_wrong_reference_is_reported(
    schema: str, reference: Callable[..., Any], error: type[Exception]
) -> None:
    loaded_set, operator = declared(schema, reference, aclnn="aclnnWrong")
    with loaded_set:
        with pytest.raises(error) as caught:
            operator(ones(3))
        assert f"{__file__}:" in str(caught.value)
        if error is not ReferenceAliasError:  # a copy is made on the NPU
            operator(ones(3).to("npu"))
            with pytest.raises(RuntimeError, match=caught.value.id):  # type: ignore[attr-defined]
                torch_npu.npu.synchronize()


def test_an_operator_without_a_reference_works_where_it_has_a_kernel() -> None:
    loaded_set, operator = declared(
        "add_up(Tensor x, Tensor y, Scalar alpha) -> Tensor", aclnn="aclnnAdd"
    )
    with loaded_set:
        got = operator(ones(3).to("npu"), ones(3).to("npu"), 2)
        torch.testing.assert_close(got.cpu(), torch.full((3,), 3.0))
        assert operator(ones(3, device="meta"), ones(3, device="meta"), 2).shape == (3,)
        with pytest.raises(NotImplementedError, match="CPU"):
            operator(ones(3), ones(3), 2)


def test_the_aclnn_function_gets_what_the_call_says() -> None:
    """Constants, what stands for None, dtypes and one function for several operators."""
    seen: list[tuple[object, ...]] = []
    ops = ow.OperatorSet("opwright_passing")

    @ops.operator(
        "low(Tensor x, int? axis=None, *, ScalarType? dtype=None) -> Tensor",
        aclnn="aclnnPassing(x, axis or 7, out.dtype, 0, out)",
        dtypes={"out": "dtype or x"},
    )
    def low(
        x: torch.Tensor, axis: int | None = None, *, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        seen.append(("low", axis, dtype))
        return x.to(dtype or x.dtype, copy=True)

    @ops.operator(
        "high(Tensor x, int axis) -> Tensor", aclnn="aclnnPassing(x, axis, x.dtype, 1, out)"
    )
    def high(x: torch.Tensor, axis: int) -> torch.Tensor:
        seen.append(("high", axis))
        return x + 1

    with ops.load() as loaded_set:
        x = ones(2).to("npu")
        assert loaded_set.overload("low")(x, dtype=torch.float16).cpu().dtype == torch.float16
        assert loaded_set.overload("low")(x, 3).cpu().tolist() == [1, 1]
        assert loaded_set.overload("high")(x, 4).cpu().tolist() == [2, 2]
    assert seen == [("low", 7, torch.float16), ("low", 3, torch.float32), ("high", 4)]


def test_what_must_be_contiguous_is_and_comes_back() -> None:
    strides = []

    def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        strides.append((x.is_contiguous(), y.is_contiguous()))
        return x.mul_(y)

    layouts = {"x": "contiguous", "y": "contiguous"}
    loaded_set, operator = declared(
        "f_(Tensor(a!) x, Tensor y) -> Tensor(a!)",
        reference,
        aclnn="aclnnGapless(x, y)",
        layouts=layouts,
    )
    with loaded_set:
        base = torch.arange(12.0).reshape(3, 4).to("npu")
        given = base.t()
        result = operator(given, torch.full((4, 3), 2.0).to("npu"))
        assert result.data_ptr() == base.data_ptr()
        torch.testing.assert_close(base.cpu(), torch.arange(12.0).reshape(3, 4) * 2)
        twin = torch.ops.opwright_behaviour.f_functional(given, given)
        torch.testing.assert_close(twin.cpu(), base.cpu().t() ** 2)
    assert strides == [(True, True)] * 2


# Autograd.


def test_an_operator_without_backward_says_so() -> None:
    loaded_set, operator = declared(
        "f(Tensor x) -> Tensor", lambda x: x * 2, aclnn="aclnnNoBackward"
    )
    with loaded_set:
        x = ones(3, requires_grad=True)
        result = operator(x)
        assert result.requires_grad
        with pytest.raises(NotDifferentiableError, match=r"OPW-L021(.|\n)*opwright_behaviour::f"):
            result.sum().backward()
        with torch.no_grad():
            assert not operator(x).requires_grad
        assert not operator(ones(3)).requires_grad


def test_out_refuses_gradients() -> None:
    operator = torch.ops.opwright_zoo.axpy.out
    x, out = ones(2, requires_grad=True), torch.zeros(2)
    with pytest.raises(OutGradientError, match="OPW-L022"):
        operator(x, x, out=out)
    with torch.no_grad():
        assert operator(x, x, out=out) is out
    assert out.tolist() == [2, 2]


# torch itself uses what it deprecates, when the first dual tensor is made.
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_a_forward_gradient_is_refused() -> None:
    make_dual: Any = torch.autograd.forward_ad.make_dual
    with torch.autograd.forward_ad.dual_level():
        dual = make_dual(ones(2, 2), ones(2, 2))
        with pytest.raises(ForwardGradientError, match=f"OPW-L023(.|\n)*{NAMESPACE}::biased"):
            torch.ops.opwright_zoo.biased(dual)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_hessian_in_forward_mode_is_refused_and_one_in_reverse_mode_is_right(device: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.ops.opwright_zoo.biased(x)
        return result.square().sum()  # the inner derivative depends on the result of the operator

    x = torch.rand(3).to(device)
    with pytest.raises(ForwardGradientError, match=f"OPW-L023(.|\\n)*{NAMESPACE}::biased"):
        torch.func.hessian(function)(x)
    hessian = torch.func.jacrev(torch.func.jacrev(function))(x)
    wanted = torch.func.hessian(lambda each: each.sin().square().sum())(x.cpu())
    torch.testing.assert_close(hessian.cpu(), wanted)


def test_a_mutated_tensor_is_part_of_the_graph() -> None:
    leaf = ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        torch.ops.opwright_zoo.scale_(leaf)
    base = leaf * 1
    row = base[0]
    version = base._version  # noqa: SLF001 - what the test is about
    result = torch.ops.opwright_zoo.scale_(row, 3.0)
    assert result is row
    assert base._version > version  # noqa: SLF001
    torch.autograd.backward(base.sum())
    torch.testing.assert_close(leaf.grad, torch.tensor([[6.0] * 3, [1.0] * 3]))


def test_a_functional_twin_of_the_authors_own_has_the_gradients_too() -> None:
    ops = ow.OperatorSet("opwright_own_twin")

    @ops.operator(
        "grow_(Tensor(a!) x, Tensor y) -> Tensor",
        aclnn="aclnnGrow(x, y, out)",
        shapes={"out": ow.like("x")},
        backward={"x": "grad_x + grad_out * 2", "y": "grad_x"},
    )
    def grow_(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.add_(y) * 2 - y * 2

    @ops.operator(
        "grow_functional(Tensor x, Tensor y) -> (Tensor, Tensor)",
        aclnn="aclnnGrowFunctional(x, y, out0, out1)",
    )
    def grow_functional(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2, x + y

    with ops.load() as loaded_set:
        x, y = ones(3, requires_grad=True), ones(3, requires_grad=True)
        written = x * 1
        result = loaded_set.overload("grow_")(written, y)
        assert (written.tolist(), result.tolist()) == ([2, 2, 2], [2, 2, 2])
        torch.autograd.backward([written.sum(), result.sum()])
        torch.testing.assert_close(x.grad, torch.full((3,), 3.0))
        torch.testing.assert_close(y.grad, torch.full((3,), 1.0))


def test_composite_operators_have_autocast_and_vmap() -> None:
    ops = ow.OperatorSet("opwright_composite")
    seen = []

    @ops.operator("plus(Tensor x, Tensor y) -> Tensor", aclnn=False, autocast="float16")
    def plus(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    @plus.vmap
    def _(info: Any, in_dims: tuple[Any, ...], x: torch.Tensor, y: torch.Tensor) -> object:  # noqa: ANN401 - torch's own
        seen.append((info.batch_size, in_dims))
        return x + y, 0

    with ops.load() as loaded_set:
        operator = loaded_set.overload("plus")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert operator(ones(2), ones(2)).dtype == torch.float16
        assert (
            torch.vmap(operator, in_dims=(0, None))(ones(2, 3), ones(3)).tolist() == [[2.0] * 3] * 2
        )
    assert seen == [(2, (0, None))]


def test_versions_are_bumped_without_gradients_too() -> None:
    for device in ("cpu", "npu"):
        x = ones(2, device=device)
        torch.ops.opwright_zoo.scale_(x)
        assert x._version == 1  # noqa: SLF001 - what the test is about
        xs = [ones(2, device=device), ones(2, device=device)]
        torch.ops.opwright_zoo.scale_all_(xs, ones((), device=device))
        assert [each._version for each in xs] == [1, 1]  # noqa: SLF001


def test_a_saved_tensor_that_is_overwritten_is_noticed() -> None:
    x = ones(3, requires_grad=True) * 1
    y = torch.ops.opwright_zoo.biased(x.view(1, 3))
    torch.ops.opwright_zoo.exchange_(x.detach(), ones(3))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_only_gradients_that_flow_are_asked_for() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    low, _, order = torch.ops.opwright_zoo.low_high(x, 2)
    assert not order.requires_grad
    low.sum().backward()  # nothing flows from high
    expected = torch.cat([x[:, :2].cos(), torch.zeros(3, 2)], 1)
    torch.testing.assert_close(x.grad, expected)


@pytest.mark.parametrize(("returned", "got"), [((1, 2), "2 gradients"), ("text", "a str")])
def test_a_backward_with_other_results_is_reported(returned: object, got: str) -> None:
    ops = ow.OperatorSet("opwright_gradients")

    @ops.operator("f(Tensor x) -> Tensor", aclnn="aclnnGradients(x, out)")
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def back(grad: torch.Tensor) -> object:
        return tuple(grad for _ in returned) if isinstance(returned, tuple) else returned

    f.backward()(back)
    with ops.load() as loaded_set:
        x = ones(2, requires_grad=True)
        with pytest.raises(BackwardResultError, match=f"OPW-L020(.|\n)*{got}"):
            loaded_set.overload("f")(x).sum().backward()


# Autocast.


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_autocast_converts_arguments(device: str) -> None:
    x, half = ones(3, device=device), ones(3, device=device).half()
    with torch.autocast(device, dtype=torch.bfloat16):
        assert torch.ops.opwright_zoo.axpy(x, x).dtype == torch.float16
        assert torch.ops.opwright_zoo.by_keyword(x, scale=x).dtype == torch.float16
        assert torch.ops.opwright_zoo.total(half, [x]).dtype == torch.float32
        assert torch.ops.opwright_zoo.biased(x).dtype == torch.float32
        assert torch.ops.opwright_zoo.scale_(x, y=half).dtype == torch.float32
        grad = ones(3, device=device, requires_grad=True)
        torch.ops.opwright_zoo.axpy(grad, grad).sum().backward()
        assert grad.grad is not None
        assert (grad.grad.dtype, grad.grad.tolist()) == (torch.float32, [2, 2, 2])


def test_the_autocast_dtype_is_that_of_the_context() -> None:
    fields = {"aclnn": "aclnnCasting(x, out)", "autocast": "autocast dtype"}
    loaded_set, operator = declared("f(Tensor x) -> Tensor", lambda x: x * 2, **fields)
    with loaded_set:
        for dtype in (torch.bfloat16, torch.float16):
            with torch.autocast("cpu", dtype=dtype):
                assert operator(ones(2)).dtype == dtype
        assert operator(ones(2)).dtype == torch.float32


# vmap.


def test_a_batch_cannot_be_written_into_one_tensor() -> None:
    y = ones(3)
    with pytest.raises(VmapMutationError, match=r"OPW-L030(.|\n)*'x' without a batch"):
        torch.vmap(lambda x: torch.ops.opwright_zoo.exchange_(y, x))(ones(2, 3))


def batched(rule: Callable[..., object]) -> Any:  # noqa: ANN401 - torch.ops has no types
    ops = ow.OperatorSet("opwright_batched")

    @ops.operator("f(Tensor x, *, Tensor y) -> Tensor", aclnn="aclnnBatched(x, y, out)")
    def f(x: torch.Tensor, *, y: torch.Tensor) -> torch.Tensor:
        return x * y

    f.vmap(rule)
    return ops.load()


def test_the_authors_batching_rule_is_called() -> None:
    seen = []

    def rule(info: Any, in_dims: tuple[Any, ...], x: torch.Tensor, *, y: torch.Tensor) -> object:  # noqa: ANN401 - torch's own
        seen.append((info.batch_size, info.randomness, in_dims))
        return torch.ops.opwright_batched.f(x.movedim(in_dims[0], 0), y=y.expand(4, 3)), 0

    with batched(rule) as loaded_set:
        x, y = torch.randn(3, 4), torch.randn(3)
        got = torch.vmap(lambda t: loaded_set.overload("f")(t, y=y), in_dims=1)(x)
        torch.testing.assert_close(got, x.t() * y)
    assert seen == [(4, "error", (1, None))]


@pytest.mark.parametrize("returned", [3, (1, 2, 3), ((1, 2), (0, 0))])
def test_a_batching_rule_with_other_results_is_reported(returned: object) -> None:
    def rule(*_: object, **__: object) -> object:
        return returned

    with batched(rule) as loaded_set, pytest.raises(VmapResultError, match="OPW-L031"):
        torch.vmap(lambda t: loaded_set.overload("f")(t, y=t))(ones(2, 3))

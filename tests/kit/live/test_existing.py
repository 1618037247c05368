"""Operators of another library: what they lack in graphs is declared, and goes again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401
from torch._dynamo.backends.common import aot_autograd
from torch._higher_order_ops.auto_functionalize import auto_functionalized_v2
from torch.library import Library

import opwright as ow
from opwright.kit.live.errors import RegistrationError
from opwright.kit.live.registration import end_library
from opwright.kit.validate import InvalidDeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor
    from torch.fx import GraphModule

pytestmark = [
    pytest.mark.twin,
    pytest.mark.compile,
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),  # importing npugraph_ex
]
NAMESPACE = "opwright_theirs"
HALVED = "halved(Tensor x, int places=1, *, float scale=0.5) -> Tensor"
PUT = "put(Tensor value, Tensor slots, *, Tensor(a!) cache) -> Tensor(a!)"


def halved(x: Tensor, places: int = 1, *, scale: float = 0.5) -> Tensor:
    return (x * scale**places)[: x.shape[0] // 2].clone()


def put(value: Tensor, slots: Tensor, *, cache: Tensor) -> Tensor:
    return cache.index_copy_(0, slots, value)


def known(tag: str) -> tuple[torch.Tag, ...]:
    """Return a tag if this torch has it."""
    return (getattr(torch.Tag, tag),) if hasattr(torch.Tag, tag) else ()


@pytest.fixture(autouse=True)
def library() -> Iterator[Any]:
    """Register operators for the NPU that have no kernel for anything else."""
    new: Any = Library
    theirs = new(NAMESPACE, "DEF")
    theirs.define(HALVED)
    theirs.define(PUT, tags=known("out"))
    theirs.define("with_meta(Tensor x) -> Tensor")
    theirs.define("inplace_(Tensor(a!) x) -> Tensor(a!)", tags=known("inplace"))
    theirs.impl("halved", halved, "PrivateUse1")
    theirs.impl("put", put, "PrivateUse1")
    theirs.impl("with_meta", torch.empty_like, "Meta")
    theirs.impl("inplace_", lambda x: x, "Meta")
    yield theirs
    end_library(theirs)
    torch.compiler.reset()


def completed(schema: str, **fields: Any) -> ow.OperatorSet:  # noqa: ANN401 - fields of an operator
    ops = ow.OperatorSet(NAMESPACE, existing=True)
    ops.declare(schema, **fields)
    return ops


def use_halved(x: Tensor) -> Tensor:
    result: Tensor = torch.ops.opwright_theirs.halved(x + 1, scale=0.25)
    return result


def use_put(cache: Tensor, value: Tensor, slots: Tensor) -> Tensor:
    torch.ops.opwright_theirs.put(value, slots, cache=cache)
    return cache.sum(0)


def compiled(model: Callable[..., Any], backend: str, *, dynamic: bool) -> Callable[..., Any]:
    return torch.compile(model, backend=backend, fullgraph=True, dynamic=dynamic)


def of_halves() -> ow.OperatorSet:
    return completed(HALVED, shapes={"x": "N, D", "out": "N // 2, D"})


def test_without_the_declaration_there_is_no_graph() -> None:
    with pytest.raises(Exception, match="does not support running with fake tensors"):
        compiled(use_halved, "aot_eager", dynamic=False)(torch.ones(4, 2).to("npu"))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["aot_eager", "npugraph_ex"])
def test_the_declared_shapes_are_meta(backend: str, *, dynamic: bool) -> None:
    x = torch.randn(6, 3)
    with of_halves().load(), torch.no_grad():
        model = compiled(use_halved, backend, dynamic=dynamic)
        for _ in range(2):
            torch.testing.assert_close(model(x.to("npu")).cpu(), halved(x + 1, scale=0.25))
        meta = torch.ops.opwright_theirs.halved(torch.empty(10, 2, device="meta"))
    assert meta.shape == (5, 2)


def test_the_declared_conditions_hold_for_meta() -> None:
    with of_halves().load(), pytest.raises(ValueError, match=r"opwright_theirs::halved: .*'x'"):
        torch.ops.opwright_theirs.halved(torch.empty(4, device="meta"))


def operands() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    cache, value = (torch.randn(rows, 3, generator=generator) for rows in (5, 2))
    return cache, value, torch.tensor([3, 0])


def run_put(model: Callable[..., Any], device: str) -> list[Tensor]:
    cache, value, slots = (each.to(device) for each in operands())
    with torch.no_grad():
        return [model(cache, value, slots).cpu(), cache.cpu()]


def on_cpu(cache: Tensor, value: Tensor, slots: Tensor) -> Tensor:
    return put(value, slots, cache=cache).sum(0)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["aot_eager", "npugraph_ex"])
def test_a_cache_that_is_written_in_part_keeps_the_rest(backend: str, *, dynamic: bool) -> None:
    want = run_put(on_cpu, "cpu")
    with completed(PUT).load():
        model = compiled(use_put, backend, dynamic=dynamic)
        for _ in range(2):
            for got, expected in zip(run_put(model, "npu"), want, strict=True):
                torch.testing.assert_close(got, expected)


def bases_in_graph() -> list[object]:
    """Return the tensors whose values before the call the graph of `use_put` keeps."""
    graphs: list[GraphModule] = []

    def keep(graph: GraphModule, _inputs: object) -> GraphModule:
        graphs.append(graph)
        return graph

    torch.compile(use_put, backend=aot_autograd(fw_compiler=keep), fullgraph=True)(
        *(each.to("npu") for each in operands())
    )
    (node,) = graphs[0].graph.find_nodes(op="call_function", target=auto_functionalized_v2)
    return list(node.kwargs["_all_bases"])


def test_torch_alone_starts_from_an_empty_cache() -> None:
    """When this fails, torch has become right, and step 5 of a sample is not needed any more."""
    assert bases_in_graph() == []
    torch.compiler.reset()
    with completed(PUT).load():
        assert len(bases_in_graph()) == 1
    torch.compiler.reset()
    assert bases_in_graph() == []


def test_unloading_leaves_the_library_as_it_was() -> None:
    def dumps() -> dict[str, str]:
        names = sorted(n for n in torch._C._dispatch_get_all_op_names() if NAMESPACE in n)  # noqa: SLF001 - what the test is about
        return {name: torch._C._dispatch_dump(name) for name in names}  # noqa: SLF001

    before = dumps()
    for _ in range(2):
        with completed(PUT).load():
            assert dumps() != before
        assert dumps() == before
    x = torch.randn(4, 2)
    torch.testing.assert_close(use_halved(x.to("npu")).cpu(), halved(x + 1, scale=0.25))


def test_a_changed_declaration_replaces_the_one_before() -> None:
    first = of_halves().load()
    second = completed(HALVED, shapes={"x": "N, D", "out": "N // 2, D + 0 * N"}).load()
    first.unload()
    assert torch.ops.opwright_theirs.halved(torch.empty(4, 2, device="meta")).shape == (2, 2)
    second.unload()


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("absent(Tensor x) -> Tensor", "no operator of this name"),
        ("halved(Tensor x, int places=1) -> Tensor", "declare it as halved"),
        (HALVED.replace("places=1", "places=2"), "declare it as halved"),
        ("with_meta(Tensor x) -> Tensor", "remove it from the declaration"),
        ("inplace_(Tensor(a!) x) -> Tensor(a!)", "remove it from the declaration"),
    ],
)
def test_what_does_not_fit_is_refused(schema: str, message: str) -> None:
    with pytest.raises(RegistrationError, match=message):
        completed(schema).load()


def test_an_operator_of_torch_npu() -> None:
    ops = ow.OperatorSet("npu", existing=True)
    ops.declare("npu_mish(Tensor input) -> Tensor")
    x = torch.empty(2, 3, device="meta")
    with ops.load():
        assert torch.ops.npu.npu_mish(x).shape == (2, 3)
    with pytest.raises(NotImplementedError, match="npu_mish"):
        torch.ops.npu.npu_mish(x)


def test_the_rest_of_a_declaration_is_checked_as_ever() -> None:
    with pytest.raises(InvalidDeclarationError, match="'y'"):
        completed(HALVED, dtypes={"y": "float32"}).load()

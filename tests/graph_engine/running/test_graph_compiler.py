"""How a lowered graph is made cheaper, and run: in TorchScript's interpreter or by Inductor."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair  # noqa: F401 - programs start in a process that has it
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from typer.testing import CliRunner

from opwright.cli import app
from opwright.graph_engine.bridge import runners
from opwright.graph_engine.lowering.lower import Lowered
from opwright.graph_engine.lowering.simplify import simplify
from opwright.graph_engine.running.compilers import choose_compiler, inductor
from opwright.graph_engine.running.program import program_of
from opwright.graph_engine.running.runner import Runner
from opwright.kit.live.registration import end_library
from opwright.twin.environment import choices
from opwright.twin.settings import GraphCompilerNameError, TwinSettings
from tests.graph_engine.agreement import compiled
from tests.twin.on_twin import output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Function = Callable[..., tuple[torch.Tensor, ...]]

aten = torch.ops.aten


def lowered(function: Function, given: Sequence[torch.Tensor], constants: int = 0) -> Lowered:
    """Return a function as the engine lowers it; its last arguments are constants."""
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(tensor) for tensor in given]
        module = make_fx(function)(*fakes)
    count = len(given) - constants
    left = simplify(module, given[count:])
    results = cast("tuple[torch.fx.Node, ...]", module.graph.output_node().args[0])
    outputs = [node.meta["val"] for node in results]
    return Lowered(
        module=module,
        inputs=tuple(range(count)),
        specs=tuple((tuple(each.shape), each.dtype) for each in given[:count]),
        constants=tuple(left),
        outputs=tuple((tuple(each.shape), each.dtype) for each in outputs),
    )


def called(graph: Lowered) -> list[object]:
    """Return the operators of a graph."""
    return [node.target for node in graph.module.graph.nodes if node.op == "call_function"]


def matrices(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    """Return random matrices."""
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def arguments_of_all_kinds(
    x: torch.Tensor, w: torch.Tensor, rows: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Call operators with lists, dtypes, memory formats, text, numbers, nothing, and in place."""
    first, second = torch.split(x, 2)
    y = torch.cat([first, second]) @ w
    y = torch.layer_norm(y, (4,)).to(torch.float64).sum(-1, keepdim=True).expand(4, 4).float()
    y = torch.index_put(y, (rows,), torch.zeros(2, 4))[rows, :] * torch.arange(4)
    y = torch.div(y, 2, rounding_mode="trunc") + torch.full((2, 4), 3.0) + 2
    kept = x.clone(memory_format=torch.contiguous_format)
    x.add_(1)
    pooled = torch.max_pool2d(y[None, None], [1, 2])
    return y, kept, pooled, torch.where(y > 0, y, 0.0), torch.rand(3), y.square().pow(2)


def one_that_takes_a_flag(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Call an operator with a number that is a flag, which TorchScript does not pass."""
    return ((x > 0) & True,)


@pytest.mark.parametrize(
    ("function", "shapes", "is_compiled"),
    [
        pytest.param(arguments_of_all_kinds, [(4, 4), (4, 4)], True, id="all kinds"),
        pytest.param(one_that_takes_a_flag, [(4, 4)], False, id="generated Python"),
    ],
)
def test_a_program_does_what_the_operators_do(
    function: Function, shapes: list[tuple[int, ...]], *, is_compiled: bool
) -> None:
    given = matrices(*shapes)
    if function is arguments_of_all_kinds:
        given.append(torch.tensor([0, 2]))
    program = program_of(lowered(function, given))
    assert isinstance(program, torch.jit.ScriptFunction) == is_compiled
    ours, theirs = [t.clone() for t in given], [t.clone() for t in given]
    torch.manual_seed(5)
    got = program(*ours)
    torch.manual_seed(5)
    assert all(map(torch.equal, (*got, *ours), (*function(*theirs), *theirs)))


def test_a_linear_layer_is_one_operator_again_and_equal_to_the_last_bit() -> None:
    def taken_apart(
        x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor, one: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        return (x @ w.t() * one + bias,)

    given = [*matrices((8, 16), (32, 16), (32,)), torch.ones(())]
    graph = lowered(taken_apart, given, constants=1)
    assert called(graph) == [aten.t.default, aten.addmm.default]
    assert graph.constants == ()
    (got,) = program_of(graph)(*given[:3])
    assert torch.equal(got, torch.nn.functional.linear(*given[:3]))


def test_a_product_and_a_sum_of_the_model_stay_two_operators() -> None:
    graph = lowered(lambda x, w, bias: (x @ w + bias,), matrices((8, 16), (16, 4), (4,)))
    assert called(graph) == [aten.mm.default, aten.add.Tensor]


def test_scalars_are_numbers_and_what_nobody_uses_is_not_computed() -> None:
    def step(x: torch.Tensor, two: torch.Tensor) -> tuple[torch.Tensor, ...]:
        aten.native_layer_norm(x, [4], None, None, 1e-5)
        return (x**two,)

    given = [*matrices((4, 4)), torch.tensor(2.0)]
    graph = lowered(step, given, constants=1)
    assert called(graph) == [aten.pow.Tensor_Scalar]
    (got,) = program_of(graph)(given[0])
    assert torch.equal(got, given[0] ** 2)


@pytest.mark.parametrize(
    "constant", [torch.tensor(2.0, dtype=torch.float64), torch.full((1, 1, 1), 2.0)]
)
def test_a_constant_that_changes_dtype_or_shape_stays_a_tensor(constant: torch.Tensor) -> None:
    given = [torch.arange(4), constant]
    graph = lowered(lambda x, y: (x * y,), given, constants=1)
    assert called(graph) == [aten.mul.Tensor]
    (got,) = program_of(graph)(given[0], *graph.constants)
    wanted = given[0] * constant
    assert got.dtype == wanted.dtype
    assert torch.equal(got, wanted)


def test_a_graph_that_writes_keeps_its_copies() -> None:
    def step(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        before = (x + 0).clone()
        x.mul_(2)
        return before, x.clone()

    given = matrices((4, 4))
    wanted = step(given[0].clone())
    assert all(map(torch.equal, program_of(lowered(step, given))(given[0].clone()), wanted))


def addresses(*tensors: torch.Tensor) -> bytes:
    """Return the addresses of tensors as the native side passes them."""
    return b"".join(tensor.data_ptr().to_bytes(8, "little") for tensor in tensors)


def test_a_run_uses_the_memory_and_the_threads_that_it_is_given() -> None:
    x, y = matrices((4, 4), (4, 4))
    graph = lowered(lambda x, y: (x + y, x - y), [x, y])
    runner = Runner(graph, program_of(graph))
    total, difference = torch.empty(4, 4), torch.empty(4, 4)
    threads = torch.get_num_threads()
    try:
        runner.run(addresses(x, y, total, difference), 1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(total, x + y)
    # The same memory with other values, other memory, and outputs over the inputs.
    x.fill_(3)
    runner.run(addresses(x, y, total, difference), threads)
    assert torch.equal(total, 3 + y)
    swapped = torch.empty(4, 4)
    runner.run(addresses(y, x, total, swapped), threads)
    assert torch.equal(swapped, -difference)
    wanted = (x + y, x - y)
    runner.run(addresses(x, y, x, y), threads)
    assert all(map(torch.equal, (x, y), wanted))


def test_an_output_may_lie_where_another_output_looks_at_an_input() -> None:
    """As in a step that writes its input and answers its old values, seen as another shape."""
    (x,) = matrices((4, 4))
    graph = lowered(lambda x: (x + 1, x.view(2, 8), x.t()), [x])
    wanted = (x.view(2, 8).clone(), x.t().clone())
    runner = Runner(graph, program_of(graph))
    flat, turned = torch.empty(2, 8), torch.empty(4, 4)
    runner.run(addresses(x, x, flat, turned), torch.get_num_threads())
    assert all(map(torch.equal, (flat, turned, x), (*wanted, wanted[1].t() + 1)))
    runner.run(addresses(x, turned, flat, x), torch.get_num_threads())
    assert torch.equal(x, (wanted[1].t() + 1).t())


PAGES = Path("/proc/self/statm")
BYTES = 8 << 20  # of each tensor below


@pytest.fixture(scope="module")
def resident() -> Iterator[list[int]]:
    """Define probe(x) -> x + 1, and return the bytes of the process that each call finds."""
    library: Any = cast("Any", torch.library).Library("graph_compiler_test", "DEF")
    library.define("probe(Tensor x) -> Tensor")
    found: list[int] = []

    def probe(x: torch.Tensor) -> torch.Tensor:
        found.append(int(PAGES.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE"))
        return x + 1

    library.impl("probe", probe, "CPU")
    library.impl("probe", torch.empty_like, "Meta")
    yield found
    end_library(library)


@pytest.mark.parametrize("flag", [False, True], ids=["interpreter", "generated Python"])
def test_tensors_within_a_graph_are_dropped_after_their_last_use(
    resident: list[int], *, flag: bool
) -> None:
    def chain(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        for _ in range(20):
            x = torch.ops.graph_compiler_test.probe(x * 2)
        return (x, (x > 0) & True) if flag else (x,)

    given = torch.ones(BYTES // 4)
    program = program_of(lowered(chain, [given]))
    assert isinstance(program, torch.jit.ScriptFunction) != flag
    program(given)
    resident.clear()
    program(given)
    assert max(resident) - resident[0] < 5 * BYTES


def test_the_compiler_is_a_setting_of_the_twin() -> None:
    variables = choices(TwinSettings(graph_compiler="inductor"))
    assert variables == {"OPWRIGHT_GRAPH_COMPILER": "inductor"}
    assert choose_compiler(variables) is inductor
    assert choose_compiler({}) is program_of
    with pytest.raises(GraphCompilerNameError, match="allowed: eager, inductor"):
        choose_compiler({"OPWRIGHT_GRAPH_COMPILER": "gcc"})
    refused = CliRunner().invoke(app, ["run", "--graph-compiler", "gcc", "--", "true"]).exception
    assert isinstance(refused, GraphCompilerNameError)
    assert refused.where == "--graph-compiler"


def compile_by_inductor() -> None:
    """Fail without a compiler, make one, and compile for two sizes."""
    layers = torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16)
    model = torch.nn.Sequential(*layers).to("npu")

    def step(x: torch.Tensor, counter: torch.Tensor) -> torch.Tensor:
        counter.add_(1)
        return torch.softmax(model(x), -1) * counter.sum()

    cxx = Path(os.environ["CXX"])
    graph = compiled(lambda x: x.sin() + 1)
    with pytest.raises(RuntimeError, match="OPW-N020") as raised:
        graph(torch.ones(2).to("npu"))
    assert str(cxx) in str(raised.value)
    cxx.symlink_to(shutil.which("g++") or "")
    with torch.no_grad():
        function = compiled(step, dynamic=True)
        ours, theirs = torch.zeros(3).to("npu"), torch.zeros(3).to("npu")
        for size in (4, 6, 4):
            x = torch.randn(size, 8).to("npu")
            torch.testing.assert_close(function(x, ours), step(x, theirs), rtol=1e-5, atol=1e-5)
    assert ours.tolist() == [3.0, 3.0, 3.0]
    programs = [type(runner.program).__name__ for runner in runners.values()]
    assert programs == ["function", "function"]


def test_inductor_says_what_it_lacks_or_compiles_each_shape_and_keeps_writes(
    tmp_path: Path,
) -> None:
    cxx = str(tmp_path / "compiler")  # the program makes it, after it has been missed
    variables = {"CXX": cxx, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    output(compile_by_inductor, OPWRIGHT_GRAPH_COMPILER="inductor", **variables)

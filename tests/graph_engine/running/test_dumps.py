"""Data dumps of graphs: which nodes and runs, and what the files hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from opwright.graph_engine.errors import OptionError
from opwright.graph_engine.graph.read import read_model
from opwright.graph_engine.lowering.variables import Variables
from opwright.graph_engine.options.options import read_steps
from opwright.graph_engine.running.compiled_graph import CompiledGraph
from opwright.graph_engine.running.dumping import Dumper, DumpPlan, overflows, plan_for
from opwright.graph_engine.tensors.four_bits import INT4, unpack
from opwright.twin.dump import find_dumps
from tests.graph_engine import graphs
from tests.graph_engine.graphs import FLOAT, SHAPE, Op, binary, constant, data, model, output, unary

if TYPE_CHECKING:
    from opwright.twin.dump import DumpFile

X = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
TRUE = torch.tensor(True)  # noqa: FBT003 - a value


@pytest.fixture(autouse=True)
def _messages(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs.provide_proto(monkeypatch)


def plan(folder: Path, **changes: Any) -> DumpPlan:  # noqa: ANN401 - fields
    """Return a plan for everything."""
    fields = {"inputs": True, "outputs": True, "statistics": False, **changes}
    return DumpPlan(folder=str(folder), **fields)


def run(folder: DumpPlan, made: Any, *runs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:  # noqa: ANN401 - a message
    """Run a dumped graph with each of these inputs; return the last results."""
    graph = read_model(made.SerializeToString())
    compiled = CompiledGraph(graph, variables=Variables(), dumper=Dumper(graph, folder, 7))
    return [graphs.run_compiled(compiled, *tensors) for tensors in runs][-1]


def dumped(folder: Path) -> dict[str, DumpFile]:
    """Return the last dump of each operator."""
    return {each.name: each for each in find_dumps(folder)}


def test_every_node_is_dumped_with_what_it_took_and_gave(tmp_path: Path) -> None:
    made = model(
        data("x", 0),
        constant("one", torch.ones(SHAPE)),
        binary("Add", "scope/sum", "x:0", "one:0"),
        unary("Relu", "relu", "scope/sum:0"),
        output("relu:0"),
    )
    (result,) = run(plan(tmp_path), made, (X,))
    found = dumped(tmp_path)
    assert [*found] == ["scope/sum", "relu"]
    total = found["scope/sum"]
    assert (total.type, total.stream) == ("Add", 0)
    assert total.path.relative_to(tmp_path).parts[:-1] == ("0", "main", "7", "0")
    assert total.path.name.startswith("Add.scope_sum.")
    for tensor, expected in zip(total.inputs, (X, torch.ones(SHAPE)), strict=True):
        torch.testing.assert_close(torch.from_numpy(tensor.array.copy()), expected)
    torch.testing.assert_close(torch.from_numpy(total.outputs[0].array.copy()), X + 1)
    torch.testing.assert_close(torch.from_numpy(found["relu"].outputs[0].array.copy()), result)


def test_runs_and_nodes_are_chosen(tmp_path: Path) -> None:
    made = model(data("x", 0), unary("Abs", "a", "x:0"), unary("Neg", "b", "a:0"), output("b:0"))
    chosen = plan(tmp_path, steps=read_steps("1|3-4"), layers=frozenset({"Neg"}), inputs=False)
    run(chosen, made, *[(X + i,) for i in range(6)])
    found = list(find_dumps(tmp_path))
    assert [each.path.parent.name for each in found] == ["1", "3", "4"]
    assert {each.name for each in found} == {"b"}
    assert not any(each.inputs for each in found)
    assert found[1].outputs[0].array.tolist() == (-(X + 3).abs()).tolist()


def test_what_a_node_writes_is_dumped_as_it_was_before(tmp_path: Path) -> None:
    made = model(
        Op("Variable", "sum", outputs={"y": (FLOAT, SHAPE)}),
        data("x", 0),
        Op("AssignAdd", "add", {"ref": "sum:0", "value": "x:0"}, {"ref": (FLOAT, SHAPE)}),
        output("add:0"),
    )
    (result,) = run(plan(tmp_path), made, (X,), (X,))
    torch.testing.assert_close(result, 2 * X)
    add = dumped(tmp_path)["add"]
    assert add.inputs[0].array.tolist() == X.tolist()
    assert add.outputs[0].array.tolist() == (2 * X).tolist()


def test_a_node_that_calls_graphs_is_dumped_as_one(tmp_path: Path) -> None:
    branch = [data("a", 0), unary("Abs", "f", "a:0"), output("f:0")]
    made = model(
        data("cond", 0, graphs.BOOL, ()),
        data("x", 1),
        Op(
            "If",
            "if",
            {"cond": "cond:0", "input0": "x:0"},
            {"output0": (FLOAT, SHAPE)},
            graphs=["then", "else"],
        ),
        output("if:0"),
        **{"then": branch, "else": branch},
    )
    run(plan(tmp_path), made, (TRUE, X))
    found = dumped(tmp_path)
    assert [*found] == ["if"]
    assert found["if"].outputs[0].array.tolist() == X.abs().tolist()


def test_only_nodes_that_overflow_are_dumped_where_that_is_asked(tmp_path: Path) -> None:
    made = model(
        data("x", 0),
        constant("large", torch.full(SHAPE, 3e38)),
        unary("Abs", "a", "x:0"),
        binary("Mul", "b", "a:0", "large:0"),
        binary("Sub", "c", "b:0", "b:0"),
        unary("Abs", "d", "a:0"),
        output("c:0", "d:0"),
    )
    asked = {"ge.exec.enableDumpDebug": "1", "ge.exec.dumpPath": str(tmp_path)}
    chosen = plan_for(read_model(made.SerializeToString()), asked)
    assert chosen is not None
    run(chosen, made, (X,))
    found = dumped(tmp_path)
    assert [*found] == ["b", "c"]
    assert found["b"].inputs[0].array.tolist() == X.abs().tolist()
    assert found["b"].outputs[0].array.max() == float("inf")


def test_dumps_of_all_nodes_and_of_those_that_overflow_are_not_made_together() -> None:
    graph = read_model(model(data("x", 0), output("x:0")).SerializeToString())
    with pytest.raises(OptionError, match="enableDumpDebug"):
        plan_for(graph, {"ge.exec.enableDump": "1", "ge.exec.enableDumpDebug": "1"})


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64])
def test_overflows_of_every_floating_type_are_seen(dtype: torch.dtype) -> None:
    assert overflows(torch.tensor([1.0, float("nan")]).to(dtype))
    assert not overflows(torch.tensor([1.0, -2.0]).to(dtype))
    assert not overflows(torch.tensor([1]))


def written(folder: Path, *tensors: torch.Tensor) -> DumpFile:
    """Return what is dumped of a node with these inputs."""
    graph = read_model(
        model(data("x", 0), unary("Abs", "a", "x:0"), output("a:0")).SerializeToString()
    )
    node = next(each for each in graph.nodes if each.name == "a")
    Dumper(graph, plan(folder), 7).write(node, 0, tensors, ())
    return dumped(folder)["a"]


def test_numbers_of_four_bits_are_dumped_in_pairs(tmp_path: Path) -> None:
    numbers = torch.tensor([[1, -1, 2], [3, -8, 7]], dtype=torch.int8)
    whole, odd = written(tmp_path, numbers.view(INT4).t(), numbers[0].view(INT4)).inputs
    assert (whole.dtype, whole.shape) == ("int4", (3, 2))
    pairs = unpack(torch.frombuffer(bytearray(whole.data), dtype=torch.uint8), INT4)
    assert pairs.view(torch.int8).tolist() == numbers.t().flatten().tolist()
    assert (odd.shape, [*odd.data]) == ((3,), [0xF1, 0x02])


def test_a_view_that_is_negative_or_conjugate_is_dumped_with_its_values(tmp_path: Path) -> None:
    conjugate = torch.tensor([1 + 2j, 3 - 4j]).conj()
    negative = conjugate.imag
    assert negative.is_neg()
    found = written(tmp_path, negative, conjugate).inputs
    assert found[0].array.tolist() == negative.tolist()
    assert found[1].array.tolist() == conjugate.tolist()


def test_a_relative_path_means_the_folder_of_the_time_of_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = read_model(model(data("x", 0), output("x:0")).SerializeToString())
    found = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        chosen = plan_for(graph, {"ge.exec.enableDump": "1"})
        assert chosen is not None
        again = plan_for(graph, {"ge.exec.enableDump": "1", "ge.exec.dumpPath": str(Path.cwd())})
        assert again is not None
        assert again.folder == chosen.folder
        found.append(Path(chosen.folder).absolute().parent)
    assert found == [tmp_path / "first", tmp_path / "second"]

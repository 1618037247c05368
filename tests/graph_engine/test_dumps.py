"""Data dumps of graphs and of single operators, and refusals that stop nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from opwright.graph_engine.compiled import CompiledGraph
from opwright.graph_engine.dumping import Dumper, DumpPlan, overflows, plan_for
from opwright.graph_engine.errors import OptionError
from opwright.graph_engine.four_bits import INT4, unpack
from opwright.graph_engine.options import OPTIONS, Effect, read_steps
from opwright.graph_engine.read import read_model
from opwright.graph_engine.variables import Variables
from opwright.twin.dump import find_dumps
from tests.graph_engine import graphs
from tests.graph_engine.graphs import FLOAT, SHAPE, Op, binary, constant, data, model, output, unary
from tests.twin.on_twin import printed
from tests.twin.on_twin import run as run_script

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


SCRIPT = """
import contextlib
import io
import json
from pathlib import Path
import os
import pathlib
import torchair
from opwright.twin.dump import find_dumps
from opwright.graph_engine.options import OPTIONS, Effect, read_steps

found = {}

def configured(general=(), **changes):
    config = torchair.CompilerConfig()
    for name, value in changes.items():
        setattr(config.dump_config, name, value)
    real = config.as_dict

    def as_dict(*mode):
        own, shared = real(*mode)
        return own, {**shared, **dict(general)}

    object.__setattr__(config, "as_dict", as_dict)
    return config

def compiled(function, config, dynamic=False):
    torch._dynamo.reset()
    backend = torchair.get_npu_backend(compiler_config=config)
    return torch.compile(function, backend=backend, dynamic=dynamic)

def error_text(body):
    try:
        return body()
    except RuntimeError as error:
        return str(error)

def step(x, y):
    return torch.relu(x + y) * 2

def works():
    x = torch.randn(2, 3)
    torch.testing.assert_close(compiled(step, configured())(x.npu(), x.npu()).cpu(), step(x, x))
    return "equal"

def listed(folder):
    torch.npu.synchronize()
    return [
        [each.type, each.path.parent.name, [t.array.tolist() for t in each.inputs],
         [t.array.tolist() for t in each.outputs]]
        for each in find_dumps(pathlib.Path(folder))
    ]

"""


def results(folder: Path, body: str) -> dict[str, Any]:
    """Run a body of the script in a folder; return what it found, and what it reported."""
    (folder / "script.py").write_text(SCRIPT + body + "\nprint(json.dumps(found))\n")
    done = run_script(
        f"import os\nos.chdir({str(folder)!r})\n# torchair\n"
        "exec(compile(open('script.py').read(), 'script.py', 'exec'))"
    )
    found: dict[str, Any] = json.loads(printed(done).splitlines()[-1])
    return {**found, "reported": done.stderr}


@pytest.mark.twin
def test_torchair_asks_for_dumps(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        """
os.mkdir("dumps")
config = configured(enable_dump=True, dump_path="dumps", dump_mode="all", dump_step="0|2",
                    dump_layer="Add Relu")
function = compiled(step, config, dynamic=True)
for rows in (2, 3, 4):
    x = torch.full((rows, 7), float(rows)).npu()
    torch.testing.assert_close(function(x, -2 * x), step(x, -2 * x))
found["dumps"] = listed("dumps")
found["plain"] = works()
""",
    )
    assert [each[:2] for each in found["dumps"]] == [
        ["Add", "0"],
        ["Relu", "0"],
        ["Add", "2"],
        ["Relu", "2"],
    ]
    assert found["dumps"][2][2:] == [[[[4.0] * 7] * 4, [[-8.0] * 7] * 4], [[[-4.0] * 7] * 4]]
    assert found["plain"] == "equal"


@pytest.mark.twin
def test_a_configuration_of_acl_dumps_graphs_and_operators(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        """
def write(name, **entries):
    os.mkdir(name)
    pathlib.Path(name + ".json").write_text(json.dumps({"dump": {"dump_path": name, **entries}}))
    return name + ".json"

config = configured(dump_config_path=write("graphs", dump_list=[{}], dump_data="stats"))
x = torch.ones(2, 3).npu()
compiled(step, config)(x, x)
torch.npu.synchronize()
found["tables"] = sorted(path.read_text().splitlines()[1] for path in
                         pathlib.Path("graphs").rglob("*.csv") if path.name[:3] in ("Add", "Mul"))
torch_npu.npu.finalize_dump()

torch_npu.npu.init_dump()
wrong = write("wrong", dump_list=[{}], dump_debug="on")
torch_npu.npu.set_dump(wrong)  # torch_npu drops the error
torch.add(x, 1)
torch_npu.npu.set_dump(write("single", dump_list=[], dump_op_switch="on", dump_mode="all"))
y = torch.arange(6.).npu().view(3, 2)
torch.add(x, y.t())
torch.cat([x.bfloat16(), x.bfloat16()])
x.mul_(2)
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    z = torch.neg(x)
graph.replay()
torch.npu.set_compile_mode(jit_compile=True)  # legacy operators
torch.mul(x, y.t().contiguous())
torch.npu.synchronize()
torch_npu.npu.finalize_dump()
torch.add(x, y.t())
found["single"] = listed("single")
found["wrong"] = listed("wrong")
""",
    )
    assert found["tables"] == [
        "Output,0,24,DT_FLOAT,ND,2x3,2,2,2,6,0,0,0",
        "Output,0,24,DT_FLOAT,ND,2x3,4,4,4,6,0,0,0",
    ]
    assert found["reported"].count("opwright: aclmdlSetDump: 'dump_debug' is on, beside") == 1
    assert found["wrong"] == []
    single = {each[0]: each[2:] for each in found["single"]}
    ones, view = [[1.0] * 3] * 2, [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    assert single["Add"] == [[ones, view], [[[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]]]
    assert single["Cat"] == [[ones, ones], [ones * 2]]
    assert single["InplaceMuls"] == [[ones], [[[2.0] * 3] * 2]]
    assert single["Neg"] == [[[[2.0] * 3] * 2], [[[-2.0] * 3] * 2]]
    assert single["Mul"][1] == [[[0.0, 4.0, 8.0], [2.0, 6.0, 10.0]]]


# TorchAir repeats a failed aclmdlSetDump with every later graph of the process.
@pytest.mark.twin
@pytest.mark.parametrize(
    ("entries", "refused"),
    [
        ({"dump_debug": "on"}, None),
        ({"dump_scene": "lite_exception"}, "'dump_scene' is not available"),
        ({"dump_list": [{}], "dump_stats": ["Max"]}, "'dump_stats' is not available"),
        ({"dump_list": [{"opname_range": []}]}, "'opname_range' of 'dump_list' is not available"),
    ],
    ids=["dump_debug", "dump_scene", "dump_stats", "opname_range"],
)
def test_a_configuration_refuses_at_most_the_graph_that_brings_it(
    tmp_path: Path, entries: dict[str, Any], refused: str | None
) -> None:
    found = results(
        tmp_path,
        f"""
os.mkdir("dumps")
pathlib.Path("acl.json").write_text(json.dumps({{"dump": {{"dump_path": "dumps", **{entries!r}}}}}))
config = configured(dump_config_path="acl.json")
x = torch.full((2, 3), 3e38).npu()
first = error_text(lambda: compiled(step, config)(x, x).sum().item())
found["first"] = first if isinstance(first, str) else None
found["plain"] = works()
found["dumps"] = listed("dumps")
""",
    )
    assert found["plain"] == "equal"
    if refused is None:
        assert found["first"] is None
        types = [each[0] for each in found["dumps"]]
        assert types[:3] == ["Add", "Relu", "Mul"]  # a cast of the result may follow
    else:
        assert refused in found["first"]
        assert "OPW-N006" in found["first"]
        assert found["dumps"] == []


# Options of GE's initialization are the same for all graphs but for these; TorchAir sets others.
REFUSED = {
    **{
        option.name: "1"
        for option in OPTIONS.values()
        if option.effect is Effect.REFUSED and option.name.startswith("ge.")
    },
    "ge.topoSortingMode": "9",
    "ge.unheard": "1",
}


@pytest.mark.twin
def test_options_of_the_engine_refuse_the_graphs_that_ask_for_them(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        f"""
refused = {REFUSED!r}
x = torch.ones(2, 3).npu()

def refusal(general):
    return error_text(lambda: compiled(step, configured(general))(x, x).sum().item())

found["all"] = refusal(refused)
found["each"] = {{name: refusal({{name: value}}) for name, value in refused.items()}}
found["again"] = refusal(refused)
found["plain"] = works()
""",
    )
    for text in (found["all"], found["again"]):
        assert any(f"option '{name}'" in text for name in REFUSED)
    for name, text in found["each"].items():
        assert f"option '{name}'" in text
        assert "OPW-N00" in text
    assert found["plain"] == "equal"


@pytest.mark.twin
def test_options_of_a_graph_refuse_that_graph_alone(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        """
from torchair.ge._ge_graph import GeGraph

def by_hand(options):
    graph = GeGraph(name="by_hand")
    op = graph.op.add(name="x", type="Data")
    op.attr["index"].i = 0
    op.input_desc.add(name="x", dtype=1).shape.dim.append(3)
    op.output_desc.add(name="y", dtype=1).shape.dim.append(3)
    op = graph.op.add(name="f", type="Neg", input=["x:0"])
    op.input_desc.add(name="x")
    op.output_desc.add(name="y", dtype=1).shape.dim.append(3)
    op = graph.op.add(name="end", type="NetOutput", input=["f:0"])
    op.input_desc.add(name="input0").shape.dim.append(3)
    graph.attr["_input_placements"].list.i.append(1)
    graph.attr["_output_dtypes"].list.i.append(0)
    graph.attr["_executor_type"].i = 1
    graph.load(options)
    graph.compile()
    return graph.run([torch.ones(3).npu()])[0].cpu().tolist()

works()
for name, option in OPTIONS.items():
    if option.pattern != r"(?s).*" and option.effect is not Effect.TORCHAIR:
        found[name] = error_text(lambda: by_hand({name: "?"}))
        assert by_hand({}) == [-1.0] * 3, name
""",
    )
    del found["reported"]
    assert len(found) > 30
    for name, text in found.items():
        assert f"option '{name}'" in text


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

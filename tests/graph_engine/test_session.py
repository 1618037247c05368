"""A session of the graph engine, driven by the unmodified TorchAir: its calls and answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from opwright.graph_engine.options import OPTIONS
from tests.twin.on_twin import output

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import json
import os
import pathlib
import torchair
from opwright import twin
from opwright.graph_engine import bridge
from torchair import register_fx_node_ge_converter
from torchair.ge import custom_op
from torchair.ge._ge_graph import GeGraph
from torchair.inference import set_dim_gears

found = {}

def configured(**changes):
    config = torchair.CompilerConfig()
    config.ge_config.aicore_num = "12|24"
    config.ge_config.oo_level = "O1"
    config.ge_config.oo_constant_folding = True
    config.ge_config.oo_dead_code_elimination = False
    config.ge_config.optimization_switch = "A:on;B:off"
    config.ge_config.export_compile_stat = "0"
    for name, value in changes.items():
        owner = config
        *path, last = name.split("__")
        for part in path:
            owner = getattr(owner, part)
        setattr(owner, last, value)
    return config

def compiled(function, dynamic=False, **changes):
    torch._dynamo.reset()
    backend = torchair.get_npu_backend(compiler_config=configured(**changes))
    return torch.compile(function, backend=backend, dynamic=dynamic)

def error_of(body):
    try:
        return body()
    except Exception as error:
        return str(error)

def step(x):
    return torch.relu(x) * 2

def works(**changes):
    function = compiled(step, **changes)
    for _ in range(2):
        x = torch.randn(2, 3)
        torch.testing.assert_close(function(x.npu()).cpu(), step(x))
    return "equal"

# Options, and one that only newer releases of TorchAir have.
has_streams = hasattr(torchair.CompilerConfig().ge_config, "multistream_parallel_mode")
newer = {"ge_config__multistream_parallel_mode": "cv"} if has_streams else {}
found["options"] = works(
    experimental_config__static_model_ops_lower_limit=10,
    experimental_config__tiling_schedule_optimize=True,
    experimental_config__topology_sorting_strategy="StableRDFS",
    experimental_config__memory_efficiency=True,
    experimental_config__enable_ref_data=True,
    **newer,
)
found["refreshable"] = [graph.settings.refreshable for graph in bridge.graphs.values()]
found["frozen"] = works(experimental_config__frozen_parameter=True)

config = configured(
    dump_config__enable_dump=True,
    dump_config__dump_step="0",
    dump_config__dump_layer="Add",
    experimental_config__static_model_ops_lower_limit=3,
    **newer,
    debug__deadlock_check=True,
    export__export_mode=True,
    aoe_config__aoe_mode="2",
)
found["passed"] = sorted({name for options in config.as_dict() for name in options})

# Dumps.
os.mkdir("dumps")
for kind in ("txt", "pbtxt", "py"):
    works(debug__graph_dump__type=kind, debug__graph_dump__path="dumps")
found["dumps"] = sorted(
    (path.suffix, "Relu" in path.read_text()) for path in pathlib.Path("dumps").iterdir()
    if "optimized" in path.name
)

class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

torchair.dynamo_export(
    torch.ones(2).npu(), model=Net(), export_path="exported", export_name="net", config=configured()
)
exported = GeGraph(serialized_model_def=pathlib.Path("exported/net.air").read_bytes())
found["exported"] = [op.type for op in exported.op]

# Scopes and streams.
def scoped(x):
    with torchair.scope.super_kernel("both", "stream-fusion=1"):
        y = x * 2
    with torchair.scope.npu_stream_switch("second", 3):
        with torchair.scope.limit_core_num(4, 8):
            z = torch.mm(x, x.t())
    return y.sum() + torchair.scope.npu_wait_tensor(z, y)

x = torch.randn(2, 3)
result = compiled(scoped, debug__deadlock_check=True)(x.npu()).cpu()
torch.testing.assert_close(result, (x * 2).sum() + x @ x.t())
dumps = [str(path) for path in pathlib.Path().glob("debug_output_graph_*.json")]
dump = pathlib.Path(min(dumps, key=len))  # beside it lies one that TorchAir has filtered
found["scopes"] = json.loads(dump.read_text())

# Errors.
@twin.kernel("REG_OP(Late).INPUT(x, TensorType({DT_FLOAT})).OUTPUT(y, TensorType({DT_FLOAT}))"
             ".OP_END_FACTORY_REG(Late)")
def late(x, y):
    if x.sum() > 0:
        raise ValueError("too late")
    y.copy_(x)

library = torch.library.Library("my", "DEF")
library.define("late(Tensor x) -> Tensor")
library.impl("late", torch.empty_like, "Meta")
library.define("lost(Tensor x) -> Tensor")
library.impl("lost", torch.empty_like, "Meta")

@register_fx_node_ge_converter(torch.ops.my.late.default)
def convert(x, meta_outputs=None):
    return custom_op("Late", inputs={"x": x}, outputs=["y"])

@register_fx_node_ge_converter(torch.ops.my.lost.default)
def convert(x, meta_outputs=None):
    return custom_op("BNInferenceD", inputs={"x": x}, outputs=["y"])

function = compiled(lambda x: torch.ops.my.late(x) * 2)
found["enqueued"] = list(function(torch.ones(3).npu()).shape)
found["synchronized"] = error_of(torch.npu.synchronize)
found["next run"] = function(-torch.ones(3).npu()).cpu().tolist()

def lost(x):
    y = x * 2
    return torch.ops.my.lost(y) + 1

found["lost"] = error_of(lambda: compiled(lost)(x.npu()))
found["next graph"] = works()

# Graphs by hand, beside those of TorchAir in one session.
def by_hand(value, **options):
    graph = GeGraph(name="by_hand")
    for name, index in (("cond", 0), ("x", 1)):
        op = graph.op.add(name=name, type="Data")
        op.attr["index"].i = index
        for descs, port in ((op.input_desc, "x"), (op.output_desc, "y")):
            desc = descs.add(name=port, dtype=11 if name == "cond" else 1)
            desc.shape.dim.extend([] if name == "cond" else [3])
    op = graph.op.add(name="if", type="If", input=["cond:0", "x:0"], subgraph_name=["abs", "neg"])
    op.input_desc.add(name="cond")
    op.input_desc.add(name="input0")
    op.output_desc.add(name="output0", dtype=1).shape.dim.append(3)
    op = graph.op.add(name="end", type="NetOutput", input=["if:0"])
    op.input_desc.add(name="input0").shape.dim.append(3)
    for type_ in ("Abs", "Neg"):
        branch = graph._model.graph.add(name=type_.lower())
        op = branch.op.add(name="x", type="Data")
        op.output_desc.add(name="y", dtype=1).shape.dim.append(3)
        op = branch.op.add(name="f", type=type_, input=["x:0"])
        op.input_desc.add(name="x")
        op.output_desc.add(name="y", dtype=1).shape.dim.append(3)
        branch.op.add(name="end", type="NetOutput", input=["f:0"]).input_desc.add(name="input0")
    graph.attr["_input_placements"].list.i.extend([1, 1])
    graph.attr["_output_dtypes"].list.i.append(0)
    graph.attr["_executor_type"].i = 1
    graph.load(options)
    graph.compile()
    conditions = [torch.tensor(value) for value in (True, False)]
    return [graph.run([c.npu(), value.npu()])[0].cpu().tolist() for c in conditions]

found["by hand"] = by_hand(torch.tensor([1.0, -2.0, 3.0]))
wrong = {"ge.unheard": "1", "ge.topoSortingMode": "up", "ge.exec.outputReuseMemIndexes": "4"}
for name, value in wrong.items():
    found[name] = error_of(lambda: by_hand(torch.ones(3), **{name: value}))
found["after refusals"] = by_hand(torch.ones(3))

# Gears.
function = compiled(lambda x: torch.relu(x) + x.shape[0], dynamic=True)
for rows in (4, 8, 16, 4):
    x = torch.randn(rows, 3).npu()
    set_dim_gears(x, {0: [4, 8, 16]})
    torch.testing.assert_close(function(x), torch.relu(x) + rows)
found["gears"] = [len(g.settings.gears.shapes) for g in bridge.graphs.values() if g.settings.gears]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("session")
    (folder / "script.py").write_text(SCRIPT)
    lines = output(
        f"import os\nos.chdir({str(folder)!r})\n"
        "exec(compile(open('script.py').read(), 'script.py', 'exec'))"
    )
    result: dict[str, Any] = json.loads(lines.splitlines()[-1])
    return result


pytestmark = pytest.mark.twin


def test_options_of_every_configuration_are_accepted(found: dict[str, Any]) -> None:
    assert found["options"] == "equal"
    assert found["refreshable"] == [True]
    assert found["frozen"] == "equal"


def test_the_table_has_every_option_of_a_configuration(found: dict[str, Any]) -> None:
    assert len(found["passed"]) > 30
    assert set(found["passed"]) <= set(OPTIONS)


def test_graphs_are_dumped_and_exported(found: dict[str, Any]) -> None:
    assert found["dumps"] == [[".pbtxt", True], [".py", True], [".txt", True]]
    assert "Relu" in found["exported"]


def test_scopes_are_visible_in_the_graph_that_is_reported(found: dict[str, Any]) -> None:
    nodes = {event["name"]: event["args"]["Arguments"] for event in found["scopes"][1:]}
    product = next(node for node in nodes.values() if "aten.mm" in node.get("from", ""))
    assert product["stream"] == "second"
    assert (product["_op_aicore_num"], product["_op_vectorcore_num"]) == ("4", "8")
    assert "_super_kernel_scope" not in product
    double = next(node for node in nodes.values() if "aten.mul" in node.get("from", ""))
    assert double["stream"] == "default"
    assert (double["_super_kernel_scope"], double["_super_kernel_options"]) == (
        "both",
        "stream-fusion=1",
    )


def test_a_run_is_enqueued_and_its_error_is_reported_by_the_next_synchronization(
    found: dict[str, Any],
) -> None:
    assert found["enqueued"] == [3]
    assert "node 'Late' (Late), FX node 'late' (my.late.default)" in found["synchronized"]
    assert "ValueError: too late (script.py:" in found["synchronized"]
    assert found["next run"] == [-2.0] * 3


def test_a_type_without_a_kernel_is_named_with_the_line_of_python(found: dict[str, Any]) -> None:
    line = 1 + SCRIPT[: SCRIPT.index("return torch.ops.my.lost(y)")].count("\n")
    assert "E10501" in found["lost"]
    assert "(BNInferenceD), FX node 'lost' (my.lost.default)" in found["lost"]
    assert f'File "script.py", line {line}, in lost' in found["lost"]
    assert found["next graph"] == "equal"


def test_a_graph_made_by_hand_has_control_flow(found: dict[str, Any]) -> None:
    assert found["by hand"] == [[1.0, 2.0, 3.0], [-1.0, 2.0, -3.0]]
    assert found["after refusals"] == [[1.0] * 3, [-1.0] * 3]


def test_options_are_refused_by_name(found: dict[str, Any]) -> None:
    assert "OPW-N008" in found["ge.unheard"]
    assert "option 'ge.unheard'" in found["ge.unheard"]
    assert "OPW-N006" in found["ge.topoSortingMode"]
    assert "option 'ge.topoSortingMode'" in found["ge.topoSortingMode"]
    assert "output 4" in found["ge.exec.outputReuseMemIndexes"]


def test_gears_have_one_graph(found: dict[str, Any]) -> None:
    assert found["gears"] == [3]

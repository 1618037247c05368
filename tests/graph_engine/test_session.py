"""A session of the graph engine, driven by the unmodified TorchAir: its calls and answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu
import torchair
from torchair.ge import custom_op
from torchair.ge._ge_graph import GeGraph
from torchair.inference import set_dim_gears

from opwright import twin
from opwright.graph_engine import bridge
from opwright.graph_engine.options.options import OPTIONS
from tests.graph_engine.agreement import new_library, run_to_the_end

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.twin


def configured(**changes: object) -> Any:  # noqa: ANN401 - a configuration of TorchAir
    """Return a configuration; `a__b` stands for the entry `b` of its part `a`."""
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


def newer() -> dict[str, object]:
    """Return changes of options that only newer releases of TorchAir have."""
    has_streams = hasattr(torchair.CompilerConfig().ge_config, "multistream_parallel_mode")
    return {"ge_config__multistream_parallel_mode": "cv"} if has_streams else {}


def compiled(
    function: Callable[..., object], *, dynamic: bool = False, **changes: object
) -> Callable[..., Any]:
    torch._dynamo.reset()  # noqa: SLF001 - torch.compiler.reset is not in all versions
    backend = torchair.get_npu_backend(compiler_config=configured(**changes))
    return torch.compile(function, backend=backend, dynamic=dynamic)


def step(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * 2


def assert_works(**changes: object) -> None:
    function = compiled(step, dynamic=False, **changes)
    for _ in range(2):
        x = torch.randn(2, 3)
        torch.testing.assert_close(function(x.to("npu")).cpu(), step(x))


@pytest.mark.isolated
def test_options_of_every_configuration_are_accepted(capfd: pytest.CaptureFixture[str]) -> None:
    assert_works(
        experimental_config__static_model_ops_lower_limit=10,
        experimental_config__tiling_schedule_optimize=True,
        experimental_config__topology_sorting_strategy="StableRDFS",
        experimental_config__memory_efficiency=True,
        experimental_config__enable_ref_data=True,
        **newer(),
    )
    assert [graph.settings.refreshable for graph in bridge.graphs.values()] == [True]
    assert_works(experimental_config__frozen_parameter=True)
    for _ in range(2):
        assert_works(aoe_config__aoe_mode="2")
    reported = [line for line in capfd.readouterr().err.splitlines() if "opwright" in line]
    assert [line.partition(". ")[0] for line in reported] == [
        "opwright: aoe_config: nothing is tuned"
    ]


@pytest.mark.isolated
def test_the_table_has_every_option_of_a_configuration() -> None:
    config = configured(
        dump_config__enable_dump=True,
        dump_config__dump_step="0",
        dump_config__dump_layer="Add",
        experimental_config__static_model_ops_lower_limit=3,
        **newer(),
        debug__deadlock_check=True,
        export__export_mode=True,
        aoe_config__aoe_mode="2",
    )
    passed = {name for options in config.as_dict() for name in options}
    assert len(passed) > 30
    assert passed <= set(OPTIONS)


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


@pytest.mark.isolated
def test_graphs_are_dumped_and_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dumps").mkdir()
    for kind in ("txt", "pbtxt", "py"):
        assert_works(debug__graph_dump__type=kind, debug__graph_dump__path="dumps")
    dumps = sorted(
        (path.suffix, "Relu" in path.read_text())
        for path in (tmp_path / "dumps").iterdir()
        if "optimized" in path.name
    )
    assert dumps == [(".pbtxt", True), (".py", True), (".txt", True)]

    given, config = torch.ones(2).to("npu"), configured()
    where = {"export_path": "exported", "export_name": "net"}
    torchair.dynamo_export(given, model=Net(), **where, config=config)
    model = (tmp_path / "exported" / "net.air").read_bytes()
    assert "Relu" in [op.type for op in GeGraph(serialized_model_def=model).op]


def scoped(x: torch.Tensor) -> torch.Tensor:
    with torchair.scope.super_kernel("both", "stream-fusion=1"):
        y = x * 2
    with torchair.scope.npu_stream_switch("second", 3), torchair.scope.limit_core_num(4, 8):
        z = torch.mm(x, x.t())
    total: torch.Tensor = y.sum() + torchair.scope.npu_wait_tensor(z, y)
    return total


@pytest.mark.isolated
def test_scopes_are_visible_in_the_graph_that_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    x = torch.randn(2, 3)
    result = compiled(scoped, debug__deadlock_check=True)(x.to("npu")).cpu()
    torch.testing.assert_close(result, (x * 2).sum() + x @ x.t())
    dumps = [str(path) for path in tmp_path.glob("debug_output_graph_*.json")]
    dump = min(dumps, key=len)  # beside it lies one that TorchAir has filtered
    events = json.loads((tmp_path / dump).read_text())
    nodes = {event["name"]: event["args"]["Arguments"] for event in events[1:]}
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


LATE = (
    "REG_OP(Late).INPUT(x, TensorType({DT_FLOAT})).OUTPUT(y, TensorType({DT_FLOAT}))"
    ".OP_END_FACTORY_REG(Late)"
)


@pytest.mark.isolated
def test_a_run_is_enqueued_and_its_error_is_reported_by_the_next_synchronization() -> None:
    @twin.kernel(LATE)
    def late(x: torch.Tensor, y: torch.Tensor) -> None:
        if x.sum() > 0:
            message = "too late"
            raise ValueError(message)
        y.copy_(x)

    library = new_library("my")
    library.define("late(Tensor x) -> Tensor")
    library.impl("late", torch.empty_like, "Meta")
    torchair.register_fx_node_ge_converter(torch.ops.my.late.default)(
        lambda x: custom_op("Late", inputs={"x": x}, outputs=["y"])
    )
    function = compiled(lambda x: torch.ops.my.late(x) * 2)
    enqueued = function(torch.ones(3).to("npu"))
    assert enqueued.shape == (3,)
    with pytest.raises(RuntimeError) as raised:
        torch_npu.npu.synchronize()
    text = str(raised.value)
    assert "node 'Late' (Late), FX node 'late' (my.late.default)" in text
    assert f"ValueError: too late ({__file__}:" in text
    assert function(-torch.ones(3).to("npu")).cpu().tolist() == [-2.0] * 3


@pytest.mark.isolated
def test_a_type_without_a_kernel_is_named_with_the_line_of_python() -> None:
    library = new_library("my")
    library.define("lost(Tensor x) -> Tensor")
    library.impl("lost", torch.empty_like, "Meta")
    torchair.register_fx_node_ge_converter(torch.ops.my.lost.default)(
        lambda x: custom_op("BNInferenceD", inputs={"x": x}, outputs=["y"])
    )

    def lost(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        result: torch.Tensor = torch.ops.my.lost(y) + 1
        return result

    function = compiled(lost)
    with pytest.raises(RuntimeError, match="E10501") as raised:
        run_to_the_end(function, torch.randn(2, 3).to("npu"))
    text, line = str(raised.value), lost.__code__.co_firstlineno + 2
    assert "(BNInferenceD), FX node 'lost' (my.lost.default)" in text
    assert f'File "{__file__}", line {line}, in lost' in text
    assert_works()


FLOAT, BOOL = 1, 11  # of ge.proto


def run_by_hand(value: torch.Tensor, **options: str) -> list[list[float]]:
    """Return the absolute values and the negative ones, of a graph with a branch for each."""
    graph = GeGraph(name="by_hand")
    for name, index in (("cond", 0), ("x", 1)):
        op = graph.op.add(name=name, type="Data")
        op.attr["index"].i = index
        for descs, port in ((op.input_desc, "x"), (op.output_desc, "y")):
            desc = descs.add(name=port, dtype=BOOL if name == "cond" else FLOAT)
            desc.shape.dim.extend([] if name == "cond" else [3])
    op = graph.op.add(name="if", type="If", input=["cond:0", "x:0"], subgraph_name=["abs", "neg"])
    op.input_desc.add(name="cond")
    op.input_desc.add(name="input0")
    op.output_desc.add(name="output0", dtype=FLOAT).shape.dim.append(3)
    op = graph.op.add(name="end", type="NetOutput", input=["if:0"])
    op.input_desc.add(name="input0").shape.dim.append(3)
    for type_ in ("Abs", "Neg"):
        branch = graph._model.graph.add(name=type_.lower())  # noqa: SLF001 - it has no other name
        op = branch.op.add(name="x", type="Data")
        op.output_desc.add(name="y", dtype=FLOAT).shape.dim.append(3)
        op = branch.op.add(name="f", type=type_, input=["x:0"])
        op.input_desc.add(name="x")
        op.output_desc.add(name="y", dtype=FLOAT).shape.dim.append(3)
        branch.op.add(name="end", type="NetOutput", input=["f:0"]).input_desc.add(name="input0")
    graph.attr["_input_placements"].list.i.extend([1, 1])
    graph.attr["_output_dtypes"].list.i.append(0)
    graph.attr["_executor_type"].i = 1
    graph.load(options)
    graph.compile()
    conditions = [torch.tensor(value) for value in (True, False)]
    return [graph.run([c.to("npu"), value.to("npu")])[0].cpu().tolist() for c in conditions]


@pytest.mark.isolated
def test_a_graph_made_by_hand_has_control_flow() -> None:
    """Beside one of TorchAir in the same session."""
    assert_works()
    assert run_by_hand(torch.tensor([1.0, -2.0, 3.0])) == [[1.0, 2.0, 3.0], [-1.0, 2.0, -3.0]]


@pytest.mark.isolated
def test_options_are_refused_by_name() -> None:
    assert_works()
    refused = {
        "ge.unheard": ("1", "OPW-N008", "option 'ge.unheard'"),
        "ge.topoSortingMode": ("up", "OPW-N006", "option 'ge.topoSortingMode'"),
        "ge.exec.outputReuseMemIndexes": ("4", "", "output 4"),
    }
    for name, (value, number, text) in refused.items():
        with pytest.raises(RuntimeError, match=text) as raised:
            run_by_hand(torch.ones(3), **{name: value})
        assert number in str(raised.value)
    assert run_by_hand(torch.ones(3)) == [[1.0] * 3, [-1.0] * 3]


@pytest.mark.isolated
def test_gears_have_one_graph() -> None:
    function = compiled(lambda x: torch.relu(x) + x.shape[0], dynamic=True)
    for rows in (4, 8, 16, 4):
        x = torch.randn(rows, 3).to("npu")
        set_dim_gears(x, {0: [4, 8, 16]})
        torch.testing.assert_close(function(x), torch.relu(x) + rows)
    gears = [graph.settings.gears for graph in bridge.graphs.values()]
    assert [len(each.shapes) for each in gears if each] == [3]

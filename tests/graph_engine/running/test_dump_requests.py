"""Programs that ask for data dumps, or for an option that is refused, which stops nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu
import torchair
from torchair.ge._ge_graph import GeGraph

from opwright.graph_engine.options.options import OPTIONS, Effect
from opwright.twin.dump import find_dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.twin.dump import DumpFile

pytestmark = pytest.mark.twin


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test dumps into folders of its own."""
    monkeypatch.chdir(tmp_path)


def configured(general: Mapping[str, str] | None = None, **changes: object) -> Any:  # noqa: ANN401 - of TorchAir
    """Return a configuration with these entries of its part for dumps, and options for GE."""
    config = torchair.CompilerConfig()
    for name, value in changes.items():
        setattr(config.dump_config, name, value)
    real = config.as_dict

    def as_dict(*mode: object) -> tuple[dict[str, str], dict[str, str]]:
        own, shared = real(*mode)
        return own, {**shared, **(general or {})}

    object.__setattr__(config, "as_dict", as_dict)
    return config


def compiled(
    function: Callable[..., object],
    config: Any,  # noqa: ANN401 - of TorchAir
    *,
    dynamic: bool = False,
) -> Callable[..., Any]:
    torch._dynamo.reset()  # noqa: SLF001 - torch.compiler.reset is not in all versions
    return torch.compile(
        function, backend=torchair.get_npu_backend(compiler_config=config), dynamic=dynamic
    )


def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(x + y) * 2


def assert_works() -> None:
    x = torch.randn(2, 3)
    torch.testing.assert_close(
        compiled(step, configured())(x.to("npu"), x.to("npu")).cpu(), step(x, x)
    )


def error_of(function: Callable[..., Any], *given: torch.Tensor) -> str | None:
    """Return the text of a call's error, or None."""
    try:
        function(*given).sum().item()
    except RuntimeError as error:
        return str(error)
    return None


def dumps(folder: str) -> list[DumpFile]:
    """Return what is dumped so far."""
    torch_npu.npu.synchronize()
    return list(find_dumps(Path(folder)))


def inputs(dump: DumpFile) -> list[object]:
    return [tensor.array.tolist() for tensor in dump.inputs]


def outputs(dump: DumpFile) -> list[object]:
    return [tensor.array.tolist() for tensor in dump.outputs]


def written(name: str, **entries: object) -> str:
    """Write a configuration of acl whose dumps go to a folder of this name; return its path."""
    Path(name).mkdir()
    file = Path(name + ".json")
    file.write_text(json.dumps({"dump": {"dump_path": name, **entries}}))
    return str(file)


@pytest.mark.isolated
def test_torchair_asks_for_dumps() -> None:
    Path("dumps").mkdir()
    asked: dict[str, Any] = {"dump_path": "dumps", "dump_mode": "all", "dump_step": "0|2"}
    config = configured(enable_dump=True, dump_layer="Add Relu", **asked)
    function = compiled(step, config, dynamic=True)
    for rows in (2, 3, 4):
        x = torch.full((rows, 7), float(rows)).to("npu")
        torch.testing.assert_close(function(x, -2 * x), step(x, -2 * x))
    found = dumps("dumps")
    assert [(each.type, each.path.parent.name) for each in found] == [
        ("Add", "0"),
        ("Relu", "0"),
        ("Add", "2"),
        ("Relu", "2"),
    ]
    assert inputs(found[2]) == [[[4.0] * 7] * 4, [[-8.0] * 7] * 4]
    assert outputs(found[2]) == [[[-4.0] * 7] * 4]
    assert_works()


@pytest.mark.isolated
def test_a_configuration_of_acl_dumps_statistics_of_graphs() -> None:
    config = configured(dump_config_path=written("graphs", dump_list=[{}], dump_data="stats"))
    x = torch.ones(2, 3).to("npu")
    compiled(step, config)(x, x)
    torch_npu.npu.synchronize()
    tables = [path for path in Path("graphs").rglob("*.csv") if path.name[:3] in {"Add", "Mul"}]
    assert sorted(path.read_text().splitlines()[1] for path in tables) == [
        "Output,0,24,DT_FLOAT,ND,2x3,2,2,2,6,0,0,0",
        "Output,0,24,DT_FLOAT,ND,2x3,4,4,4,6,0,0,0",
    ]


@pytest.mark.isolated
def test_a_configuration_of_acl_dumps_operators(capfd: pytest.CaptureFixture[str]) -> None:
    """Eager ones, captured ones and legacy ones; after graphs were dumped in the same process."""
    x = torch.ones(2, 3).to("npu")
    config = configured(dump_config_path=written("graphs", dump_list=[{}], dump_data="stats"))
    compiled(step, config)(x, x)
    torch_npu.npu.synchronize()
    torch_npu.npu.finalize_dump()

    torch_npu.npu.init_dump()
    torch_npu.npu.set_dump(written("wrong", dump_list=[{}], dump_debug="on"))  # drops the error
    torch.add(x, 1)
    torch_npu.npu.set_dump(written("single", dump_list=[], dump_op_switch="on", dump_mode="all"))
    y = torch.arange(6.0).to("npu").view(3, 2)
    torch.add(x, y.t())
    torch.cat([x.bfloat16(), x.bfloat16()])
    x.mul_(2)
    graph = torch_npu.npu.NPUGraph()
    with torch_npu.npu.graph(graph):
        z = torch.neg(x)
    graph.replay()
    torch_npu.npu.set_compile_mode(jit_compile=True)  # legacy operators
    torch.mul(x, y.t().contiguous())
    torch_npu.npu.synchronize()
    torch_npu.npu.finalize_dump()
    torch.add(x, y.t())
    found = {each.type: each for each in dumps("single")}
    ones, view = [[1.0] * 3] * 2, [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    assert inputs(found["Add"]) == [ones, view]
    assert outputs(found["Add"]) == [[[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]]
    assert (inputs(found["Cat"]), outputs(found["Cat"])) == ([ones, ones], [ones * 2])
    doubled = found["InplaceMuls"]
    assert (inputs(doubled), outputs(doubled)) == ([ones], [[[2.0] * 3] * 2])
    assert inputs(found["Neg"]) == [[[2.0] * 3] * 2]
    assert outputs(found["Neg"]) == [z.tolist()] == [[[-2.0] * 3] * 2]
    assert outputs(found["Mul"]) == [[[0.0, 4.0, 8.0], [2.0, 6.0, 10.0]]]
    assert dumps("wrong") == []
    reported = capfd.readouterr().err
    assert reported.count("opwright: aclmdlSetDump: 'dump_debug' is on, beside") == 1


# TorchAir repeats a failed aclmdlSetDump with every later graph of the process.
@pytest.mark.isolated
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
    entries: dict[str, Any], refused: str | None
) -> None:
    config = configured(dump_config_path=written("dumps", **entries))
    x = torch.full((2, 3), 3e38).to("npu")
    error = error_of(compiled(step, config), x, x)
    assert_works()
    found = dumps("dumps")
    if refused is None:
        assert error is None
        # A cast of the result may follow.
        assert [each.type for each in found][:3] == ["Add", "Relu", "Mul"]
    else:
        assert error is not None
        assert refused in error
        assert "OPW-N006" in error
        assert found == []


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


@pytest.mark.isolated
def test_options_of_the_engine_refuse_the_graphs_that_ask_for_them() -> None:
    x = torch.ones(2, 3).to("npu")

    def refusal(general: Mapping[str, str]) -> str:
        return error_of(compiled(step, configured(general)), x, x) or "no error"

    first = refusal(REFUSED)
    each = {name: refusal({name: value}) for name, value in REFUSED.items()}
    for text in (first, refusal(REFUSED)):
        assert any(f"option '{name}'" in text for name in REFUSED)
    for name, text in each.items():
        assert f"option '{name}'" in text
        assert "OPW-N00" in text
    assert_works()


def run_by_hand(options: Mapping[str, str]) -> torch.Tensor:
    """Run a graph of one node with these options."""
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
    result: torch.Tensor = graph.run([torch.ones(3).to("npu")])[0].cpu()
    return result


@pytest.mark.isolated
def test_options_of_a_graph_refuse_that_graph_alone() -> None:
    assert_works()
    checked = [
        name
        for name, option in OPTIONS.items()
        if option.pattern != r"(?s).*" and option.effect is not Effect.TORCHAIR
    ]
    assert len(checked) > 30
    for name in checked:
        with pytest.raises(RuntimeError, match=f"option '{name}'"):
            run_by_hand({name: "?"})
        assert run_by_hand({}).tolist() == [-1.0] * 3, name

"""GE graphs and FX graphs as TorchAir and the engine write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from opwright.graph_report.compiled.ge_proto import import_generated
from opwright.graph_report.compiled.observe import FX_SUFFIX, TENSORS_SUFFIX

if TYPE_CHECKING:
    from pathlib import Path

    from opwright.graph_report.compiled.ge_proto import Message

FLOAT = 1  # of ge.proto.DataType
INT64 = 8


def op(
    graph: Message,
    name: str,
    kind: str,
    inputs: dict[str, str] | None = None,
    *,
    meta: str = "",
    fx: str = "",
    outputs: int = 1,
    **attributes: object,
) -> Message:
    """Add a node; `meta` is the shape of its outputs, `fx` the FX node that it computes."""
    node = graph.op.add(name=name, type=kind)
    for parameter, edge in (inputs or {}).items():
        node.input.append(edge)
        if not edge.endswith(":-1"):
            node.input_desc.add(name=parameter, dtype=FLOAT)
    for place in range(outputs):
        desc = node.output_desc.add(name=f"y{place}" if outputs > 1 else "y", dtype=FLOAT)
        if meta:
            note = f"Tensor(dtype=torch.float32, shape=torch.Size({meta})"
            desc.attr["_meta"].s = note.encode()
        if fx:
            desc.attr["_fx_tensor_name"].s = f"{fx}-aten.op.default.OUTPUT.{place}".encode()
    for key, value in attributes.items():
        if isinstance(value, bool):
            node.attr[key].b = value
        elif isinstance(value, int):
            node.attr[key].i = value
        else:
            node.attr[key].s = str(value).encode()
    return node


def constant(graph: Message, name: str, *dims: int, text: str) -> None:
    """Add a constant of int64."""
    node = op(graph, name, "Const", _readable_value=text)
    value = node.attr["value"].t
    value.desc.dtype = INT64
    value.desc.shape.dim.extend(dims)
    value.data = bytes(8)


def small() -> Message:
    """Return the model of `relu(x @ w)`, split in two, one half on another stream."""
    model = import_generated().ModelDef()
    graph = model.graph.add(name="graph_1")
    op(graph, "x", "Data", meta="[4, s0]", index=0)
    op(graph, "w", "Data", meta="[s0, 8]", index=1)
    op(
        graph,
        "MatMul",
        "MatMul",
        {"x1": "x:0", "x2": "w:0", "bias": ""},
        meta="[4, 8]",
        fx="view",  # which changed nothing, so that TorchAir noted it at this node
        transpose_x1=False,
        transpose_x2=False,
    )
    constant(graph, "Const", 1, text="[4, 4]")
    op(graph, "Cast", "Cast", {"x": "Const:0"}, dst_type=3)
    split = {"x": "MatMul:0", "size_splits": "Cast:0"}
    op(graph, "SplitV", "SplitV", split, meta="[4, 4]", fx="split", outputs=2, num_split=2)
    op(
        graph,
        'Relu<"&>',
        "Relu",
        {"x": "SplitV:1", "": "SplitV:-1"},
        meta="[4, 4]",
        fx="relu",
        _user_stream_label="side <&>",
        _super_kernel_scope="sp",
        _super_kernel_options="",
        _op_aicore_num="8",
    )
    op(graph, "Add", "Add", {"x1": "SplitV:0", "x2": 'Relu<"&>:0'}, meta="[4, 4]", fx="add")
    op(graph, "NetOutput", "NetOutput", {"input0": "Add:0"}, outputs=0)
    graph.attr["_executor_type"].i = 1
    return model


def fx_node(name: str, target: str, *inputs: str, **more: object) -> dict[str, Any]:
    """Return a node of an FX graph; an input is `parameter=node` or `parameter=node:index`."""
    links = []
    for each in inputs:
        parameter, _, source = each.partition("=")
        maker, _, index = source.partition(":")
        links.append([parameter, maker, int(index or 0)])
    kind = target if target in ("placeholder", "output") else "call_function"
    node = {
        "name": name,
        "op": kind,
        "target": target,
        "inputs": links,
        "outputs": ["float32[4, 4]"],
        "attributes": [],
        "source": "" if kind != "call_function" else f"/src/step<1>.py:7 in step: {name}(x & y)",
        "module": "",
    }
    return node | more


SMALL_FX = [
    fx_node("x", "placeholder", outputs=["float32[4, s0]"]),
    fx_node("w", "placeholder", outputs=["float32[s0, 8]"]),
    fx_node("mm", "aten.mm.default", "self=x", "mat2=w", outputs=["float32[4, 8]"]),
    fx_node(
        "view", "aten.view.default", "self=mm", outputs=["float32[4, 8]"], module="layer (Linear)"
    ),
    fx_node(
        "split",
        "aten.split.Tensor",
        "self=view",
        outputs=["float32[4, 4]", "float32[4, 4]"],
        attributes=[["split_size", "4"], ["dim", "-1"]],
    ),
    fx_node("getitem", "operator.getitem", "0=split"),
    fx_node("getitem_1", "operator.getitem", "0=split:1", attributes=[["1", "1"]]),
    fx_node("relu", "aten.relu.default", "self=getitem_1"),
    fx_node("add", "aten.add.Tensor", "self=getitem", "other=relu"),
    fx_node("output", "output", "[0]=add", outputs=[]),
]
SMALL_MADE = {"MatMul_0": "mm", "Cast_0": "split", "SplitV_0": "split", "Add_0": "add"}
SMALL_TENSORS = {"Cast:0": "int64[1]", "Relu:0": "float32[4, 4]"}


def write_small(folder: Path) -> Path:
    """Write the small graph as the twin does, and return the file."""
    file = folder / "ge-1-1.air"
    file.write_bytes(small().SerializeToString())
    fx = {"version": 1, "nodes": SMALL_FX, "made": SMALL_MADE}
    file.with_suffix(FX_SUFFIX).write_text(json.dumps(fx), encoding="utf-8")
    file.with_suffix(TENSORS_SUFFIX).write_text(json.dumps(SMALL_TENSORS), encoding="utf-8")
    return file


def layers(count: int) -> Message:
    """Return a model of layers of five nodes, each with a parameter."""
    model = import_generated().ModelDef()
    graph = model.graph.add(name="layers")
    op(graph, "x", "Data", meta="[2, 3]", index=0)
    before = "x:0"
    for number in range(count):
        weight = f"w{number}"
        op(graph, weight, "Data", meta="[3, 3]", index=number + 1)
        for kind, inputs in (
            ("MatMul", {"x1": before, "x2": f"{weight}:0"}),
            ("Relu", {"x": f"MatMul_{number}:0"}),
            ("Mul", {"x1": f"Relu_{number}:0", "x2": "x:0"}),
            ("Add", {"x1": f"Mul_{number}:0", "x2": before}),
        ):
            name = f"{kind}_{number}"
            op(graph, name, kind, inputs, meta="[2, 3]", fx=f"{kind.lower()}_{number}")
        before = f"Add_{number}:0"
    op(graph, "NetOutput", "NetOutput", {"input0": before}, outputs=0)
    return model

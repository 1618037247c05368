"""Serialized graphs that are damaged or contradict themselves: an error that names the node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.errors import OpwrightError
from opwright.graph_engine.graph.read import read_model
from opwright.graph_engine.running.compiled_graph import CompiledGraph
from tests.graph_engine import graphs
from tests.graph_engine.graphs import Op, binary, constant, data, model, output, unary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Model = Any


@pytest.fixture(scope="module", autouse=True)
def _proto() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        graphs.provide_proto(patch)
        yield


def whole() -> Model:
    """Return a graph with constants, a reduction, a dynamic input and a graph that it calls."""
    return model(
        data("x", 0),
        data("y", 1),
        constant("axes", torch.tensor([1])),
        binary("Add", "sum", "x:0", "y:0"),
        Op(
            "ReduceSum",
            "total",
            {"x": "sum:0", "axes": "axes:0"},
            {"y": (graphs.FLOAT, (2,))},
            {"keep_dims": False},
        ),
        Op(
            "Pack",
            "both",
            {"x0": "total:0", "x1": "total:0"},
            {"y": (graphs.FLOAT, (2, 2))},
            {"axis": 0, "N": 2},
        ),
        Op(
            "PartitionedCall",
            "call",
            {"args0": "sum:0"},
            {"output0": (graphs.FLOAT, graphs.SHAPE)},
            graphs=["inner"],
        ),
        Op("NoOp", "mark", after=["sum"]),
        output("both:0", "call:0"),
        inner=[data("a", 0), unary("Relu", "relu", "a:0"), output("relu:0")],
    )


def test_the_graph_of_these_tests_runs() -> None:
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    packed, called = graphs.run(whole(), x, y)
    total = (x + y).sum(1)
    torch.testing.assert_close(packed, torch.stack([total, total]))
    torch.testing.assert_close(called, (x + y).relu())


def check(serialized: bytes) -> None:
    """Read and compile a model: it works, or an error names the place and what is there."""
    try:
        compiled = CompiledGraph(read_model(serialized))
        if compiled.is_static:
            compiled.specialize(compiled.static_inputs())
    except OpwrightError as error:
        refused = error
    else:
        return
    assert refused.where
    assert refused.got


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_bytes_that_were_changed_are_refused_or_read(draw: st.DataObject) -> None:
    serialized = bytearray(whole().SerializeToString())
    for _ in range(draw.draw(st.integers(1, 4))):
        place = draw.draw(st.integers(0, len(serialized) - 1))
        piece = draw.draw(st.binary(max_size=3))
        serialized[place : place + draw.draw(st.integers(0, 3))] = piece
    check(bytes(serialized))


NUMBERS = st.one_of(st.integers(-3, 45), st.sampled_from([2**31 - 1, 2**62]))
EDGES = st.one_of(
    st.sampled_from(["", "x", "x:0", "x:1", "sum:0", "total:0", "call:0", "nobody:0", "end:0"]),
    st.sampled_from(["sum:-1", "call:-1", "x:99999999999999999999", ":0", "x:0:0"]),
)
NAMES = st.sampled_from(["", "x", "sum", "index", "value", "axis", "N", "keep_dims", "_meta"])
CALLED = st.sampled_from(["inner", "main", "?"])
TYPES = st.sampled_from(
    ["Add", "Data", "Const", "NetOutput", "Pack", "If", "While", "Cast", "Variable", "", "Reshape"]
)


def set_edge(op: Model, draw: Callable[[Any], Any]) -> None:
    if op.input:
        op.input[draw(st.integers(0, len(op.input) - 1))] = draw(EDGES)


def set_shape(op: Model, draw: Callable[[Any], Any]) -> None:
    for desc in op.output_desc:
        desc.shape.dim[:] = draw(st.lists(NUMBERS, max_size=4))


def set_attribute(op: Model, draw: Callable[[Any], Any]) -> None:
    attribute = op.attr[draw(NAMES)]
    field, values = draw(
        st.sampled_from(
            [("i", NUMBERS), ("b", st.booleans()), ("f", st.floats()), ("s", st.binary(max_size=4))]
        )
    )
    setattr(attribute, field, draw(values))


def set_rule(op: Model, draw: Callable[[Any], Any]) -> None:
    rules = [
        "{",
        "{}",
        '{"shape": 1}',
        '{"shape": {"inputs": [], "outputs": [["s0"]]}, "dtype": []}',
    ]
    op.attr["_inference_rule"].s = draw(st.sampled_from(rules)).encode()


def set_meta(op: Model, draw: Callable[[Any], Any]) -> None:
    sizes = draw(st.sampled_from(["s0", "2, 3", "9", "1/0", "Floor(2", "s0**s0", "2.5"]))
    for desc in op.output_desc:
        desc.attr["_meta"].s = f"Tensor(dtype=torch.float32, shape=torch.Size([{sizes}])".encode()


def set_dtypes(op: Model, draw: Callable[[Any], Any]) -> None:
    for desc in op.output_desc:
        desc.dtype = draw(st.integers(0, 50))


MUTATIONS: dict[str, Callable[[Model, Callable[[Any], Any]], object]] = {
    "edge": set_edge,
    "shape": set_shape,
    "attribute": set_attribute,
    "rule": set_rule,
    "meta": set_meta,
    "dtypes": set_dtypes,
    "name": lambda op, draw: op.MergeFrom(type(op)(name=draw(NAMES))),
    "type": lambda op, draw: op.MergeFrom(type(op)(type=draw(TYPES))),
    "no inputs": lambda op, _: op.ClearField("input"),
    "no descriptors": lambda op, _: op.ClearField("input_desc"),
    "no outputs": lambda op, _: op.ClearField("output_desc"),
    "no attributes": lambda op, _: op.ClearField("attr"),
    "an output more": lambda op, draw: op.output_desc.add(name="z", dtype=abs(draw(NUMBERS)) % 50),
    "graphs": lambda op, draw: op.subgraph_name.append(draw(CALLED)),
}


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_graphs_that_were_changed_are_refused_or_compiled(draw: st.DataObject) -> None:
    made = whole()
    for _ in range(draw.draw(st.integers(1, 3))):
        ops = [*graphs.messages(made)]
        op = ops[draw.draw(st.integers(0, len(ops) - 1))]
        MUTATIONS[draw.draw(st.sampled_from(sorted(MUTATIONS)))](op, draw.draw)
    check(made.SerializeToString())


X = data("x", 0)
CASES = {
    "cycle": (
        [X, binary("Add", "a", "x:0", "b:0"), unary("Relu", "b", "a:0"), output("b:0")],
        "cycle",
    ),
    "dangling": ([X, unary("Relu", "b", "gone:0"), output("b:0")], "an edge from 'gone'"),
    "output": ([X, unary("Relu", "b", "x:1"), output("b:0")], "output 1 of 'x'"),
    "edge": ([X, unary("Relu", "b", "x"), output("b:0")], "the input 'x'"),
    "type": ([X, unary("Nonsense", "b", "x:0"), output("b:0")], "E10501"),
    "attribute": (
        [X, Op("SoftmaxV2", "b", {"x": "x:0"}, {"y": (1, (2, 3))}, {"axes": "one"}), output("b:0")],
        "str 'one' for attribute 'axes'",
    ),
    "unknown attribute": (
        [X, Op("Relu", "b", {"x": "x:0"}, {"y": (1, (2, 3))}, {"slope": 1.0}), output("b:0")],
        "an attribute 'slope'",
    ),
    "missing input": (
        [X, Op("Add", "b", {"x1": "x:0"}, {"y": (1, (2, 3))}), output("b:0")],
        "'x2'",
    ),
    "shapes": (
        [X, data("y", 1, shape=(4, 5)), binary("Add", "b", "x:0", "y:0"), output("b:0")],
        "[4, 5]",
    ),
    "graph": (
        [X, Op("PartitionedCall", "b", {"args0": "x:0"}, graphs=["gone"]), output()],
        "'gone'",
    ),
    "no graph": ([X, Op("PartitionedCall", "b", {"args0": "x:0"}), output()], "0 graphs"),
    "constant": (
        [Op("Const", "b", outputs={"y": (1, (2,))}), output("b:0")],
        "no tensor in the attribute 'value'",
    ),
    "index": (
        [Op("Data", "b", outputs={"y": (1, (2,))}, attributes={"index": "one"}), output("b:0")],
        "the index 'one'",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_error_names_the_node_and_the_cause(name: str) -> None:
    ops, words = CASES[name]
    with pytest.raises(OpwrightError) as caught:
        graphs.run(
            model(*ops), *(torch.ones(op.outputs["y"][1]) for op in ops if op.type == "Data")
        )
    assert "node 'b'" in str(caught.value)
    assert words in str(caught.value)


def test_a_graph_that_calls_itself_is_refused() -> None:
    call = Op("PartitionedCall", "b", {"args0": "x:0"}, {"output0": (1, (2, 3))}, graphs=["inner"])
    with pytest.raises(OpwrightError, match="which calls itself"):
        graphs.run(model(X, call, output("b:0"), inner=[X, call, output("b:0")]), torch.ones(2, 3))


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(OpwrightError, match="two nodes called 'x'"):
        graphs.run(model(X, unary("Relu", "x", "x:0"), output("x:0")), torch.ones(2, 3))


def test_what_scopes_and_exports_write_at_a_node_is_no_attribute_of_its_operator() -> None:
    written = {
        "_op_aicore_num": "4",
        "torchair_enable_data_dump": "True",
        "nn_module_stack": "{'L__self__': 'Net'}",
    }
    names = ({"x": "x:0"}, {"y": (graphs.FLOAT, graphs.SHAPE)})
    relu = Op("Relu", "relu", *names, attributes=written)
    (node,) = read_model(model(X, relu, output("relu:0")).SerializeToString()).of_type("Relu")
    assert node.notes == written
    assert node.attributes == {}

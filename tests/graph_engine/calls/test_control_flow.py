"""Graphs that call graphs, variables of a session, and gears."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from opwright.graph_engine.errors import GraphFormError, InputError, MetaError, OptionError
from opwright.graph_engine.lowering.variables import Variables
from tests.graph_engine import graphs
from tests.graph_engine.graphs import (
    BOOL,
    FLOAT,
    INT32,
    SHAPE,
    Op,
    binary,
    constant,
    data,
    model,
    output,
    unary,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWER = {"output0": (FLOAT, SHAPE)}
TRUE = torch.ones((), dtype=torch.bool)
X = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])


@pytest.fixture(scope="module", autouse=True)
def _proto() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        graphs.provide_proto(patch)
        yield


def branch(type_: str) -> list[Op]:
    """Return a graph of one operator."""
    return [data("a", 0), unary(type_, "f", "a:0"), output("f:0")]


def if_(condition: torch.Tensor) -> list[torch.Tensor]:
    """Run a graph that negates or squares its input, by a condition."""
    made = model(
        data("cond", 0, graphs.proto_dtype(condition), condition.shape),
        data("x", 1),
        Op("If", "if", {"cond": "cond:0", "input0": "x:0"}, ANSWER, graphs=["then", "else"]),
        unary("Neg", "after", "if:0"),
        output("after:0"),
        **{"then": branch("Abs"), "else": branch("Square")},
    )
    return graphs.run(made, condition, X)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (TRUE, True),
        (~TRUE, False),
        (torch.tensor([False]), False),
        (torch.tensor(2.0), True),
        (torch.tensor(0, dtype=torch.int32), False),
        (torch.zeros(2), True),
        (torch.zeros(0), False),
    ],
)
def test_if_runs_one_of_its_graphs(condition: torch.Tensor, *, holds: bool) -> None:
    torch.testing.assert_close(if_(condition)[0], -(X.abs() if holds else X.square()))


@pytest.mark.parametrize(
    ("index", "type_"), [(0, "abs"), (1, "square"), (2, "neg"), (-1, "neg"), (9, "neg")]
)
def test_case_runs_the_graph_of_an_index_or_the_last(index: int, type_: str) -> None:
    made = model(
        data("index", 0, INT32, ()),
        data("x", 1),
        Op(
            "Case",
            "case",
            {"branch_index": "index:0", "input0": "x:0"},
            ANSWER,
            graphs=["a", "b", "c"],
        ),
        output("case:0"),
        a=branch("Abs"),
        b=branch("Square"),
        c=branch("Neg"),
    )
    found = graphs.run(made, torch.tensor(index, dtype=torch.int32), X)
    torch.testing.assert_close(found[0], getattr(X, type_)())


COUNT = (INT32, ())


def power(times: int) -> list[torch.Tensor]:
    """Double a tensor so many times, counting down."""
    made = model(
        data("n", 0, *COUNT),
        data("x", 1),
        Op(
            "While",
            "loop",
            {"input0": "n:0", "input1": "x:0"},
            {"output0": COUNT, "output1": (FLOAT, SHAPE)},
            {"parallel_iterations": 10},
            graphs=["more", "body"],
        ),
        output("loop:0", "loop:1"),
        more=[
            data("n", 0, *COUNT),
            constant("zero", torch.tensor(0, dtype=torch.int32)),
            Op("Greater", "more", {"x1": "n:0", "x2": "zero:0"}, {"y": (BOOL, ())}),
            output("more:0"),
        ],
        body=[
            data("n", 0, *COUNT),
            data("x", 1),
            constant("one", torch.tensor(1, dtype=torch.int32)),
            Op("Sub", "less", {"x1": "n:0", "x2": "one:0"}, {"y": COUNT}),
            binary("Add", "twice", "x:0", "x:0"),
            output("less:0", "twice:0"),
        ],
    )
    return graphs.run(made, torch.tensor(times, dtype=torch.int32), X)


@pytest.mark.parametrize("times", [0, 1, 5])
def test_while_runs_its_body_as_long_as_its_condition_holds(times: int) -> None:
    left, found = power(times)
    assert left.item() == 0
    torch.testing.assert_close(found, X * 2**times)


def test_graphs_call_graphs() -> None:
    call = Op("PartitionedCall", "call", {"args0": "a:0"}, ANSWER, graphs=["inner"])
    made = model(
        data("x", 0),
        Op("PartitionedCall", "call", {"args0": "x:0"}, ANSWER, graphs=["outer"]),
        output("call:0"),
        outer=[data("a", 0), call, unary("Neg", "neg", "call:0"), output("neg:0")],
        inner=branch("Square"),
    )
    torch.testing.assert_close(graphs.run(made, X)[0], -X.square())


def test_a_graph_that_only_passes_its_operand_on_answers_a_copy() -> None:
    made = model(
        data("x", 0),
        Op("PartitionedCall", "call", {"args0": "x:0"}, ANSWER, graphs=["same"]),
        Op(
            "AssignAdd",
            "add",
            {"ref": "x:0", "value": "x:0"},
            {"ref": (FLOAT, SHAPE)},
            after=["call"],
        ),
        output("call:0", "add:0"),
        same=[data("a", 0), output("a:0")],
    )
    before, after = graphs.run(made, X.clone())
    torch.testing.assert_close(before, X)
    torch.testing.assert_close(after, X * 2)


def test_graphs_that_disagree_on_shapes_are_refused() -> None:
    total = Op("ReduceSum", "f", {"x": "a:0", "axes": "axes:0"}, {"y": (FLOAT, (2,))})
    made = model(
        data("cond", 0, BOOL, ()),
        data("x", 1),
        Op("If", "b", {"cond": "cond:0", "input0": "x:0"}, ANSWER, graphs=["one", "other"]),
        output("b:0"),
        one=branch("Abs"),
        other=[data("a", 0), constant("axes", torch.tensor([1])), total, output("f:0")],
    )
    with pytest.raises(MetaError, match=r"node 'b'.*graph 'other'"):
        graphs.run(made, TRUE, X)


def test_a_graph_that_wants_an_operand_more_is_refused() -> None:
    made = model(
        data("x", 0),
        Op("PartitionedCall", "b", {"args0": "x:0"}, ANSWER, graphs=["inner"]),
        output("b:0"),
        inner=[data("a", 1), output("a:0")],
    )
    with pytest.raises(GraphFormError, match=r"node 'b'.*graph 'inner'"):
        graphs.run(made, X)


def counter(value: torch.Tensor | None = None) -> object:
    """Return a graph that adds its input to a variable."""
    variable = Op("Variable", "sum", outputs={"y": (FLOAT, SHAPE)})
    if value is not None:
        variable = Op("Variable", "sum", outputs={"y": (FLOAT, SHAPE)}, attributes={"value": value})
    add = Op("AssignAdd", "add", {"ref": "sum:0", "value": "x:0"}, {"ref": (FLOAT, SHAPE)})
    return model(variable, data("x", 0), add, output("add:0"))


def test_variables_stay_from_run_to_run_and_are_shared_by_a_sessions_graphs() -> None:
    variables = Variables()
    for times in (1, 2, 3):  # each is a graph of its own
        found = graphs.run(counter(torch.ones(SHAPE)), X, variables=variables)[0]
        torch.testing.assert_close(found, 1 + X * times)
    reader = model(
        Op("Variable", "sum", outputs={"y": (FLOAT, SHAPE)}),
        unary("Neg", "n", "sum:0"),
        output("n:0"),
    )
    torch.testing.assert_close(graphs.run(reader, variables=variables)[0], -(1 + X * 3))
    torch.testing.assert_close(graphs.run(counter(), X, variables=Variables())[0], X)


def test_a_variable_has_one_shape() -> None:
    variables = Variables()
    graphs.run(counter(), X, variables=variables)
    other = model(Op("Variable", "sum", outputs={"y": (FLOAT, (7,))}), output("sum:0"))
    with pytest.raises(GraphFormError, match="node 'sum'"):
        graphs.run(other, variables=variables)


GEARS = {"ge.inputShape": "x:-1,3", "ge.dynamicDims": "2;8", "ge.dynamicNodeType": "1"}


def test_only_the_gears_run() -> None:
    made = model(
        data("x", 0, shape=(-1, 3)),
        Op("Neg", "n", {"x": "x:0"}, {"y": (FLOAT, (-1, 3))}),
        output("n:0"),
    )
    for rows in (2, 8):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(graphs.run(made, x, options=GEARS)[0], -x)
    with pytest.raises(InputError, match="gears"):
        graphs.run(made, torch.randn(3, 3), options=GEARS)


@pytest.mark.parametrize("wrong", [{"ge.dynamicDims": "2,4;8,8"}, {"ge.inputShape": "nobody:-1,3"}])
def test_gears_that_do_not_fit_the_graph_are_refused(wrong: dict[str, str]) -> None:
    made = model(data("x", 0, shape=(-1, 3)), output("x:0"))
    with pytest.raises(OptionError, match=next(iter(wrong))):
        graphs.run(made, X, options=GEARS | wrong)

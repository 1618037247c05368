"""The author's declarations become frozen data."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from opwright.aclnn.prototype import Prototype
from opwright.aclnn.signature import CType
from opwright.kit.declare import (
    Deprecation,
    Operator,
    OperatorSet,
    broadcast,
    cpp,
    each,
    like,
    promote,
    reduced,
    sample,
    tensor,
)
from opwright.kit.declare.backward import BackwardCall, BackwardFunction, BackwardReference, Formula
from opwright.kit.declare.call import Actual, Call, Named
from opwright.kit.declare.place import Place
from opwright.kit.declare.relations import Batch, Linear, MaskedPadding, PaddingBehind
from opwright.kit.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    DtypeArgument,
    DtypeSet,
    EachOf,
    Like,
    Promoted,
    ReducedOf,
    SameDtype,
    ShapeFunction,
)
from opwright.kit.declare.sample import Sample, TensorSpec, Tolerance

SCHEMA = "f(Tensor x, Tensor y, ScalarType? dtype=None, int k=1) -> Tensor"


def read(**fields: object) -> Operator:
    ops = OperatorSet("my_ops")
    ops.declare(SCHEMA, **fields)  # type: ignore[arg-type]  # the tables below give each its type
    return ops.freeze().operators[0]


def sizes(x: object, y: object, dtype: object, k: object) -> list[object]:
    return [x, y, dtype, k]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("N, k", Dims("N, k")),
        (like("x"), Like("x")),
        (broadcast("x", "y"), BroadcastOf(("x", "y"))),
        (reduced("x", dim="k"), ReducedOf("x", "k", None)),
        (cpp("x.sizes()"), Cpp("x.sizes()")),
        ("()", Dims("")),
        ((), Dims("")),
        (each("k", "k, 2"), EachOf("k", Dims("k, 2"))),
        (each("k", like("x")), EachOf("k", Like("x"))),
        (sizes, ShapeFunction(sizes)),
    ],
)
def test_shapes(given: object, rule: object) -> None:
    assert read(shapes={"out": given}).shapes == {"out": rule}


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ({"x": "float16 float32"}, {"x": DtypeSet(("float16", "float32"))}),
        ({"x": ["torch.float16"]}, {"x": DtypeSet(("float16",))}),
        ({"y": "x"}, {"y": SameDtype("x")}),
        ({"out": promote("x", "y")}, {"out": Promoted(("x", "y"))}),
        ({"out": "dtype or x"}, {"out": DtypeArgument("dtype", SameDtype("x"))}),
        ({"out": "dtype"}, {"out": DtypeArgument("dtype")}),
        ({"out": "x[0]"}, {"out": SameDtype("x")}),
        ({"out": "x[i]"}, {"out": SameDtype("x", each=True)}),
        ("int8, int32", {"x": DtypeSet(("int8", "int32")), "y": SameDtype("x")}),
        ({}, {}),
    ],
)
def test_dtypes(given: object, rules: object) -> None:
    assert read(dtypes=given).dtypes == rules


@pytest.mark.parametrize(
    ("given", "backward"),
    [
        (None, None),
        ("reference", BackwardReference()),
        ("f_backward(grad, x)", BackwardCall((Formula((), "f_backward(grad, x)"),))),
        (
            {"x": "grad", "x, y": "g(grad)"},
            BackwardCall((Formula(("x",), "grad"), Formula(("x", "y"), "g(grad)"))),
        ),
    ],
)
def test_backward(given: object, backward: object) -> None:
    assert read(backward=given).backward == backward


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("batch N", Batch("N")),
        ("batch *lead", Batch("*lead")),
        ("linear in x", Linear("x")),
        ("padding of x along S behind y", PaddingBehind("x", "S", "y")),
        ("padding of x where y", MaskedPadding("x", "y")),
        ("padding of x where not y", MaskedPadding("x", "y", wanted=False)),
    ],
)
def test_relations_are_data_and_come_back(text: str, relation: object) -> None:
    (found,) = read(relations=text).relations
    assert found == relation
    assert str(found) == text


def test_other_fields() -> None:
    operator = read(
        aclnn="aclnnF(x, float k, out)",
        layouts={"x": "contiguous"},
        samples=[sample(x=tensor(2, dtype="int8"), y=[1, 2.5], dtype=None)],
        tolerances={"float16": (1e-3, 1e-4), "float32": Tolerance(0.0, 0.0)},
        tags=["pointwise"],
        deprecated="1.0",
        requires=["k > 0"],
        deterministic=False,
        cost_budget=2.5,
    )
    assert operator.call == Call(
        function="aclnnF",
        actuals=(
            Actual(source=Named("x")),
            Actual(source=Named("k"), ctype=CType.FLOAT),
            Actual(source=Named("out")),
        ),
    )
    assert operator.layouts == {"x": "contiguous"}
    spec = TensorSpec(shape=(2,), dtype="int8")
    assert operator.samples == (Sample((("x", spec), ("y", (1, 2.5)), ("dtype", None))),)
    assert operator.tolerances == {
        "float16": Tolerance(1e-3, 1e-4),
        "float32": Tolerance(0.0, 0.0),
    }
    assert (operator.tags, operator.requires) == (("pointwise",), ("k > 0",))
    assert operator.deprecated == Deprecation(since="1.0")
    assert not operator.deterministic
    assert operator.cost_budget == 2.5


@pytest.mark.parametrize("given", [None, False, "AddCustom"])
def test_prototype_that_is_no_text(given: object) -> None:
    assert read(prototype=given).prototype == given


def test_prototype(tmp_path: Path) -> None:
    text = "REG_OP(F).INPUT(x, TensorType::ALL()).OP_END_FACTORY_REG(F)"
    inline = read(prototype=text).prototype
    assert isinstance(inline, Prototype)
    assert (inline.op_type, [port.name for port in inline.inputs]) == ("F", ["x"])
    (tmp_path / "f.h").write_text(text, encoding="utf-8")
    assert read(prototype=tmp_path / "f.h").prototype == inline


def test_the_decorator_keeps_the_reference_and_its_docstring() -> None:
    ops = OperatorSet("my_ops", version="1.2", torch=">=2.13")

    @ops.operator("twice(Tensor x) -> Tensor")
    def twice(x: float) -> float:
        """Double.

        More.
        """
        return 2 * x

    @twice.backward(saves=["x"])
    def twice_backward(grad: float, x: float) -> float:
        return 2 * grad + 0 * x

    assert twice.reference(3) == 6
    assert repr(twice) == "<operator my_ops::twice>"
    declaration = ops.freeze()
    operator = declaration.operator("twice")
    assert operator is not None
    assert operator.doc == "Double.\n\nMore."
    assert operator.reference is twice.reference
    assert operator.backward == BackwardFunction(twice_backward, ("x",))
    assert operator.place.file == __file__
    assert declaration.place.line < operator.place.line
    assert (declaration.version, declaration.torch) == ("1.2", ">=2.13")
    assert declaration.source.name == Path(__file__).name
    assert declaration.operator("thrice") is None


def test_a_schema_is_derived_where_none_is_given() -> None:
    ops = OperatorSet("my_ops")

    @ops.operator("scaled.by", mutates=["n"])
    def scaled(n: int, p: float = 0.5) -> None:
        del n, p

    assert str(ops.freeze().operators[0].schema) == "scaled.by(SymInt(a!) n, float p=0.5) -> ()"
    assert scaled.name == "scaled.by"


def test_a_declaration_is_frozen() -> None:
    ops = OperatorSet("my_ops")
    before = ops.freeze()
    ops.declare(SCHEMA)
    assert before.operators == ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.namespace = "other"  # type: ignore[misc]  # that is what is tested


def test_place() -> None:
    assert str(Place("my_ops.py", 3)) == "my_ops.py:3"
    assert str(Place("my_ops.py")) == "my_ops.py"
    assert Place("a.py", 9) < Place("b.py", 1)


def test_operators_of_another_library_keep_their_names() -> None:
    ops = OperatorSet("other", existing=True)
    ops.declare("double(Tensor self, float int) -> Tensor")
    assert ops.freeze().operators[0].name == "double"
